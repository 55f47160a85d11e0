#include "nn/decoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "nn/rotary_table.h"
#include "ops/add_rms_norm/add_rms_norm.h"
#include "ops/attention/attention.h"
#include "ops/gelu_mul/gelu_mul.h"
#include "ops/qk_norm_rope/qk_norm_rope.h"
#include "ops/rms_norm/rms_norm.h"
#include "ops/rope/rope.h"
#include "ops/silu_mul/silu_mul.h"

namespace tilewright::nn {
namespace {

using ops::Attributes;
using ops::call;
using ops::call_all;
using ops::Context;
using ops::OpName;
using ops::PathScope;
using ops::Tensor;
using ops::Tensors;

constexpr OpName kAdd{"add"}, kAddInPlace{"add_"}, kArange{"arange"}, kCacheWrite{"cache_write"},
    kCausalMask{"causal_mask"}, kEmbedding{"embedding"}, kFull{"full"}, kLinear{"linear"}, kMul{"mul"}, kRelu{"relu"};

constexpr const char* kEmbedPath = "embed_tokens";
constexpr const char* kRotaryPath = "rotary_emb";
constexpr const char* kMaskPath = "causal_mask";
constexpr const char* kNormPath = "norm";
constexpr const char* kHeadPath = "lm_head";
constexpr const char* kPositionPath = "position";
constexpr const char* kStatePath = "state";

// Places in State::tensors.
constexpr std::size_t kCos = 1, kSin = 2, kFirstCache = 3;

Tensor linear(Context& context, const std::string& path, const Tensor& x, const Tensor& weight, const Tensor& bias) {
  const PathScope scope(context, path.c_str());
  return bias.defined() ? call(context, kLinear, {x, weight, bias}) : call(context, kLinear, {x, weight});
}

}  // namespace

struct Decoder::Call {
  const State* state;
  Tensor cos, sin;       // [batch, rows, head_dim]
  Tensor mask;           // full layers
  Tensor windowed_mask;  // layers whose window is `window`
  std::int64_t window = 0;
  std::int64_t batch, rows;
  std::int64_t covered = 0;  // 0: the call's own keys, else this many positions of the cache
};

Decoder::Decoder(DecoderConfig config, DecoderWeights weights)
    : config_(std::move(config)), weights_(std::move(weights)) {
  TW_CHECK(static_cast<std::int64_t>(weights_.layers.size()) == config_.layers);
  for (std::int64_t i = 0; i < config_.layers; ++i) {
    const std::string layer = fmt::format("layers.{}.", i);
    const std::string attention = layer + "self_attn", mlp = layer + "mlp";
    paths_.push_back({layer + "input_layernorm", attention + ".q_proj", attention + ".k_proj", attention + ".v_proj",
                      attention, attention + ".o_proj", layer + "post_attention_layernorm", mlp + ".gate_proj",
                      mlp + ".up_proj", mlp, mlp + ".down_proj", attention + ".cache"});
  }
}

std::uint64_t Decoder::state_bytes(std::int64_t batch, std::int64_t max_len) const {
  const std::uint64_t element = dtype_size(weights_.dtype);
  const std::uint64_t rows = static_cast<std::uint64_t>(max_len);
  return static_cast<std::uint64_t>(2 * config_.layers * batch * config_.kv_size()) * rows * element +
         2 * rows * static_cast<std::uint64_t>(config_.head_dim) * element;
}

State Decoder::make_state(Context& context, std::int64_t batch, std::int64_t max_len) const {
  TW_CHECK(max_len % kBucket == 0 && batch > 0);
  const DType dtype = weights_.dtype;
  State state{batch, max_len, {}};
  const auto add = [&](std::string name, DType type, const Shape& shape) {
    state.tensors.push_back({std::move(name), context.empty(type, shape)});
  };
  add("position", DType::i32, {batch});
  add("rotary.cos", dtype, {max_len, config_.head_dim});
  add("rotary.sin", dtype, {max_len, config_.head_dim});
  for (std::int64_t i = 0; i < config_.layers; ++i) {
    add(fmt::format("layers.{}.key", i), dtype, {batch, config_.kv_heads, max_len, config_.head_dim});
    add(fmt::format("layers.{}.value", i), dtype, {batch, config_.kv_heads, max_len, config_.head_dim});
  }
  restart(context, state);
  return state;
}

void Decoder::restart(Context& context, State& state) const {
  const PathScope scope(context, kStatePath);
  const RotaryTable table = rotary_table(config_, inverse_frequencies(config_, 0), 0, state.max_len, weights_.dtype);
  const auto write = [&](const Tensor& to, const HostTensor& from) {
    context.stream().copy_from_host(to.memory(), to.byte_offset(), from.bytes.data(), from.bytes.size());
  };
  write(state.tensors[kCos].tensor, table.cos);
  write(state.tensors[kSin].tensor, table.sin);
  for (std::size_t i = 0; i < state.tensors.size(); ++i) {
    if (i == kCos || i == kSin) continue;
    // Caches too, because masked places have weight 0 and 0 · NaN would not be 0.
    const Tensor& tensor = state.tensors[i].tensor;
    ops::call_into(context, kFull, {}, tensor, {{"shape", tensor.shape()}, {"value", 0.0}, {"dtype", tensor.dtype()}});
  }
}

// Dynamic scaling: the base follows the length of this call; keys already in the cache keep their rotation.
void Decoder::rotate_for_length(Context& context, State& state, std::int64_t begin, std::int64_t rows) const {
  const std::int64_t length = begin + rows;
  if (config_.rope.type != RopeType::dynamic || length <= config_.max_positions) return;
  const RotaryTable table = rotary_table(config_, inverse_frequencies(config_, length), begin, rows, weights_.dtype);
  const std::size_t offset = static_cast<std::size_t>(begin * config_.head_dim) * dtype_size(weights_.dtype);
  runtime::Stream& stream = context.stream();
  try {
    stream.copy_from_host(state.tensors[kCos].tensor.memory(), offset, table.cos.bytes.data(), table.cos.bytes.size());
    stream.copy_from_host(state.tensors[kSin].tensor.memory(), offset, table.sin.bytes.data(), table.sin.bytes.size());
  } catch (const Error& error) {  // a capture refuses the copy; the runtime knows launches only, and this is none
    ErrorText text = error.text();
    text.where =
        fmt::format("{}, dynamic scaling beyond {} positions, {}", kRotaryPath, config_.max_positions, text.where);
    fail(std::move(text));
  }
}

Tensor Decoder::forward(Context& context, const Tensor& ids, State& state, std::int64_t begin) const {
  TW_CHECK(ids.rank() == 2 && ids.dim(0) == state.batch && begin + ids.dim(1) <= state.max_len);
  Call shared;
  shared.state = &state;
  shared.batch = ids.dim(0);
  shared.rows = ids.dim(1);
  shared.covered = begin == 0 ? 0 : std::min(round_up_to_bucket(begin + shared.rows), state.max_len);
  rotate_for_length(context, state, begin, shared.rows);

  Tensor x;
  {
    const PathScope scope(context, kEmbedPath);
    x = call(context, kEmbedding, {weights_.embedding, ids});
  }
  {
    const PathScope scope(context, kRotaryPath);
    Tensor positions = state.position().view({shared.batch, 1});
    if (shared.rows > 1) {
      const Tensor rows = call(context, kArange, {},
                               {{"start", 0.0}, {"end", static_cast<double>(shared.rows)}, {"dtype", DType::i32}});
      positions = call(context, kAdd, {positions, rows.view({1, shared.rows})});
    }
    shared.cos = call(context, kEmbedding, {state.tensors[kCos].tensor, positions});
    shared.sin = call(context, kEmbedding, {state.tensors[kSin].tensor, positions});
  }
  {
    const PathScope scope(context, kMaskPath);
    const auto mask = [&](std::int64_t window) {
      const std::int64_t columns = shared.covered ? shared.covered : shared.rows;
      return call(context, kCausalMask, {state.position()},
                  {{"rows", shared.rows}, {"columns", columns}, {"window", window}, {"dtype", weights_.dtype}});
    };
    for (const std::int64_t window : config_.windows) {
      if (window == 0 && !shared.mask.defined()) shared.mask = mask(0);
      if (window != 0 && !shared.windowed_mask.defined()) {
        shared.window = window;
        shared.windowed_mask = mask(window);
      }
      TW_CHECK(window == 0 || window == shared.window);
    }
  }

  // Each residual addition is called together with the norm that follows it, so that the pair may fuse.
  Tensor normed;
  const auto add_and_norm = [&](const char* path, const Tensor& branch, const Tensor& weight) {
    const PathScope scope(context, path);
    ops::AddRmsNorm out = ops::add_rms_norm(context, branch, x, weight, config_.rms_eps);
    x = std::move(out.sum);
    normed = std::move(out.normed);
  };
  {
    const PathScope scope(context, paths_[0].input_norm.c_str());
    normed = ops::rms_norm(context, x, weights_.layers[0][Slot::attention_norm], config_.rms_eps);
  }
  for (std::size_t i = 0; i < weights_.layers.size(); ++i) {
    const LayerWeights& layer = weights_.layers[i];
    add_and_norm(paths_[i].mlp_norm.c_str(), attend(context, shared, i, normed), layer[Slot::mlp_norm]);
    const bool last = i + 1 == weights_.layers.size();
    add_and_norm(last ? kNormPath : paths_[i + 1].input_norm.c_str(), feed_forward(context, i, normed),
                 last ? weights_.final_norm : weights_.layers[i + 1][Slot::attention_norm]);
  }
  return normed;
}

Tensor Decoder::attend(Context& context, const Call& shared, std::size_t index, const Tensor& x) const {
  const LayerWeights& w = weights_.layers[index];
  const Paths& path = paths_[index];
  const Tensor q = linear(context, path.q, x, w[Slot::q], w[Slot::q_bias]);
  const Tensor k = linear(context, path.k, x, w[Slot::k], w[Slot::k_bias]);
  const Tensor v = linear(context, path.v, x, w[Slot::v], w[Slot::v_bias]);
  const auto heads = [&](const Tensor& t, std::int64_t count) {
    return t.view({shared.batch, shared.rows, count, config_.head_dim}).transpose(1, 2);
  };
  Tensor queries, keys, values = heads(v, config_.kv_heads);
  {
    const PathScope scope(context, path.attention.c_str());
    if (config_.qk_norm) {
      ops::QkNormRope out =
          ops::qk_norm_rope(context, q, k, w[Slot::q_norm], w[Slot::k_norm], shared.cos, shared.sin, config_.rms_eps);
      queries = std::move(out.q);
      keys = std::move(out.k);
    } else {
      ops::Rope out = ops::rope(context, heads(q, config_.heads), heads(k, config_.kv_heads), shared.cos, shared.sin);
      queries = std::move(out.q);
      keys = std::move(out.k);
    }
  }
  const Tensor& key_cache = shared.state->tensors[kFirstCache + 2 * index].tensor;
  const Tensor& value_cache = shared.state->tensors[kFirstCache + 2 * index + 1].tensor;
  {
    const PathScope scope(context, path.cache.c_str());
    call(context, kCacheWrite, {key_cache, shared.state->position(), keys});
    call(context, kCacheWrite, {value_cache, shared.state->position(), values});
  }
  if (shared.covered) {
    keys = key_cache.slice(2, 0, shared.covered);
    values = value_cache.slice(2, 0, shared.covered);
  }
  Tensor mixed;
  {
    const PathScope scope(context, path.attention.c_str());
    const Tensor& mask = config_.windows[index] ? shared.windowed_mask : shared.mask;
    mixed = ops::attention(context, queries, keys, values, mask, shared.state->position(),
                           1.0 / std::sqrt(static_cast<double>(config_.head_dim)), config_.windows[index]);
  }
  return linear(context, path.o, mixed, w[Slot::o], w[Slot::o_bias]);
}

Tensor Decoder::feed_forward(Context& context, std::size_t index, const Tensor& x) const {
  const LayerWeights& w = weights_.layers[index];
  const Paths& path = paths_[index];
  const Tensor gate = linear(context, path.gate, x, w[Slot::gate], w[Slot::gate_bias]);
  const Tensor up = linear(context, path.up, x, w[Slot::up], w[Slot::up_bias]);
  Tensor product;
  {
    const PathScope scope(context, path.mlp.c_str());
    switch (config_.activation) {
      case Activation::silu:
        product = ops::silu_mul(context, gate, up);
        break;
      case Activation::gelu:
        product = ops::gelu_mul(context, gate, up, "none");
        break;
      case Activation::gelu_tanh:
        product = ops::gelu_mul(context, gate, up, "tanh");
        break;
      case Activation::relu:
        product = call(context, kMul, {call(context, kRelu, {gate}), up});
        break;
    }
  }
  return linear(context, path.down, product, w[Slot::down], w[Slot::down_bias]);
}

Tensor Decoder::head(Context& context, const Tensor& hidden) const {
  const PathScope scope(context, kHeadPath);
  return call(context, kLinear, {hidden, weights_.head});
}

void Decoder::advance(Context& context, State& state, std::int64_t by) const {
  const PathScope scope(context, kPositionPath);
  call(context, kAddInPlace, {state.position()}, {{"other", by}});
}

void Decoder::advance(Context& context, State& state, const Tensor& by) const {
  const PathScope scope(context, kPositionPath);
  call(context, kAddInPlace, {state.position(), by});
}

}  // namespace tilewright::nn
