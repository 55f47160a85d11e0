#include "models/core/convert_weights.h"

#include "models/core/weight_placer.h"

namespace tilewright::models {
namespace {

using nn::Slot;
using ops::OpName;
using ops::Tensor;

constexpr OpName kArange{"arange"}, kEmbedding{"embedding"}, kTo{"to"};
constexpr const char* kPath = "weights";

class Converter {
 public:
  Converter(ops::Context& context, DType dtype) : context_(context), dtype_(dtype), placer_(context, dtype) {}

  Tensor vector(const Tensor& from) {
    return from.defined() && from.dtype() != dtype_ ? ops::call(context_, kTo, {from}, {{"dtype", dtype_}}) : from;
  }

  std::vector<Tensor> matrices(const std::vector<Tensor>& parts) {
    std::vector<Tensor> out;
    if (!placer_.packs()) {
      for (const Tensor& part : parts) out.push_back(vector(rows(part)));
      return out;
    }
    std::vector<Shape> shapes;
    for (const Tensor& part : parts) shapes.push_back(part.shape());
    out = placer_.place(shapes);
    for (std::size_t i = 0; i < parts.size(); ++i) placer_.packer().pack(context_, vector(rows(parts[i])), out[i]);
    context_.stream().synchronize();  // what was unpacked need not wait for the rest
    return out;
  }

  // A matrix in the ordinary layout. `embedding` is the op that reads rows of packed ones.
  Tensor rows(const Tensor& matrix) {
    if (matrix.layout() == ops::Layout::strided) return matrix;
    const Tensor all =
        ops::call(context_, kArange, {}, {{"start", std::int64_t{0}}, {"end", matrix.dim(0)}, {"dtype", DType::i64}});
    return ops::call(context_, kEmbedding, {matrix, all});
  }

 private:
  ops::Context& context_;
  DType dtype_;
  WeightPlacer placer_;
};

}  // namespace

nn::DecoderWeights convert_weights(ops::Context& context, const nn::DecoderConfig& config,
                                   const nn::DecoderWeights& weights, DType dtype) {
  const ops::PathScope scope(context, kPath);
  Converter converter(context, dtype);
  nn::DecoderWeights out;
  out.dtype = dtype;
  out.head = converter.matrices({weights.head})[0];
  out.embedding = config.tied ? out.head : converter.vector(converter.rows(weights.embedding));
  out.final_norm = converter.vector(weights.final_norm);
  for (const nn::LayerWeights& from : weights.layers) {
    nn::LayerWeights& to = out.layers.emplace_back();
    for (const std::vector<Slot>& group : matrix_groups()) {
      std::vector<Tensor> parts;
      for (const Slot slot : group) parts.push_back(from[slot]);
      const std::vector<Tensor> placed = converter.matrices(parts);
      for (std::size_t i = 0; i < group.size(); ++i) to[group[i]] = placed[i];
    }
    for (int s = 0; s < nn::kSlots; ++s) {
      const Slot slot = static_cast<Slot>(s);
      if (!to[slot].defined() && from[slot].defined()) to[slot] = converter.vector(from[slot]);
    }
  }
  context.stream().synchronize();
  return out;
}

}  // namespace tilewright::models
