// Does this port equal the reference? Teacher-forced logits and greedy decoding against a golden.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/session.h"
#include "hub/golden.h"

namespace tilewright::engine {

enum class Verdict { equal, different, not_judged };
std::string_view verdict_name(Verdict verdict);

struct GreedyDifference {
  std::int64_t row = 0, step = 0;
  std::int64_t ours = 0, expected = 0;
  std::optional<double> gap;  // between the reference's two best logits at that step
  bool judged = false;        // the gap exceeds the bound, or there is no gap to excuse it
};

struct CheckResult {
  DType dtype = DType::f32;
  double worst_error = 0;                 // largest |logit - golden's|; infinity if one is not finite
  std::vector<std::int64_t> worst_place;  // [b, s, v]
  double ours = 0, expected = 0;          // the two logits there
  double max_logit = 0;                   // largest |golden logit|
  std::optional<double> bound;            // nothing: this dtype is reported, not judged
  std::string bound_source;               // "1e-4 × the largest |logit|" …
  std::int64_t greedy_tokens = 0, greedy_equal = 0;
  std::optional<GreedyDifference> first_difference;         // in order of steps
  std::optional<GreedyDifference> first_judged_difference;  // one that makes the verdict
  Verdict verdict = Verdict::equal;
  std::string reason;  // of a verdict that is not equal
};

// Bounds: f32 worst error ≤ 1e-4 · max |logit|; f16 and bf16 ≤ 1.5 × the golden's bf16_error, or not judged without it.
// Greedy tokens are compared step by step, each step continuing from the golden's tokens, through the key-value cache;
// they must agree wherever the golden's top-2 gap exceeds the bound, and everywhere if it has none. Throws Error if the
// golden belongs to another model (family, vocabulary).
CheckResult check_golden(Session& session, const hub::Golden& golden);

}  // namespace tilewright::engine
