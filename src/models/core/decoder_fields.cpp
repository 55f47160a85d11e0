#include "models/core/decoder_fields.h"

#include <fmt/format.h>

#include <cmath>
#include <map>

#include "base/error.h"

namespace tilewright::models {
namespace {

using nn::Activation;
using nn::RopeType;

constexpr std::int64_t kMostLayers = 100000;  // more is no model, and lists of that length must be safe to make

bool given(const Json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && !it->is_null();
}

// A count may be written as 4096 or as 4096.0.
std::int64_t count_or(const Json& object, const char* key, std::int64_t otherwise, const std::string& where) {
  return optional_or<std::int64_t>(object, key, otherwise, where);
}

Activation read_activation(const Json& config, const std::string& where) {
  static const std::map<std::string, Activation> kKnown = {
      {"silu", Activation::silu},
      {"swish", Activation::silu},
      {"gelu", Activation::gelu},
      {"gelu_python", Activation::gelu},
      {"gelu_new", Activation::gelu_tanh},
      {"gelu_fast", Activation::gelu_tanh},
      {"gelu_pytorch_tanh", Activation::gelu_tanh},
      {"gelu_python_tanh", Activation::gelu_tanh},
      {"gelu_accurate", Activation::gelu_tanh},
      {"relu", Activation::relu},
  };
  const std::string name = optional_or<std::string>(config, "hidden_act", "silu", where);
  const auto it = kKnown.find(name);
  if (it == kKnown.end())
    fail({.what = "hidden_act is an activation that is not supported",
          .where = where,
          .expected = "silu, gelu, gelu_new, gelu_pytorch_tanh or relu",
          .found = name,
          .fix = ""});
  return it->second;
}

std::vector<std::int64_t> read_end_tokens(const Json& config, const std::string& where) {
  std::vector<std::int64_t> out;
  if (!given(config, "eos_token_id")) return out;
  const Json& value = config.at("eos_token_id");
  const auto add = [&](const Json& id) {
    if (!id.is_number_integer())
      fail({.what = "\"eos_token_id\" is of the wrong kind",
            .where = where,
            .expected = "a token id or a list of them",
            .found = json_kind(id),
            .fix = "correct config.json or download it again"});
    out.push_back(id.get<std::int64_t>());
  };
  if (value.is_array())
    for (const Json& id : value) add(id);
  else
    add(value);
  return out;
}

std::optional<DType> read_dtype(const Json& config) {
  for (const char* key : {"dtype", "torch_dtype"}) {
    if (!given(config, key) || !config.at(key).is_string()) continue;
    try {
      return dtype_from_name(config.at(key).get<std::string>());
    } catch (const Error&) {
      return std::nullopt;  // "auto", "float64": the tensors tell
    }
  }
  return std::nullopt;
}

double yarn_scale(double factor, double weight) { return factor <= 1 ? 1.0 : 0.1 * weight * std::log(factor) + 1.0; }

// Published yarn settings: an explicit attention_factor, the ratio of two weighted ones, or 0.1·ln(factor)+1.
double yarn_attention_factor(const Json& rope, double factor, const std::string& where) {
  if (given(rope, "attention_factor")) return required<double>(rope, "attention_factor", where);
  const double mscale = optional_or<double>(rope, "mscale", 0, where);
  const double mscale_all_dim = optional_or<double>(rope, "mscale_all_dim", 0, where);
  if (mscale != 0 && mscale_all_dim != 0) return yarn_scale(factor, mscale) / yarn_scale(factor, mscale_all_dim);
  return yarn_scale(factor, 1);
}

RopeType rope_type_of(const Json& rope, const std::string& where) {
  static const std::map<std::string, RopeType> kKnown = {{"default", RopeType::plain},
                                                         {"linear", RopeType::linear},
                                                         {"dynamic", RopeType::dynamic},
                                                         {"yarn", RopeType::yarn},
                                                         {"llama3", RopeType::llama3}};
  const char* key = given(rope, "rope_type") ? "rope_type" : "type";
  const std::string name = optional_or<std::string>(rope, key, "default", where);
  const auto it = kKnown.find(name);
  if (it == kKnown.end())
    fail({.what = "the rope scaling is of a type that is not supported",
          .where = where,
          .expected = "default, linear, dynamic, yarn or llama3",
          .found = name,
          .fix = ""});
  return it->second;
}

const Json& rope_object(const Json& json, const std::string& where) {
  static const Json kNothing = Json::object();
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    if (!given(json, key)) continue;
    const Json& value = json.at(key);
    if (!value.is_object())
      fail({.what = fmt::format("\"{}\" is of the wrong kind", key),
            .where = where,
            .expected = "an object",
            .found = json_kind(value),
            .fix = "correct config.json or download it again"});
    if (value.empty()) continue;
    for (const auto& [name, entry] : value.items())
      if (entry.is_object())
        fail({.what = fmt::format("\"{}\" differs between kinds of layers, which this family does not have", key),
              .where = where,
              .expected = "one set of values",
              .found = "an object \"" + name + "\"",
              .fix = ""});
    return value;
  }
  return kNothing;
}

}  // namespace

