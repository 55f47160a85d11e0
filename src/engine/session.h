// A model on a device, with the state of one batch of sequences.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/loaded_model.h"
#include "models/core/model.h"
#include "opgraph/chain_rewriter.h"
#include "ops/core/observer.h"
#include "ops/core/tuning/tuner.h"
#include "tensor/host_tensor.h"

namespace tilewright::engine {

class Session {
 public:
  // Loads the model. Throws Error as LoadedModel, Switches::parse and load_found_chains do.
  Session(const Program& program, const SessionOptions& options);
  // Another session of a model that is loaded: a stream, switches and state of its own. `options`: those it was loaded
  // with, but for `fuse` and `fuse_file`.
  Session(std::shared_ptr<const LoadedModel> loaded, const SessionOptions& options);
  ~Session();

  const models::Model& model() const { return loaded_->model(); }
  runtime::Device& device() const { return loaded_->device(); }
  runtime::Stream& stream() const { return *stream_; }
  ops::Context& context() { return *context_; }
  double load_seconds() const { return loaded_->load_seconds(); }
  // Composites that were switched on but ran their decomposition, with counts. Empty if none is on.
  // Valid until the next call of this.
  const ops::FallbackLog& fallbacks() const;
  // With "auto": measures what no stored decision covers of this work (tune.h), apart from load time and passes, and
  // gets kernels ready. Else nothing. Call it before `begin`.
  void prepare(std::int64_t batch, std::int64_t prompt, std::int64_t length);
  // What "auto" decided by; null without it.
  const ops::Tuner* tuner() const { return tuner_.get(); }
  // What became of chains that were found; null if they are off.
  const opgraph::ChainRewriter* chains() const { return chains_.get(); }

  // Begins `batch` new sequences with room for `length` positions (rounded up to a bucket). Where batch and room are
  // those of the sequences before, the state's tensors stay where they are. Throws Error if memory does not suffice.
  void begin(std::int64_t batch, std::int64_t length);
  std::int64_t batch() const { return state_.batch; }
  std::int64_t length() const { return length_; }  // positions written so far
  std::int64_t room() const { return state_.max_len; }
  nn::State& state() { return state_; }
  // Says that work which did not go through `run` (a replay) has written `rows` more positions.
  void skip(std::int64_t rows) { length_ += rows; }

  // Throw Error, as `run` does: ids [batch, S] on the host outside the vocabulary; `rows` more than there is room for.
  void check_ids(const HostTensor& ids) const;
  void check_room(std::int64_t rows) const;

  // What these submit is on the stream when they return (a rewriter in the context holds nothing back across them).
  //
  // Runs the tokens ids [batch, S] (i64, host) or the device tensor of that shape, and moves the position on. Returns
  // hidden states [batch, S, hidden]. Nothing waits. Ids must be inside the vocabulary, and fit the room: Error if not.
  ops::Tensor run(const HostTensor& ids);
  ops::Tensor run(const ops::Tensor& ids);
  // Logits of the last row, [batch, 1, vocab] in compute dtype; of all rows.
  ops::Tensor last_logits(const ops::Tensor& hidden);
  ops::Tensor all_logits(const ops::Tensor& hidden);
  // The best token of logits [batch, 1, vocab], on the device: i64 [batch, 1], ready to be run.
  ops::Tensor best(const ops::Tensor& logits);
  // Waits and reads. `read_token`: of a batch of one.
  std::int64_t read_token(const ops::Tensor& token);
  std::vector<float> read_logits(const ops::Tensor& logits);

 private:
  std::shared_ptr<const LoadedModel> loaded_;
  std::unique_ptr<runtime::Stream> stream_;
  ops::FallbackLog fallbacks_;
  mutable ops::FallbackLog with_choices_;
  std::unique_ptr<ops::Tuner> tuner_;
  std::unique_ptr<opgraph::ChainRewriter> chains_;
  std::unique_ptr<ops::Context> context_;
  nn::State state_;
  std::int64_t length_ = 0;
};

}  // namespace tilewright::engine
