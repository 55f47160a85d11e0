#include "hub/gguf/gguf_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <unordered_set>

#include "base/error.h"
#include "hub/gguf/dequantize.h"

namespace tilewright::hub {
namespace {

class Mapper {
 public:
  Mapper(const GgufContent& gguf, const GgufModel& model) : gguf_(gguf), model_(model) {}

  std::vector<GgufWeight> run() {
    const std::int64_t hidden = model_.hidden, inner = model_.intermediate;
    const std::int64_t query = model_.heads * model_.head_dim, key = model_.kv_heads * model_.head_dim;
    const bool permuted = model_.architecture == "llama";
    const bool attention_bias = model_.attention_bias, output_bias = attention_bias && model_.architecture != "qwen2";
    used_.insert("rope_freqs.weight");  // became rope_scaling

    add("token_embd.weight", "model.embed_tokens.weight", {model_.vocabulary, hidden});
    for (std::int64_t i = 0; i < model_.layers; ++i) {
      const std::string from = fmt::format("blk.{}.", i), to = fmt::format("model.layers.{}.", i);
      const auto linear = [&](const char* theirs, const char* published, std::int64_t out, std::int64_t in, bool bias,
                              std::int64_t heads = 0) {
        add(from + theirs + ".weight", to + published + ".weight", {out, in}, heads);
        if (bias) add(from + theirs + ".bias", to + published + ".bias", {out}, heads);
      };
      add(from + "attn_norm.weight", to + "input_layernorm.weight", {hidden});
      linear("attn_q", "self_attn.q_proj", query, hidden, attention_bias, permuted ? model_.heads : 0);
      linear("attn_k", "self_attn.k_proj", key, hidden, attention_bias, permuted ? model_.kv_heads : 0);
      linear("attn_v", "self_attn.v_proj", key, hidden, attention_bias);
      linear("attn_output", "self_attn.o_proj", hidden, query, output_bias);
      if (model_.architecture == "qwen3") {
        add(from + "attn_q_norm.weight", to + "self_attn.q_norm.weight", {model_.head_dim});
        add(from + "attn_k_norm.weight", to + "self_attn.k_norm.weight", {model_.head_dim});
      }
      add(from + "ffn_norm.weight", to + "post_attention_layernorm.weight", {hidden});
      linear("ffn_gate", "mlp.gate_proj", inner, hidden, model_.mlp_bias);
      linear("ffn_up", "mlp.up_proj", inner, hidden, model_.mlp_bias);
      linear("ffn_down", "mlp.down_proj", hidden, inner, model_.mlp_bias);
    }
    add("output_norm.weight", "model.norm.weight", {hidden});
    if (!model_.tied) add("output.weight", "lm_head.weight", {model_.vocabulary, hidden});
    refuse_unused();
    return std::move(out_);
  }

 private:
  void add(const std::string& theirs, std::string published, Shape shape, std::int64_t permuted_heads = 0) {
    const GgufTensor* tensor = gguf_.tensor(theirs);
    if (!tensor)
      fail({.what = "tensor \"" + theirs + "\" is missing",
            .where = gguf_.where(),
            .expected = fmt::format("every tensor of a {} of {} layers", model_.architecture, model_.layers),
            .found = "",
            .fix = "download or convert the file again"});
    const std::string where = gguf_.where() + ", tensor \"" + theirs + "\"";
    if (!(tensor->shape == shape))
      fail({.what = "the tensor's shape does not fit the metadata",
            .where = where,
            .expected = to_string(shape),
            .found = to_string(tensor->shape),
            .fix = "download or convert the file again"});
    const GgufTypeInfo* info = gguf_type(tensor->type);
    if (!info || !info->dequantize)
      fail({.what = "the tensor's type cannot be read",
            .where = where,
            .expected = "one of " + readable_gguf_types(),
            .found = gguf_type_name(tensor->type),
            .fix = "take another quantisation of the model, or convert it to one of these"});
    used_.insert(theirs);
    out_.push_back({std::move(published), tensor, shape, permuted_heads});
  }

  // A tensor that we would drop is a part of a network that is not ours.
  void refuse_unused() const {
    for (const GgufTensor& tensor : gguf_.tensors())
      if (!used_.contains(tensor.name))
        fail({.what = "tensor \"" + tensor.name + "\" has no place in the network",
              .where = gguf_.where(),
              .expected = fmt::format("the tensors of a {} of {} layers", model_.architecture, model_.layers),
              .found = gguf_type_name(tensor.type) + " " + to_string(tensor.shape),
              .fix = "take the published safetensors model instead, if its family is supported"});
  }

  const GgufContent& gguf_;
  const GgufModel& model_;
  std::vector<GgufWeight> out_;
  std::unordered_set<std::string> used_;
};

void append(std::vector<std::byte>& out, std::span<const float> values, DType dtype) {
  const std::size_t from = out.size();
  out.resize(from + values.size() * dtype_size(dtype));
  std::byte* to = out.data() + from;
  if (dtype == DType::f32) {
    std::memcpy(to, values.data(), values.size_bytes());
    return;
  }
  for (const float value : values) {
    const std::uint16_t bits = dtype == DType::f16 ? float_to_f16(value) : float_to_bf16(value);
    std::memcpy(to, &bits, 2);
    to += 2;
  }
}

}  // namespace

std::vector<GgufWeight> map_gguf_weights(const GgufContent& gguf, const GgufModel& model) {
  return Mapper(gguf, model).run();
}

DType natural_dtype(const std::vector<GgufWeight>& weights) {
  const auto all = [&](std::uint32_t type) {
    return std::all_of(weights.begin(), weights.end(),
                       [&](const GgufWeight& w) { return w.shape.rank() < 2 || w.source->type == type; });
  };
  return all(1) ? DType::f16 : all(30) ? DType::bf16 : DType::f32;
}

void produce_weight(const GgufWeight& weight, DType dtype, const ByteSink& sink) {
  TW_CHECK(dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16);
  const GgufTypeInfo& info = *gguf_type(weight.source->type);
  // A vector is one row, unless its elements move.
  const bool vector = weight.shape.rank() < 2 && weight.permuted_heads == 0;
  const std::int64_t rows = vector ? 1 : weight.shape[0];
  const auto width = static_cast<std::size_t>(rows ? weight.shape.elements() / rows : 0);
  if (width % info.block_elements != 0)
    fail({.what = "a permuted vector is quantised",
          .where = "tensor \"" + weight.source->name + "\"",
          .expected = "F32, F16 or BF16",
          .found = info.name,
          .fix = "take another quantisation of the model"});
  const std::size_t blocks = width / info.block_elements, row_bytes = blocks * info.block_bytes;
  const std::int64_t head_rows = weight.permuted_heads ? rows / weight.permuted_heads : 0;

  std::vector<float> values(width);
  std::vector<std::byte> piece;
  for (std::int64_t row = 0; row < rows; ++row) {
    std::int64_t source = row;
    if (head_rows) {  // published [half, pair] was written as [pair, half]
      const std::int64_t within = row % head_rows, pairs = head_rows / 2;
      source = row - within + within % pairs * 2 + within / pairs;
    }
    info.dequantize(weight.source->bytes.data() + static_cast<std::size_t>(source) * row_bytes, blocks, values.data());
    append(piece, values, dtype);
    if (piece.size() >= (1u << 20) || row + 1 == rows) {
      sink(piece);
      piece.clear();
    }
  }
}

}  // namespace tilewright::hub