nn::RopeConfig read_rope(const Json& json, const nn::DecoderConfig& config, const std::string& where) {
  const Json& rope = rope_object(json, where);
  nn::RopeConfig out;
  out.type = rope_type_of(rope, where);
  out.theta = given(rope, "rope_theta") ? required<double>(rope, "rope_theta", where)
                                        : optional_or<double>(json, "rope_theta", 10000.0, where);
  if (out.type == RopeType::plain) return out;

  const bool stated = given(rope, "original_max_position_embeddings");
  out.original_positions = given(json, "original_max_position_embeddings")
                               ? required<double>(json, "original_max_position_embeddings", where)
                           : stated ? required<double>(rope, "original_max_position_embeddings", where)
                                    : static_cast<double>(config.max_positions);
  if (out.type == RopeType::linear || out.type == RopeType::dynamic) out.original_positions = 0;
  if (out.type == RopeType::yarn && rope.contains("factor") && !given(rope, "factor"))
    out.factor = static_cast<double>(config.max_positions) / out.original_positions;
  else
    out.factor = required<double>(rope, "factor", where);
  const Json& partial = rope.contains("partial_rotary_factor") ? rope : json;
  if (optional_or<double>(partial, "partial_rotary_factor", 1.0, where) != 1.0)
    fail({.what = "a rope scaling over a part of each head is not supported in this family",
          .where = where,
          .expected = "partial_rotary_factor 1",
          .found = partial.at("partial_rotary_factor").dump(),
          .fix = ""});
  if (out.type == RopeType::llama3) {
    out.low_freq_factor = required<double>(rope, "low_freq_factor", where);
    out.high_freq_factor = required<double>(rope, "high_freq_factor", where);
  }
  if (out.type == RopeType::yarn) {
    const auto or_default = [&](const char* key, double otherwise) {
      const double value = optional_or<double>(rope, key, otherwise, where);
      return value == 0 ? otherwise : value;  // the reference takes 0 for "not given"
    };
    out.attention_factor = yarn_attention_factor(rope, out.factor, where);
    out.beta_fast = or_default("beta_fast", 32);
    out.beta_slow = or_default("beta_slow", 1);
    // The reference tests it as a condition, so that a null is no true.
    out.truncate = optional_or<bool>(rope, "truncate", !rope.contains("truncate"), where);
  }
  return out;
}

