// A model on a device, with the state of one batch of sequences.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/program.h"
#include "models/core/model.h"
#include "opgraph/chain_rewriter.h"
#include "ops/core/observer.h"
#include "ops/core/tuning/tuner.h"
#include "tensor/host_tensor.h"

namespace tilewright::engine {

struct SessionOptions {
  std::filesystem::path model;  // a directory; or
  std::string dummy_shape;      // a published shape with random weights
  models::LoadOptions load = {};
  std::string device = "host";
  runtime::DeviceOptions device_options = {};
  // As Switches::parse; "auto" in the list: what was measured to be faster; "found": chains that `tilewright fuse`
  // kept.
  std::string fuse = "none";
  std::filesystem::path fuse_file = {};  // chains of this file instead ("found" is then implied)
};

class Session {
 public:
  // Returns when the weights are on the device. Throws Error as DeviceRegistry::open, Switches::parse, load_model and
  // load_found_chains do.
  Session(const Program& program, const SessionOptions& options);

  const models::Model& model() const { return *model_; }
  runtime::Device& device() { return *device_; }
  ops::Context& context() { return *context_; }
  double load_seconds() const { return load_seconds_; }  // on the device's clock
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

  // Begins `batch` new sequences with room for `length` positions (rounded up to a bucket). Throws Error if memory does
  // not suffice.
  void begin(std::int64_t batch, std::int64_t length);
  std::int64_t batch() const { return state_.batch; }
  std::int64_t length() const { return length_; }  // positions written so far
  std::int64_t room() const { return state_.max_len; }

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
  std::shared_ptr<runtime::Device> device_;
  ops::FallbackLog fallbacks_;
  mutable ops::FallbackLog with_choices_;
  std::unique_ptr<ops::Tuner> tuner_;
  std::unique_ptr<opgraph::ChainRewriter> chains_;
  std::unique_ptr<ops::Context> context_;
  std::unique_ptr<models::Model> model_;
  double load_seconds_ = 0;
  nn::State state_;
  std::int64_t length_ = 0;
};

}  // namespace tilewright::engine
