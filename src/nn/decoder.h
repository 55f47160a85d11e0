// One pre-norm decoder, driven by a DecoderConfig. It submits launches to the context's stream and never waits.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nn/decoder_config.h"
#include "nn/decoder_weights.h"
#include "nn/state.h"
#include "ops/core/context.h"

namespace tilewright::nn {

class Decoder {
 public:
  // The decoder must outlive the launches it submits (they carry its module paths).
  Decoder(DecoderConfig config, DecoderWeights weights);
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  const DecoderConfig& config() const { return config_; }
  const DecoderWeights& weights() const { return weights_; }

  // Key-value cache [batch, kv_heads, max_len, head_dim] a layer in model dtype (zero), rotary tables [max_len,
  // head_dim], position [batch] (zero). max_len is a multiple of kBucket. Throws Error if memory does not suffice.
  State make_state(ops::Context& context, std::int64_t batch, std::int64_t max_len) const;
  // Makes a state as new, in its own tensors.
  void restart(ops::Context& context, State& state) const;
  // Bytes that make_state takes.
  std::uint64_t state_bytes(std::int64_t batch, std::int64_t max_len) const;

  // Hidden states [batch, S, hidden] (after the final norm) of the tokens `ids` (i64 or i32 [batch, S], all inside the
  // vocabulary), which stand at the state's position and the S - 1 places after it; their keys and values are written
  // there. `begin` is the host's copy of the largest position: 0 means an empty cache, and S tokens then attend to
  // their own keys; else attention covers the cache up to the next bucket. begin + S <= max_len. The position does not
  // move.
  ops::Tensor forward(ops::Context& context, const ops::Tensor& ids, State& state, std::int64_t begin) const;
  // Logits [batch, rows, vocab] of hidden states [batch, rows, hidden], in model dtype.
  ops::Tensor head(ops::Context& context, const ops::Tensor& hidden) const;
  // Adds `by` to the position, on the device; the tensor, i32 [1] or [batch], is read there too.
  void advance(ops::Context& context, State& state, std::int64_t by) const;
  void advance(ops::Context& context, State& state, const ops::Tensor& by) const;

 private:
  struct Paths {
    std::string input_norm, q, k, v, attention, o, mlp_norm, gate, up, mlp, down, cache;
  };
  struct Call;  // what all layers of one forward share
  void rotate_for_length(ops::Context& context, State& state, std::int64_t begin, std::int64_t rows) const;
  ops::Tensor attend(ops::Context& context, const Call& call, std::size_t layer, const ops::Tensor& x) const;
  ops::Tensor feed_forward(ops::Context& context, std::size_t layer, const ops::Tensor& x) const;

  DecoderConfig config_;
  DecoderWeights weights_;
  std::vector<Paths> paths_;
};

}  // namespace tilewright::nn
