// The smallest model a GGUF file can hold, of which a test leaves out or replaces parts.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "gguf/gguf_builder.h"

namespace tilewright::hub {

// One layer, hidden size 4, 2 heads, 1 key head, head size 2, MLP 6, 5 tokens, all of `type` with zero bytes. Keys and
// tensors named in `without` are left out.
inline GgufBuilder tiny_gguf(const std::string& arch, const std::set<std::string>& without = {},
                             std::uint32_t type = 0) {
  GgufBuilder b;
  const auto wanted = [&](const std::string& name) { return !without.contains(name); };
  const auto number = [&](const std::string& key, std::uint32_t value) {
    if (wanted(key)) b.u32(key, value);
  };
  if (wanted("general.architecture")) b.text("general.architecture", arch);
  number(arch + ".block_count", 1);
  number(arch + ".embedding_length", 4);
  number(arch + ".feed_forward_length", 6);
  number(arch + ".attention.head_count", 2);
  number(arch + ".attention.head_count_kv", 1);
  number(arch + ".context_length", 16);
  if (wanted("tokenizer.ggml.model")) b.text("tokenizer.ggml.model", "gpt2");
  if (wanted("tokenizer.ggml.pre")) b.text("tokenizer.ggml.pre", "qwen2");
  if (wanted("tokenizer.ggml.tokens")) b.texts("tokenizer.ggml.tokens", {"<|im_end|>", "a", "b", "ab", "[PAD4]"});
  if (wanted("tokenizer.ggml.token_type")) b.i32s("tokenizer.ggml.token_type", {3, 1, 1, 1, 5});
  if (wanted("tokenizer.ggml.merges")) b.texts("tokenizer.ggml.merges", {"a b"});
  number("tokenizer.ggml.eos_token_id", 0);

  const auto tensor = [&](const std::string& name, const std::vector<std::uint64_t>& shape) {
    std::uint64_t elements = 1;
    for (const std::uint64_t dim : shape) elements *= dim;
    if (wanted(name)) b.tensor(name, shape, type, std::string(elements * (type == 0 ? 4 : 2), '\0'));
  };
  tensor("token_embd.weight", {5, 4});
  tensor("output_norm.weight", {4});
  for (const char* name : {"attn_norm", "ffn_norm"}) tensor(std::string("blk.0.") + name + ".weight", {4});
  tensor("blk.0.attn_q.weight", {4, 4});
  tensor("blk.0.attn_k.weight", {2, 4});
  tensor("blk.0.attn_v.weight", {2, 4});
  tensor("blk.0.attn_output.weight", {4, 4});
  tensor("blk.0.ffn_gate.weight", {6, 4});
  tensor("blk.0.ffn_up.weight", {6, 4});
  tensor("blk.0.ffn_down.weight", {4, 6});
  if (arch == "qwen3")
    for (const char* name : {"attn_q_norm", "attn_k_norm"}) tensor(std::string("blk.0.") + name + ".weight", {2});
  if (arch == "qwen2") {
    tensor("blk.0.attn_q.bias", {4});
    for (const char* name : {"attn_k", "attn_v"}) tensor(std::string("blk.0.") + name + ".bias", {2});
  }
  return b;
}

}  // namespace tilewright::hub
