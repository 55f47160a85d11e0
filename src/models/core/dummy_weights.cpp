#include "models/core/dummy_weights.h"

#include <algorithm>
#include <cmath>

#include "models/core/weight_placer.h"

namespace tilewright::models {
namespace {

using nn::Slot;
using ops::OpName;
using ops::Tensor;

constexpr OpName kCacheWrite{"cache_write"}, kFull{"full"};
constexpr const char* kDummyPath = "weights";

// The pattern: kRows · kWidth values. kRows is prime, so that no row length of a model divides the period and the rows
// of a matrix differ.
constexpr std::int64_t kRows = 32749, kWidth = 64;

class Maker {
 public:
  Maker(ops::Context& context, const nn::DecoderConfig& config, DType dtype, const LoadOptions& options)
      : context_(context), config_(config), dtype_(dtype), options_(options), placer_(context, dtype) {
    HostTensor values(DType::f32, {2 * kRows, kWidth});
    fill(values, "normal", options.seed + 1);
    // Twice the period, so that each matrix can start at its own place.
    const std::size_t half = values.bytes.size() / 2;
    std::copy_n(values.bytes.begin(), half, values.bytes.begin() + static_cast<std::ptrdiff_t>(half));
    for (std::int64_t i = 0; i < values.elements(); ++i) values.data<float>()[i] *= 0.02f;
    pattern_ = runtime::to_device(context.stream(), values.cast(dtype));
    zero_ = ops::call(context, kFull, {}, {{"shape", Dims{1}}, {"value", 0.0}, {"dtype", DType::i32}});
  }

  nn::DecoderWeights run() {
    nn::DecoderWeights out;
    out.dtype = dtype_;
    if (config_.tied) {
      out.embedding = out.head = matrices({Slot::embedding})[0];
    } else {
      out.embedding = table();
      out.head = matrices({Slot::head})[0];
    }
    out.final_norm = vector(Slot::final_norm);
    out.layers.resize(static_cast<std::size_t>(config_.layers));
    for (nn::LayerWeights& layer : out.layers) {
      for (const std::vector<Slot>& group : matrix_groups()) {
        const std::vector<Tensor> placed = matrices(group);
        for (std::size_t i = 0; i < group.size(); ++i) layer[group[i]] = placed[i];
      }
      for (int s = 0; s < nn::kSlots; ++s) {
        const Slot slot = static_cast<Slot>(s);
        if (is_layer_slot(slot) && !layer[slot].defined() && slot_shape(config_, slot)) layer[slot] = vector(slot);
      }
      if (options_.progress)
        options_.progress(static_cast<std::uint64_t>(&layer - out.layers.data()) + 1, out.layers.size());
    }
    context_.stream().synchronize();
    return out;
  }

 private:
  Tensor vector(Slot slot) {
    const bool norm = slot == Slot::final_norm || slot == Slot::attention_norm || slot == Slot::mlp_norm ||
                      slot == Slot::q_norm || slot == Slot::k_norm;
    return ops::call(context_, kFull, {},
                     {{"shape", Dims(*slot_shape(config_, slot))}, {"value", norm ? 1.0 : 0.01}, {"dtype", dtype_}});
  }

  Tensor table() {
    Tensor out = context_.empty(dtype_, *slot_shape(config_, Slot::embedding));
    fill_memory(out.memory_ref());
    return out;
  }

  std::vector<Tensor> matrices(const std::vector<Slot>& group) {
    std::vector<Shape> shapes;
    for (const Slot slot : group) shapes.push_back(*slot_shape(config_, slot));
    std::vector<Tensor> out = placer_.place(shapes);
    fill_memory(out[0].memory_ref());  // layouts keep no order that random values could break
    return out;
  }

  // Writes the pattern over and over, in one parallel launch and one for the rest.
  void fill_memory(const runtime::MemoryRef& memory) {
    const auto elements = static_cast<std::int64_t>(memory->bytes() / dtype_size(dtype_));
    const std::int64_t period = kRows * kWidth, whole = elements / period, start = next_start();
    if (whole > 0) {
      const Tensor destination(memory, dtype_, {1, whole, kRows, kWidth});
      const Tensor source = pattern_.slice(0, start, start + kRows).view({1, 1, kRows, kWidth});
      ops::call(context_, kCacheWrite, {destination, zero_, source.expand({1, whole, kRows, kWidth})});
    }
    for (std::int64_t at = whole * period; at < elements;) {
      const std::int64_t left = elements - at;
      const std::int64_t width = std::min(left, kWidth), rows = std::min(left / width, kRows);
      const Tensor destination(memory, dtype_, {1, 1, rows, width}, contiguous_strides({1, 1, rows, width}), at);
      const Tensor source = pattern_.slice(0, start, start + rows).slice(1, 0, width).unsqueeze(0).unsqueeze(0);
      ops::call(context_, kCacheWrite, {destination, zero_, source});
      at += rows * width;
    }
  }

  std::int64_t next_start() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u + options_.seed;
    return static_cast<std::int64_t>((state_ >> 33) % static_cast<std::uint64_t>(kRows));
  }

  ops::Context& context_;
  const nn::DecoderConfig& config_;
  DType dtype_;
  const LoadOptions& options_;
  WeightPlacer placer_;
  Tensor pattern_, zero_;
  std::uint64_t state_ = 1;
};

}  // namespace

nn::DecoderWeights dummy_weights(ops::Context& context, const nn::DecoderConfig& config, DType dtype,
                                 const LoadOptions& options) {
  const ops::PathScope scope(context, kDummyPath);
  return Maker(context, config, dtype, options).run();
}

}  // namespace tilewright::models
