#include "hub/gguf/gguf_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numbers>
#include <vector>

#include "base/error.h"
#include "hub/gguf/dequantize.h"

namespace tilewright::hub {
namespace {

constexpr std::array kArchitectures = {"llama", "qwen2", "qwen3"};

[[noreturn]] void unsupported(const GgufContent& gguf, std::string what, std::string expected, std::string found) {
  fail({.what = std::move(what),
        .where = gguf.where(),
        .expected = std::move(expected),
        .found = std::move(found),
        .fix = "take the published safetensors model instead, if its family is supported"});
}

std::int64_t positive(const GgufContent& gguf, const std::string& key) {
  const std::int64_t value = gguf.required_integer(key);
  if (value <= 0 || value > (std::int64_t{1} << 31))
    fail({.what = "metadata \"" + key + "\" makes no sense",
          .where = gguf.where(),
          .expected = "a positive number",
          .found = fmt::format("{}", value),
          .fix = "download or convert the file again"});
  return value;
}

// Settings that change the network and that config.json of these families has no word for. Neutral values are fine.
void refuse_foreign_settings(const GgufContent& gguf, const std::string& arch) {
  const auto at = [&](const char* key) { return arch + "." + key; };
  if (const auto experts = gguf.integer(at("expert_count")); experts && *experts > 0)
    unsupported(gguf, "a mixture of experts in a \"" + arch + "\" file", "a dense model",
                fmt::format("{} experts", *experts));
  for (const char* key : {"attention.sliding_window", "attn_logit_softcapping", "final_logit_softcapping",
                          "attention.scale", "residual_scale", "embedding_scale", "logit_scale", "attention.clamp_kqv",
                          "attention.max_alibi_bias", "rope.scaling.attn_factor"}) {
    const auto value = gguf.find(at(key)) ? gguf.real(at(key)) : std::nullopt;
    if (value && *value != 0 && *value != 1)
      unsupported(gguf, "metadata \"" + at(key) + "\" is not supported", "", fmt::format("{}", *value));
  }
  if (gguf.find(at("attention.causal")) && !gguf.boolean(at("attention.causal")).value())
    unsupported(gguf, "attention that is not causal", "a decoder", "an encoder");
}

std::vector<float> divisors_of(const GgufContent& gguf, const GgufTensor& tensor) {
  if (tensor.type != 0 || tensor.shape.rank() != 1)
    unsupported(gguf, "tensor \"rope_freqs.weight\" is not what it should be", "one dim of F32",
                gguf_type_name(tensor.type) + " " + to_string(tensor.shape));
  std::vector<float> out(static_cast<std::size_t>(tensor.shape.elements()));
  if (!out.empty()) std::memcpy(out.data(), tensor.bytes.data(), tensor.bytes.size());
  return out;
}

Json rope_scaling_of(const GgufContent& gguf, const std::string& arch, double theta, std::int64_t head_dim) {
  const auto at = [&](const char* key) { return arch + ".rope.scaling." + key; };
  std::string type = gguf.text(at("type")).value_or("none");
  double factor = gguf.real(at("factor")).value_or(1);
  if (const auto old = gguf.real(arch + ".rope.scale_linear");
      old && type == "none") {  // written before rope.scaling.*
    type = "linear";
    factor = *old;
  }
  const GgufTensor* freqs = gguf.tensor("rope_freqs.weight");
  Json scaling;
  if (type == "linear" && factor != 1) scaling = {{"rope_type", "linear"}, {"factor", factor}};
  if (type == "yarn") {
    scaling = {{"rope_type", "yarn"}, {"factor", factor}};
    if (const auto original = gguf.integer(at("original_context_length")))
      scaling["original_max_position_embeddings"] = *original;
    if (const auto fast = gguf.real(at("yarn_beta_fast"))) scaling["beta_fast"] = *fast;
    if (const auto slow = gguf.real(at("yarn_beta_slow"))) scaling["beta_slow"] = *slow;
  } else if (type != "none" && type != "linear") {
    unsupported(gguf, "rope scaling \"" + type + "\" is not supported",
                "none, linear, yarn or the tensor rope_freqs.weight", type);
  }
  if (!freqs) return scaling;
  const Json llama3 = llama3_rope_scaling(divisors_of(gguf, *freqs), theta, head_dim, gguf.where());
  if (!llama3.is_null() && !scaling.is_null())
    unsupported(gguf, "two rope scalings at once", "one", type + " and the tensor rope_freqs.weight");
  return scaling.is_null() ? llama3 : scaling;
}

struct Llama3 {
  double factor, low, high, original;
  double divisor(double frequency) const {
    const double turns = original * frequency / (2 * std::numbers::pi);  // of the original context
    if (turns > high) return 1;
    if (turns < low) return factor;
    const double smooth = (turns - low) / (high - low);
    return 1 / ((1 - smooth) / factor + smooth);
  }
  bool gives(std::span<const float> divisors, std::span<const double> frequencies) const {
    for (std::size_t i = 0; i < divisors.size(); ++i)  // the tensor was computed in 32 bits by its writer
      if (!(std::abs(divisor(frequencies[i]) - divisors[i]) <= 1e-4 * divisors[i])) return false;
    return true;
  }
};

}  // namespace

Json llama3_rope_scaling(std::span<const float> divisors, double theta, std::int64_t head_dim,
                         const std::string& where) {
  if (std::all_of(divisors.begin(), divisors.end(), [](float d) { return d == 1; })) return nullptr;
  const auto refuse = [&](const std::string& found) {
    fail({.what = "tensor \"rope_freqs.weight\" is not a rope scaling of the kind llama3",
          .where = where,
          .expected = fmt::format("{} divisors from 1 to a factor, increasing as that formula says", head_dim / 2),
          .found = found,
          .fix = "take the published safetensors model instead"});
  };
  if (static_cast<std::int64_t>(divisors.size()) != head_dim / 2) refuse(fmt::format("{} values", divisors.size()));
  std::vector<double> frequencies;
  for (std::size_t i = 0; i < divisors.size(); ++i)
    frequencies.push_back(std::pow(theta, -2.0 * static_cast<double>(i) / static_cast<double>(head_dim)));

  const double factor = std::nearbyint(divisors.back() * 1e4) / 1e4;
  std::vector<Llama3> candidates = {{factor, 1, 4, 8192}};
  // smooth = turns · original / (high − low) − low / (high − low) is a line in the frequency; two points of it give
  // both quotients, and low = 1 fixes the scale.
  std::vector<std::pair<double, double>> line;
  for (std::size_t i = 0; i < divisors.size(); ++i)
    if (divisors[i] > 1 && divisors[i] < divisors.back())
      line.emplace_back(frequencies[i] / (2 * std::numbers::pi), (1 / divisors[i] - 1 / factor) / (1 - 1 / factor));
  if (line.size() >= 2) {
    const double slope = (line.front().second - line.back().second) / (line.front().first - line.back().first);
    const double intercept = slope * line.front().first - line.front().second;  // low / (high − low)
    const double high = 1 + 1 / intercept, original = slope / intercept;
    candidates.push_back({factor, 1, std::nearbyint(high * 100) / 100, std::nearbyint(original)});
    candidates.push_back({factor, 1, high, original});
  }
  for (const Llama3& c : candidates)
    if (std::isfinite(c.high) && c.high > c.low && c.original >= 1 && c.original < 1e9 &&
        c.gives(divisors, frequencies))
      return {{"rope_type", "llama3"},
              {"factor", c.factor},
              {"low_freq_factor", c.low},
              {"high_freq_factor", c.high},
              {"original_max_position_embeddings", static_cast<std::int64_t>(std::nearbyint(c.original))}};
  refuse("other values");
  return nullptr;
}

GgufModel read_gguf_model(const GgufContent& gguf) {
  GgufModel out;
  const std::string arch = out.architecture = gguf.required_text("general.architecture");
  if (std::find(kArchitectures.begin(), kArchitectures.end(), arch) == kArchitectures.end())
    unsupported(gguf, "the architecture of this file cannot be imported",
                fmt::format("{}", fmt::join(kArchitectures, ", ")), "\"" + arch.substr(0, 80) + "\"");
  refuse_foreign_settings(gguf, arch);
  out.layers = positive(gguf, arch + ".block_count");
  out.hidden = positive(gguf, arch + ".embedding_length");
  out.intermediate = positive(gguf, arch + ".feed_forward_length");
  out.heads = positive(gguf, arch + ".attention.head_count");
  out.kv_heads =
      gguf.find(arch + ".attention.head_count_kv") ? positive(gguf, arch + ".attention.head_count_kv") : out.heads;
  out.context = positive(gguf, arch + ".context_length");
  out.head_dim = gguf.find(arch + ".attention.key_length") ? positive(gguf, arch + ".attention.key_length")
                                                           : out.hidden / out.heads;
  if (out.head_dim <= 0 || out.head_dim % 2 != 0 || out.heads % out.kv_heads != 0)
    unsupported(gguf, "the head counts do not fit", "an even head size and a multiple of the key heads",
                fmt::format("{} heads, {} key heads, head size {}", out.heads, out.kv_heads, out.head_dim));
  const auto same = [&](const std::string& key) {
    const auto value = gguf.integer(key);
    if (value && *value != out.head_dim)
      unsupported(gguf, "metadata \"" + key + "\" differs from the head size", fmt::format("{}", out.head_dim),
                  fmt::format("{}", *value));
  };
  same(arch + ".attention.value_length");
  same(arch + ".rope.dimension_count");

  const GgufTensor* embedding = gguf.tensor("token_embd.weight");
  if (!embedding || embedding->shape.rank() != 2)
    unsupported(gguf, "tensor \"token_embd.weight\" is missing or no matrix", "the embedding", "");
  out.vocabulary = embedding->shape[0];
  out.tied = !gguf.tensor("output.weight");
  out.attention_bias = arch == "qwen2" || gguf.tensor("blk.0.attn_q.bias");
  out.mlp_bias = gguf.tensor("blk.0.ffn_gate.bias") != nullptr;
  out.rope_scaling = rope_scaling_of(gguf, arch, gguf.real(arch + ".rope.freq_base").value_or(10000.0), out.head_dim);
  return out;
}

nlohmann::ordered_json published_config(const GgufContent& gguf, const GgufModel& model, DType dtype) {
  const std::string& arch = model.architecture;
  nlohmann::ordered_json out;
  out["architectures"] = {arch == "llama"   ? "LlamaForCausalLM"
                          : arch == "qwen2" ? "Qwen2ForCausalLM"
                                            : "Qwen3ForCausalLM"};
  if (arch != "qwen2") out["attention_bias"] = model.attention_bias;
  out["attention_dropout"] = 0.0;
  for (const char* name : {"bos", "eos", "pad"}) {
    const char* key = std::strcmp(name, "pad") == 0 ? "padding" : name;
    if (const auto id = gguf.integer(fmt::format("tokenizer.ggml.{}_token_id", key));
        id && *id >= 0 && *id < model.vocabulary)
      out[fmt::format("{}_token_id", name)] = *id;
  }
  out["head_dim"] = model.head_dim;
  out["hidden_act"] = "silu";
  out["hidden_size"] = model.hidden;
  out["initializer_range"] = 0.02;
  out["intermediate_size"] = model.intermediate;
  out["max_position_embeddings"] = model.context;
  if (arch == "llama") out["mlp_bias"] = model.mlp_bias;
  out["model_type"] = arch;
  out["num_attention_heads"] = model.heads;
  out["num_hidden_layers"] = model.layers;
  out["num_key_value_heads"] = model.kv_heads;
  out["rms_norm_eps"] = gguf.real(arch + ".attention.layer_norm_rms_epsilon").value_or(1e-6);
  out["rope_scaling"] = model.rope_scaling;
  out["rope_theta"] = gguf.real(arch + ".rope.freq_base").value_or(10000.0);
  out["tie_word_embeddings"] = model.tied;
  out["torch_dtype"] = dtype_torch_name(dtype);
  out["use_cache"] = true;
  if (arch != "llama") out["use_sliding_window"] = false;
  out["vocab_size"] = model.vocabulary;
  return out;
}

}  // namespace tilewright::hub
