#include "engine/pass.h"

namespace tilewright::engine {
namespace {

constexpr ops::OpName kArgmax{"argmax"}, kIndexSelect{"index_select"};
constexpr const char* kBestPath = "greedy";
constexpr const char* kLastRowPath = "last_row";

}  // namespace

std::int64_t prefill_bucket(std::int64_t rows) {
  for (std::int64_t bucket = 16; bucket < nn::kBucket; bucket *= 2)
    if (rows <= bucket) return bucket;
  return nn::round_up_to_bucket(rows);
}

void choose_token(ops::Context& context, const ops::Tensor& logits, const ops::Tensor& token) {
  const ops::PathScope scope(context, kBestPath);
  ops::call_into(context, kArgmax, {logits}, token, {{"dim", std::int64_t{-1}}});
  context.flush();
}

PassOutput submit_step(ops::Context& context, const models::Model& model, nn::State& state, const ops::Tensor& token,
                       std::int64_t begin) {
  PassOutput out;
  out.hidden = model.forward(context, token, state, begin);
  model.advance(context, state, 1);
  out.logits = model.head(context, out.hidden);
  choose_token(context, out.logits, token);
  return out;
}

PassOutput submit_prompt(ops::Context& context, const models::Model& model, nn::State& state,
                         const PaddedPrompt& prompt, const ops::Tensor& token) {
  PassOutput out;
  out.hidden = model.forward(context, prompt.ids, state, 0);
  model.advance(context, state, prompt.rows);
  ops::Tensor last;
  {
    const ops::PathScope scope(context, kLastRowPath);
    last = ops::call(context, kIndexSelect, {out.hidden, prompt.last}, {{"dim", std::int64_t{1}}});
  }
  out.logits = model.head(context, last);
  choose_token(context, out.logits, token);
  return out;
}

}  // namespace tilewright::engine
