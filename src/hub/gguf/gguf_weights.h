// The tensors of a GGUF model under their published names, shapes and row order.
#pragma once

#include <string>
#include <vector>

#include "hub/gguf/gguf_config.h"
#include "hub/gguf/gguf_file.h"
#include "hub/safetensors/safetensors_writer.h"

namespace tilewright::hub {

struct GgufWeight {
  std::string name;  // "model.layers.0.self_attn.q_proj.weight"
  const GgufTensor* source = nullptr;
  Shape shape;
  // > 0: rows lie permuted within each of this many heads, as llama files have the rows of q and k (the two halves that
  // rotate together interleaved); reading undoes it.
  std::int64_t permuted_heads = 0;
};

// In the order of the published names' layers. Error if a tensor is missing, has another shape than the metadata says,
// is of a type we cannot read, or has no place in the network.
std::vector<GgufWeight> map_gguf_weights(const GgufContent& gguf, const GgufModel& model);

// f16 if every matrix of the file is, bf16 likewise, else f32.
DType natural_dtype(const std::vector<GgufWeight>& weights);

// Gives the weight's values, dequantised, in published row order and rounded to `dtype`, in pieces of about a megabyte.
void produce_weight(const GgufWeight& weight, DType dtype, const ByteSink& sink);

}  // namespace tilewright::hub
