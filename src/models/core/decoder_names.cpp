#include "models/core/decoder_names.h"

namespace tilewright::models {

using nn::Slot;

std::vector<WeightName> decoder_names() {
  return {
      {Slot::embedding, "model.embed_tokens.weight"},
      {Slot::head, "lm_head.weight"},
      {Slot::final_norm, "model.norm.weight"},
      {Slot::attention_norm, "model.layers.{}.input_layernorm.weight"},
      {Slot::q, "model.layers.{}.self_attn.q_proj.weight"},
      {Slot::k, "model.layers.{}.self_attn.k_proj.weight"},
      {Slot::v, "model.layers.{}.self_attn.v_proj.weight"},
      {Slot::o, "model.layers.{}.self_attn.o_proj.weight"},
      {Slot::q_bias, "model.layers.{}.self_attn.q_proj.bias"},
      {Slot::k_bias, "model.layers.{}.self_attn.k_proj.bias"},
      {Slot::v_bias, "model.layers.{}.self_attn.v_proj.bias"},
      {Slot::o_bias, "model.layers.{}.self_attn.o_proj.bias"},
      {Slot::mlp_norm, "model.layers.{}.post_attention_layernorm.weight"},
      {Slot::gate, "model.layers.{}.mlp.gate_proj.weight"},
      {Slot::up, "model.layers.{}.mlp.up_proj.weight"},
      {Slot::down, "model.layers.{}.mlp.down_proj.weight"},
      {Slot::gate_bias, "model.layers.{}.mlp.gate_proj.bias"},
      {Slot::up_bias, "model.layers.{}.mlp.up_proj.bias"},
      {Slot::down_bias, "model.layers.{}.mlp.down_proj.bias"},
  };
}

std::vector<WeightName> qk_norm_names() {
  return {
      {Slot::q_norm, "model.layers.{}.self_attn.q_norm.weight"},
      {Slot::k_norm, "model.layers.{}.self_attn.k_norm.weight"},
  };
}

}  // namespace tilewright::models
