#include "engine/golden_check.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "base/error.h"

namespace tilewright::engine {
namespace {

void check_same_model(const models::ModelInfo& model, const hub::Golden& golden) {
  if (golden.model_type != model.family)
    fail({.what = "the golden belongs to another family of models",
          .where = "--golden",
          .expected = "model_type " + model.family,
          .found = golden.model_type,
          .fix = "make a golden of this model: tools/make_golden.py MODEL"});
  if (golden.logits.shape[2] != model.vocab_size)
    fail({.what = "the golden belongs to a model of another vocabulary",
          .where = "--golden",
          .expected = fmt::format("{} logits a token", model.vocab_size),
          .found = fmt::format("{}", golden.logits.shape[2]),
          .fix = "make a golden of this model: tools/make_golden.py MODEL"});
}

void set_bound(const hub::Golden& golden, CheckResult& out) {
  for (std::int64_t i = 0; i < golden.logits.elements(); ++i)
    out.max_logit = std::max(out.max_logit, std::abs(static_cast<double>(golden.logits.data<float>()[i])));
  if (out.dtype == DType::f32) {
    out.bound = 1e-4 * out.max_logit;
    out.bound_source = "1e-4 × the largest |logit|";
  } else if (golden.bf16_error) {
    out.bound = 1.5 * static_cast<double>(*golden.bf16_error);
    out.bound_source = "1.5 × the reference's own bf16 error";
  }
}

void compare_logits(Session& session, const hub::Golden& golden, CheckResult& out) {
  session.begin(golden.input_ids.shape[0], golden.input_ids.shape[1]);
  const std::vector<float> ours = session.read_logits(session.all_logits(session.run(golden.input_ids)));
  const float* expected = golden.logits.data<float>();
  std::size_t worst = 0;
  double largest = -1;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    const double error = std::isfinite(ours[i]) ? std::abs(static_cast<double>(ours[i]) - expected[i])
                                                : std::numeric_limits<double>::infinity();
    if (error > largest) {
      largest = error;
      worst = i;
    }
  }
  const auto vocabulary = golden.logits.shape[2], length = golden.logits.shape[1];
  const auto at = static_cast<std::int64_t>(worst);
  out.worst_error = largest;
  out.worst_place = {at / vocabulary / length, at / vocabulary % length, at % vocabulary};
  out.ours = ours[worst];
  out.expected = expected[worst];
}

void compare_greedy(Session& session, const hub::Golden& golden, CheckResult& out) {
  const std::int64_t batch = golden.greedy_ids.shape[0], steps = golden.greedy_ids.shape[1];
  if (steps == 0) return;
  session.begin(batch, golden.input_ids.shape[1] + steps);
  HostTensor next = golden.input_ids;
  for (std::int64_t step = 0; step < steps; ++step) {
    const ops::Tensor best = session.best(session.last_logits(session.run(next)));
    const HostTensor tokens = runtime::to_host(session.context().stream(), best);
    next = HostTensor(DType::i64, {batch, 1});
    for (std::int64_t row = 0; row < batch; ++row) {
      const std::int64_t at = row * steps + step;
      const std::int64_t ours = tokens.data<std::int64_t>()[row];
      const std::int64_t expected = golden.greedy_ids.data<std::int64_t>()[at];
      next.data<std::int64_t>()[row] = expected;
      ++out.greedy_tokens;
      if (ours == expected) {
        ++out.greedy_equal;
        continue;
      }
      GreedyDifference difference{row, step, ours, expected, {}, out.bound.has_value()};
      if (golden.top2_gap) {
        difference.gap = golden.top2_gap->data<float>()[at];
        difference.judged = out.bound && *difference.gap > *out.bound;
      }
      if (!out.first_difference) out.first_difference = difference;
      if (difference.judged && !out.first_judged_difference) out.first_judged_difference = difference;
    }
  }
}

void judge(CheckResult& out) {
  if (!std::isfinite(out.worst_error)) {
    out.verdict = Verdict::different;
    out.reason = "a logit is not finite";
  } else if (!out.bound) {
    out.verdict = Verdict::not_judged;
    out.reason = fmt::format("the golden has no bf16_error to judge {} by", dtype_name(out.dtype));
  } else if (!(out.worst_error <= *out.bound)) {
    out.verdict = Verdict::different;
    out.reason = fmt::format("the worst error is {:.3g} times the bound", out.worst_error / *out.bound);
  } else if (out.first_judged_difference) {
    out.verdict = Verdict::different;
    out.reason = "a greedy token differs where the reference's choice was clear";
  }
}

}  // namespace

std::string_view verdict_name(Verdict verdict) {
  switch (verdict) {
    case Verdict::equal:
      return "equal";
    case Verdict::different:
      return "different";
    case Verdict::not_judged:
      return "not judged";
  }
  return "?";
}

CheckResult check_golden(Session& session, const hub::Golden& golden) {
  check_same_model(session.model().info(), golden);
  CheckResult out;
  out.dtype = session.model().info().dtype;
  set_bound(golden, out);
  const std::int64_t prompt = golden.input_ids.shape[1];
  session.prepare(golden.input_ids.shape[0], prompt, prompt + golden.greedy_ids.shape[1]);
  compare_logits(session, golden, out);
  compare_greedy(session, golden, out);
  judge(out);
  return out;
}

}  // namespace tilewright::engine
