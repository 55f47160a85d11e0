#include "nn/decoder_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace tilewright::nn {
namespace {

// Larger numbers are no model but would overflow sizes.
constexpr std::int64_t kMost = std::int64_t{1} << 31;

void in_range(std::int64_t value, std::int64_t least, std::int64_t most, const char* name, const std::string& where) {
  if (value < least || value > most)
    fail({.what = fmt::format("{} is impossible", name),
          .where = where,
          .expected = fmt::format("{} to {}", least, most),
          .found = fmt::format("{}", value),
          .fix = "correct config.json or download it again"});
}

void positive(double value, const char* name, const std::string& where) {
  if (!(value > 0) || !std::isfinite(value))
    fail({.what = fmt::format("{} is impossible", name),
          .where = where,
          .expected = "a positive number",
          .found = fmt::format("{}", value),
          .fix = "correct config.json or download it again"});
}

}  // namespace

std::string_view activation_name(Activation activation) {
  switch (activation) {
    case Activation::silu:
      return "silu";
    case Activation::gelu:
      return "gelu";
    case Activation::gelu_tanh:
      return "gelu_tanh";
    case Activation::relu:
      return "relu";
  }
  return "?";
}

std::string_view rope_type_name(RopeType type) {
  switch (type) {
    case RopeType::plain:
      return "default";
    case RopeType::linear:
      return "linear";
    case RopeType::dynamic:
      return "dynamic";
    case RopeType::yarn:
      return "yarn";
    case RopeType::llama3:
      return "llama3";
  }
  return "?";
}

std::int64_t DecoderConfig::context() const {
  double length = static_cast<double>(max_positions);
  // Published files state the length before the scaling (linear, dynamic, Qwen's yarn) or after it (llama3).
  if (rope.type == RopeType::linear || rope.type == RopeType::dynamic) length *= std::max(rope.factor, 1.0);
  if (rope.type == RopeType::yarn) length = std::max(length, rope.original_positions * std::max(rope.factor, 1.0));
  return static_cast<std::int64_t>(std::min(length, static_cast<double>(kMost)));
}

std::string to_string(const DecoderConfig& c) {
  std::string windows;
  for (std::size_t i = 0; i < c.windows.size();) {
    std::size_t end = i;
    while (end < c.windows.size() && c.windows[end] == c.windows[i]) ++end;
    windows += fmt::format("{}{} × {}", windows.empty() ? "" : ", ", end - i,
                           c.windows[i] ? fmt::format("{}", c.windows[i]) : "full");
    i = end;
  }
  std::string out = fmt::format(
      "family {}\nvocab_size {}\nhidden_size {}\nintermediate_size {}\nlayers {}\nheads {}\nkv_heads {}\nhead_dim {}\n"
      "max_positions {}\nrms_eps {}\nactivation {}\nqkv_bias {}\no_bias {}\nmlp_bias {}\nqk_norm {}\ntied {}\nwindows "
      "{}\n",
      c.family, c.vocab_size, c.hidden_size, c.intermediate_size, c.layers, c.heads, c.kv_heads, c.head_dim,
      c.max_positions, c.rms_eps, activation_name(c.activation), c.qkv_bias, c.o_bias, c.mlp_bias, c.qk_norm, c.tied,
      windows);
  const RopeConfig& r = c.rope;
  out += fmt::format("rope {}, theta {}", rope_type_name(r.type), r.theta);
  if (r.type != RopeType::plain) out += fmt::format(", factor {}", r.factor);
  if (r.type == RopeType::yarn)
    out += fmt::format(", original_positions {}, attention_factor {}, beta_fast {}, beta_slow {}, truncate {}",
                       r.original_positions, r.attention_factor, r.beta_fast, r.beta_slow, r.truncate);
  if (r.type == RopeType::llama3)
    out += fmt::format(", original_positions {}, low_freq_factor {}, high_freq_factor {}", r.original_positions,
                       r.low_freq_factor, r.high_freq_factor);
  return out + "\n";
}

void check_config(const DecoderConfig& c, const std::string& where) {
  in_range(c.vocab_size, 1, kMost, "vocab_size", where);
  in_range(c.hidden_size, 1, kMost, "hidden_size", where);
  in_range(c.intermediate_size, 1, kMost, "intermediate_size", where);
  in_range(c.layers, 1, 100000, "num_hidden_layers", where);
  in_range(c.heads, 1, 1 << 20, "num_attention_heads", where);
  in_range(c.kv_heads, 1, 1 << 20, "num_key_value_heads", where);
  in_range(c.head_dim, 1, 1 << 16, "head_dim", where);
  in_range(c.max_positions, 1, kMost, "max_position_embeddings", where);
  if (c.heads % c.kv_heads != 0)
    fail({.what = "num_attention_heads is not a multiple of num_key_value_heads",
          .where = where,
          .expected = fmt::format("a multiple of {}", c.kv_heads),
          .found = fmt::format("{}", c.heads),
          .fix = "correct config.json or download it again"});
  if (c.head_dim % 2 != 0)
    fail({.what = "head_dim is odd, so that its channels cannot be rotated in pairs",
          .where = where,
          .expected = "an even number",
          .found = fmt::format("{}", c.head_dim),
          .fix = "correct config.json or download it again"});
  for (const std::int64_t window : c.windows) in_range(window, 0, kMost, "sliding_window", where);
  TW_CHECK(static_cast<std::int64_t>(c.windows.size()) == c.layers);
  if (!(c.rms_eps >= 0)) positive(c.rms_eps, "rms_norm_eps", where);
  positive(c.rope.theta, "rope_theta", where);
  positive(c.rope.factor, "the rope scaling's factor", where);
  if (c.rope.type == RopeType::yarn || c.rope.type == RopeType::llama3)
    positive(c.rope.original_positions, "original_max_position_embeddings", where);
  if (c.rope.type == RopeType::yarn) positive(c.rope.theta - 1, "rope_theta - 1 (yarn takes its logarithm)", where);
  if (c.rope.type == RopeType::llama3 && c.rope.high_freq_factor == c.rope.low_freq_factor)
    positive(0, "high_freq_factor - low_freq_factor", where);
  if (c.rope.type == RopeType::llama3) {
    positive(c.rope.low_freq_factor, "low_freq_factor", where);
    positive(c.rope.high_freq_factor, "high_freq_factor", where);
  }
}

}  // namespace tilewright::nn
