// The weights of a decoder, by slot, and the shape that a configuration gives each of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "nn/decoder_config.h"
#include "runtime/tensor.h"

namespace tilewright::nn {

enum class Slot : std::uint8_t {
  embedding,
  head,
  final_norm,  // one each
  attention_norm,
  q,
  k,
  v,
  o,
  q_bias,
  k_bias,
  v_bias,
  o_bias,  // one a layer
  q_norm,
  k_norm,
  mlp_norm,
  gate,
  up,
  down,
  gate_bias,
  up_bias,
  down_bias,
};
inline constexpr int kSlots = static_cast<int>(Slot::down_bias) + 1;
inline constexpr bool is_layer_slot(Slot slot) { return slot >= Slot::attention_norm; }
std::string_view slot_name(Slot slot);

// The shape of a slot's weight ([out, in] for matrices), or nothing if the configuration has no such weight. A tied
// head has none of its own.
std::optional<Shape> slot_shape(const DecoderConfig& config, Slot slot);

// Matrices may be packed; all others are strided. Slots without a weight are undefined tensors.
struct LayerWeights {
  runtime::Tensor slots[kSlots];
  runtime::Tensor& operator[](Slot slot) { return slots[static_cast<int>(slot)]; }
  const runtime::Tensor& operator[](Slot slot) const { return slots[static_cast<int>(slot)]; }
};

struct DecoderWeights {
  DType dtype = DType::f32;
  runtime::Tensor embedding, head, final_norm;  // head is the embedding itself if tied
  std::vector<LayerWeights> layers;
};

}  // namespace tilewright::nn
