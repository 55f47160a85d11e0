// The two passes of a model that graphs are made of, as launches: a single token, and a prompt padded to a bucket. All
// they read and leave for each other lies in tensors that stay where they are.
#pragma once

#include <cstdint>

#include "models/core/model.h"

namespace tilewright::engine {

// Positions that a captured prompt pass is padded to: 16, 32, 64, 128, 256, then multiples of 256.
std::int64_t prefill_bucket(std::int64_t rows);

struct PassOutput {
  ops::Tensor hidden;  // [batch, rows, hidden]
  ops::Tensor logits;  // [batch, 1, vocab] of the last (real) row
};

struct PaddedPrompt {
  ops::Tensor ids;   // i64 [batch, padded]
  ops::Tensor rows;  // how many of them are real, i32 [1]
  ops::Tensor last;  // one less, i64 [1]
};

// Runs `token`, i64 [batch, 1], at position `begin` (State), moves the position on and writes the best next token to
// `token`. Nothing is held back when these return.
PassOutput submit_step(ops::Context& context, const models::Model& model, nn::State& state, const ops::Tensor& token,
                       std::int64_t begin);
// The same for a prompt on new sequences. What stands behind the real rows of the cache is overwritten later.
PassOutput submit_prompt(ops::Context& context, const models::Model& model, nn::State& state,
                         const PaddedPrompt& prompt, const ops::Tensor& token);
// The best token of logits [batch, 1, vocab].
void choose_token(ops::Context& context, const ops::Tensor& logits, const ops::Tensor& token);

}  // namespace tilewright::engine
