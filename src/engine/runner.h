// The passes of a session, submitted launch by launch or replayed as captured graphs: the same forward pass, kernels
// and tensors in both, so that an arm differs from another in one thing only.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "engine/session.h"
#include "runtime/capture/graph.h"

namespace tilewright::engine {

enum class Submission { eager, graph };

// Positions that a captured prompt pass is padded to: 16, 32, 64, 128, 256, then multiples of 256.
std::int64_t prefill_bucket(std::int64_t rows);

class Runner {
 public:
  // The session must outlive it and is not used otherwise meanwhile. It must not hold work back (no found chains) if
  // `submission` is graph: Error.
  Runner(Session& session, Submission submission);
  ~Runner();
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  Session& session() { return session_; }
  Submission submission() const { return submission_; }

  // New sequences, as Session::begin; room for padded prompts is added. Graphs stay valid while batch and room stay.
  void begin(std::int64_t batch, std::int64_t length);
  // Captures what this work will need (nothing if eager): a prompt of `prompt` rows (0: none), then single tokens up to
  // `length` positions. The state is as new afterwards. Without it, graphs are captured when first needed.
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

  // What capturing cost so far, seconds on the device's clock.
  struct Costs {
    double capture_s = 0, instantiate_s = 0;
    int graphs = 0;
  };
  const Costs& costs() const { return costs_; }
  // Of captured passes: the graph that serves single tokens at `position`, or a prompt of `rows`; null if there is
  // none.
  const runtime::ExecutableGraph* decode_graph(std::int64_t position) const;
  const runtime::ExecutableGraph* prefill_graph(std::int64_t rows) const;

 private:
  struct Captured;
  void run_prompt(std::int64_t rows, std::int64_t padded);  // ids are in prompt_ids_
  void run_step(std::int64_t covered);
  Captured& captured_step(std::int64_t covered);
  Captured& captured_prompt(std::int64_t padded);

  Session& session_;
  Submission submission_;
  ops::Tensor token_, hidden_, logits_;
  Costs costs_;
  std::map<std::int64_t, std::unique_ptr<Captured>> steps_, prompts_;
};

}  // namespace tilewright::engine