std::vector<std::int64_t> read_windows(const Json& config, std::int64_t layers, const std::string& where) {
  std::vector<std::int64_t> out(static_cast<std::size_t>(layers), 0);
  const std::int64_t window = optional_or<bool>(config, "use_sliding_window", false, where)
                                  ? count_or(config, "sliding_window", 4096, where)
                                  : 0;
  const bool off = config.contains("sliding_window") && config.at("sliding_window").is_null();
  const std::int64_t effective = off ? 0 : window;
  if (given(config, "layer_types")) {
    const Json& types = config.at("layer_types");
    if (!types.is_array() || static_cast<std::int64_t>(types.size()) < layers)
      fail({.what = "\"layer_types\" does not name every layer",
            .where = where,
            .expected = fmt::format("a list of {} names", layers),
            .found = types.is_array() ? fmt::format("{} names", types.size()) : json_kind(types),
            .fix = "correct config.json or download it again"});
    for (std::size_t i = 0; i < out.size(); ++i) {
      const std::string type = types[i].is_string() ? types[i].get<std::string>() : types[i].dump();
      if (type != "full_attention" && type != "sliding_attention")
        fail({.what = fmt::format("layer {} is of a type that this family does not have", i),
              .where = where,
              .expected = "full_attention or sliding_attention",
              .found = type,
              .fix = ""});
      if (type == "full_attention") continue;
      if (effective == 0)
        fail({.what = fmt::format("layer {} has a sliding window of no size", i),
              .where = where,
              .expected = "use_sliding_window true and sliding_window a number",
              .found = optional_or<bool>(config, "use_sliding_window", false, where) ? "no sliding_window"
                                                                                     : "use_sliding_window false",
              .fix = "correct config.json or download it again"});
      out[i] = effective;
    }
    return out;
  }
  const std::int64_t bottom = count_or(config, "max_window_layers", 28, where);
  for (std::int64_t i = 0; i < layers; ++i) out[static_cast<std::size_t>(i)] = i >= bottom ? effective : 0;
  return out;
}

nn::DecoderConfig read_decoder_fields(const Json& json, const FieldDefaults& defaults, const std::string& where) {
  if (given(json, "quantization_config"))
    fail({.what = "the weights are quantised, which is not supported for this family",
          .where = where,
          .expected = "no \"quantization_config\"",
          .found = json.at("quantization_config").is_object()
                       ? optional_or<std::string>(json.at("quantization_config"), "quant_method", "one", where)
                       : json_kind(json.at("quantization_config")),
          .fix = "use the model's f32, f16 or bf16 files"});
  nn::DecoderConfig out;
  out.vocab_size = required<std::int64_t>(json, "vocab_size", where);
  out.hidden_size = required<std::int64_t>(json, "hidden_size", where);
  out.intermediate_size = required<std::int64_t>(json, "intermediate_size", where);
  out.layers = required<std::int64_t>(json, "num_hidden_layers", where);
  out.heads = required<std::int64_t>(json, "num_attention_heads", where);
  if (out.layers < 1 || out.layers > kMostLayers)
    fail({.what = "num_hidden_layers is impossible",
          .where = where,
          .expected = fmt::format("1 to {}", kMostLayers),
          .found = fmt::format("{}", out.layers),
          .fix = "correct config.json or download it again"});
  const auto missing_or_null = [&](const char* key, std::int64_t missing, std::int64_t null) {
    return !json.contains(key) && missing ? missing : count_or(json, key, null, where);
  };
  out.kv_heads = missing_or_null("num_key_value_heads", defaults.missing_kv_heads, out.heads);
  const std::int64_t share = out.heads > 0 ? out.hidden_size / out.heads : 0;
  out.head_dim = missing_or_null("head_dim", defaults.missing_head_dim, share);
  out.max_positions = count_or(json, "max_position_embeddings", defaults.max_positions, where);
  out.rms_eps = optional_or<double>(json, "rms_norm_eps", 1e-6, where);
  out.activation = read_activation(json, where);
  out.tied = optional_or<bool>(json, "tie_word_embeddings", false, where);
  out.end_tokens = read_end_tokens(json, where);
  out.stated_dtype = read_dtype(json);
  out.rope = read_rope(json, out, where);
  return out;
}

}  // namespace tilewright::models
