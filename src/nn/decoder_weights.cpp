#include "nn/decoder_weights.h"

namespace tilewright::nn {

std::string_view slot_name(Slot slot) {
  constexpr std::string_view kNames[kSlots] = {
      "embedding", "head",   "final_norm", "attention_norm", "q",         "k",       "v",
      "o",         "q_bias", "k_bias",     "v_bias",         "o_bias",    "q_norm",  "k_norm",
      "mlp_norm",  "gate",   "up",         "down",           "gate_bias", "up_bias", "down_bias"};
  return kNames[static_cast<int>(slot)];
}

std::optional<Shape> slot_shape(const DecoderConfig& c, Slot slot) {
  const auto when = [](bool present, Shape shape) { return present ? std::optional<Shape>(shape) : std::nullopt; };
  switch (slot) {
    case Slot::embedding:
      return Shape{c.vocab_size, c.hidden_size};
    case Slot::head:
      return when(!c.tied, {c.vocab_size, c.hidden_size});
    case Slot::final_norm:
    case Slot::attention_norm:
    case Slot::mlp_norm:
      return Shape{c.hidden_size};
    case Slot::q:
      return Shape{c.q_size(), c.hidden_size};
    case Slot::k:
    case Slot::v:
      return Shape{c.kv_size(), c.hidden_size};
    case Slot::o:
      return Shape{c.hidden_size, c.q_size()};
    case Slot::q_bias:
      return when(c.qkv_bias, {c.q_size()});
    case Slot::k_bias:
    case Slot::v_bias:
      return when(c.qkv_bias, {c.kv_size()});
    case Slot::o_bias:
      return when(c.o_bias, {c.hidden_size});
    case Slot::q_norm:
    case Slot::k_norm:
      return when(c.qk_norm, {c.head_dim});
    case Slot::gate:
    case Slot::up:
      return Shape{c.intermediate_size, c.hidden_size};
    case Slot::down:
      return Shape{c.hidden_size, c.intermediate_size};
    case Slot::gate_bias:
    case Slot::up_bias:
      return when(c.mlp_bias, {c.intermediate_size});
    case Slot::down_bias:
      return when(c.mlp_bias, {c.hidden_size});
  }
  return std::nullopt;
}

}  // namespace tilewright::nn
