// A model of a published shape with random weights, or one from a directory, run the way `ask` runs it: for measuring.
// Times are the device's.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "engine/program.h"
#include "measure/work.h"
#include "models/core/decoder_model.h"
#include "ops/core/context.h"
#include "tensor/host_tensor.h"

namespace tilewright::bench {

using measure::Work;

// `shape`: a published shape or a model's directory.
class ModelRun {
 public:
  ModelRun(const Program& program, const std::string& device, int threads, const std::string& shape,
           std::int64_t max_len, DType dtype = DType::bf16)
      : work(program.families, shape, dtype),
        device_(program.devices.open(device, {.threads = threads})),
        plain_(program.operators, device_->default_stream()),
        model_(std::filesystem::is_directory(shape)
                   ? models::load_model(plain_, program.families, shape, {.dtype = dtype})
                   : models::make_dummy_model(plain_, program.families, shape, {.dtype = dtype})),
        state_(model_->make_state(plain_, 1, nn::round_up_to_bucket(max_len))) {
    HostTensor ids(DType::i64, {1, max_len});
    for (std::int64_t i = 0; i < max_len; ++i) ids.data<std::int64_t>()[i] = i * 7919 % work.config.vocab_size;
    ids_ = runtime::to_device(device_->default_stream(), ids);
    set_position(0);
  }

  runtime::Device& device() { return *device_; }
  runtime::Stream& stream() { return device_->default_stream(); }
  const ops::Registry& operators() const { return plain_.registry(); }
  const models::Model& model() const { return *model_; }
  // For calls that nobody watches.
  ops::Context& context() { return plain_; }

  // A prompt of `tokens` on an empty cache until the greedy next token is on the host.
  double prefill_seconds(std::int64_t tokens) { return prefill_seconds(plain_, tokens); }
  double prefill_seconds(ops::Context& context, std::int64_t tokens) {
    set_position(0);
    device_->synchronize();
    const double start = device_->now();
    next_ = step(context, ids_.slice(1, 0, tokens), 0, tokens);
    read_token();
    return device_->now() - start;
  }

  // `steps` greedy tokens, each read by the host, with `context` positions (their values do not matter) before the
  // first.
  double decode_seconds(int steps, std::int64_t length) { return decode_seconds(plain_, steps, length); }
  double decode_seconds(ops::Context& context, int steps, std::int64_t length) {
    set_position(static_cast<std::int32_t>(length));
    next_ = ids_.slice(1, 0, 1);
    device_->synchronize();
    const double start = device_->now();
    for (int i = 0; i < steps; ++i) {
      next_ = step(context, next_, length + i, 1);
      read_token();
    }
    return device_->now() - start;
  }

  // Seeded values everywhere in the cache, so that a long context needs no prompt.
  void fill_cache() {
    HostTensor values;
    for (nn::NamedTensor& named : state_.tensors) {
      const ops::Tensor& tensor = named.tensor;
      if (tensor.rank() != 4) continue;
      if (values.bytes.empty()) {  // one for all layers: making them takes longer than measuring
        HostTensor normal(DType::f32, tensor.shape());
        fill(normal, "normal", 1);
        values = normal.cast(tensor.dtype());
      }
      stream().copy_from_host(tensor.memory(), tensor.byte_offset(), values.bytes.data(), values.bytes.size());
    }
  }

  Work work;

 private:
  void set_position(std::int32_t position) {
    stream().copy_from_host(state_.position().memory(), state_.position().byte_offset(), &position, sizeof position);
  }

  ops::Tensor step(ops::Context& context, const ops::Tensor& ids, std::int64_t begin, std::int64_t rows) {
    const ops::Tensor hidden = model_->forward(context, ids, state_, begin);
    const ops::Tensor logits = model_->head(context, hidden.slice(1, rows - 1, rows));
    const ops::Tensor token = ops::call(context, kArgmax, {logits}, {{"dim", std::int64_t{-1}}});
    model_->advance(context, state_, rows);
    return token;  // [1, 1]
  }
  std::int64_t read_token() {
    std::int64_t token = 0;
    stream().copy_to_host(&token, next_.memory(), next_.byte_offset(), sizeof token);
    return token;
  }

  static constexpr ops::OpName kArgmax{"argmax"};
  std::shared_ptr<runtime::Device> device_;
  ops::Context plain_;
  std::unique_ptr<models::Model> model_;
  nn::State state_;
  ops::Tensor ids_, next_;
};

}  // namespace tilewright::bench
