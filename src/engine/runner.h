// The passes of a session, submitted launch by launch or replayed as captured graphs: the same forward pass, kernels
// and tensors in both, so that an arm differs from another in one thing only.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "engine/pass.h"
#include "engine/session.h"
#include "runtime/capture/graph.h"

namespace tilewright::engine {

enum class Submission { eager, graph };

class Runner {
 public:
  // The session must outlive it; `begin` is called here only, the state and `run` may be used between passes. It must
  // not hold work back (no found chains) if `submission` is graph: Error.
  Runner(Session& session, Submission submission);
  ~Runner();
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  Session& session() { return session_; }
  Submission submission() const { return submission_; }

  // New sequences, as Session::begin; its room serves padded prompts, too. Graphs stay valid while batch and room stay.
  void begin(std::int64_t batch, std::int64_t length);
  // Captures what this work will need (nothing if eager): a prompt of `prompt` rows (0: none), then single tokens up to
  // `length` positions. The state is as new afterwards. Without it, graphs are captured when first needed. Throws Error
  // with code, name and culprit if a pass cannot be captured; eager passes work afterwards. With `--fuse auto` let the
  // session prepare prefill_bucket(prompt) rows.
  void prepare(std::int64_t prompt, std::int64_t length);

  // The prompt, i64 [batch, S] on the host, on new sequences. Submits and does not wait (but for copying ids).
  // With `padded`, an eager runner runs the padded pass that a graph would: for comparing bit by bit.
  void prefill(const HostTensor& ids, bool padded = false);
  // One token a sequence: runs token(), writes the best next one to it. Submits and does not wait.
  void step();

  // Of the last pass. The token's tensor is i64 [batch, 1] and always the same; hidden states of the pass's real rows;
  // logits of the last row, [batch, 1, vocab]. The next pass overwrites all of them where it is replayed.
  const ops::Tensor& token() const { return token_; }
  const ops::Tensor& hidden() const { return hidden_; }
  const ops::Tensor& logits() const { return logits_; }
  void set_token(std::span<const std::int64_t> ids);  // teacher forcing; batch of them
  std::int64_t read_token();                          // waits; of a batch of one: the first

  // What capturing cost so far, seconds on the device's clock. Each pass is captured twice: the first time is the
  // rehearsal, in which kernels are found, loaded and compiled, and it is thrown away.
  struct Costs {
    double rehearsal_s = 0, capture_s = 0, instantiate_s = 0;
    int graphs = 0;
  };
  const Costs& costs() const { return costs_; }
  // Of captured passes: the graph that serves single tokens at `position`, or a prompt of `rows`; null if there is
  // none.
  const runtime::ExecutableGraph* decode_graph(std::int64_t position) const;
  const runtime::ExecutableGraph* prefill_graph(std::int64_t rows) const;

 private:
  struct Captured;
  struct Prompt;
  PassOutput submit(const Prompt* prompt, std::int64_t begin);
  void capture(Captured& to, const Prompt* prompt, std::int64_t begin);
  void replay(Captured& captured, const Prompt* prompt);
  std::vector<runtime::Binding> bindings(const Prompt* prompt) const;
  Captured& captured_step(std::int64_t begin);
  Prompt& prompt_of(std::int64_t padded);
  Prompt& captured_prompt(std::int64_t padded);

  Session& session_;
  Submission submission_;
  ops::Tensor token_, hidden_, logits_;
  Costs costs_;
  std::int64_t asked_ = 0;                                   // length that `begin` was given
  std::map<std::int64_t, std::unique_ptr<Captured>> steps_;  // by the positions that attention covers
  std::map<std::int64_t, std::unique_ptr<Prompt>> prompts_;  // by padded rows
};

}  // namespace tilewright::engine
