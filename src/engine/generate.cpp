#include "engine/generate.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace tilewright::engine {
namespace {

struct Plan {
  std::int64_t reserve;     // positions
  std::int64_t new_tokens;  // at most
};

Plan plan_lengths(const models::ModelInfo& model, const GenerateRequest& request) {
  const auto prompt = static_cast<std::int64_t>(request.prompt.size());
  if (prompt == 0)
    fail({.what = "the prompt is empty",
          .where = "--prompt",
          .expected = "at least one token",
          .found = "none",
          .fix = ""});
  if (request.context > model.context)
    fail({.what = "the context is longer than the model was made for",
          .where = "--ctx",
          .expected = fmt::format("at most {}", model.context),
          .found = fmt::format("{}", request.context),
          .fix = ""});
  const std::int64_t limit = request.context ? request.context : model.context;
  if (prompt > limit)
    fail({.what = "the prompt is longer than the context",
          .where = request.context ? "--ctx" : model.family,
          .expected = fmt::format("at most {} tokens", limit),
          .found = fmt::format("{} tokens", prompt),
          .fix = request.context && prompt <= model.context ? "raise --ctx" : "shorten the prompt"});
  // The last token is never run, so that it needs no place.
  const std::int64_t new_tokens = std::min(request.max_new_tokens, limit - prompt + 1);
  return {request.context ? request.context : std::min(prompt + new_tokens, limit), new_tokens};
}

HostTensor as_row(const std::vector<std::int64_t>& ids) {
  HostTensor out(DType::i64, {1, static_cast<std::int64_t>(ids.size())});
  std::copy(ids.begin(), ids.end(), out.data<std::int64_t>());
  return out;
}

}  // namespace

std::string_view finish_reason_name(FinishReason reason) {
  switch (reason) {
    case FinishReason::stop:
      return "stop";
    case FinishReason::length:
      return "length";
    case FinishReason::interrupted:
      return "interrupted";
  }
  return "?";
}

GenerateResult generate(Session& session, const GenerateRequest& request) {
  check_sampling(request.sampling);
  const Plan plan = plan_lengths(session.model().info(), request);
  session.prepare(1, static_cast<std::int64_t>(request.prompt.size()), plan.reserve);
  session.begin(1, plan.reserve);
  session.device().synchronize();

  const bool on_device = request.sampling.plain_greedy();
  Sampler sampler(request.sampling);
  std::vector<std::int64_t> history = request.prompt;
  GenerateResult out;
  runtime::Device& device = session.device();
  const double start = device.now();
  double first = start, last = start;
  const auto stop_asked = [&] { return request.interrupted && request.interrupted->load(std::memory_order_relaxed); };

  // Greedy tokens stay on the device: the next step reads them there, the host reads them to show them.
  ops::Tensor hidden, best;
  std::int64_t token = 0;
  while (true) {
    if (static_cast<std::int64_t>(out.tokens.size()) >= plan.new_tokens) break;
    if (stop_asked()) {
      out.reason = FinishReason::interrupted;
      break;
    }
    if (out.tokens.empty())
      hidden = session.run(as_row(request.prompt));
    else if (on_device)
      hidden = session.run(best);
    else
      hidden = session.run(as_row({token}));
    const ops::Tensor logits = session.last_logits(hidden);
    if (on_device) {
      best = session.best(logits);
      token = session.read_token(best);
    } else {
      std::vector<float> values = session.read_logits(logits);
      token = sampler.choose(values, history);
    }
    last = device.now();
    if (out.tokens.empty()) first = last;
    out.tokens.push_back(token);
    history.push_back(token);
    if (std::find(request.end_tokens.begin(), request.end_tokens.end(), token) != request.end_tokens.end()) {
      out.reason = FinishReason::stop;
      break;
    }
    if (request.on_token) request.on_token(token);
  }
  if (out.tokens.empty()) return out;
  out.first_token_s = first - start;
  out.after_first_s = last - first;
  if (out.first_token_s > 0) out.prefill_tok_s = static_cast<double>(request.prompt.size()) / out.first_token_s;
  if (out.after_first_s > 0) out.decode_tok_s = static_cast<double>(out.tokens.size() - 1) / out.after_first_s;
  return out;
}

}  // namespace tilewright::engine
