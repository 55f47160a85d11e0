#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/moe_gate_top_k/parts.h"

namespace tilewright::ops {
namespace {

// Scores are f32 values, since a choice between nearly equal ones depends on it.
std::vector<float> scores_of(const HostTensor& logits, std::int64_t token, bool sigmoid) {
  const std::int64_t experts = logits.shape[1];
  std::vector<double> wide(static_cast<std::size_t>(experts));
  double largest = -std::numeric_limits<double>::infinity(), sum = 0;
  for (std::int64_t e = 0; e < experts; ++e) largest = std::max(largest, logits.at(token * experts + e));
  for (std::int64_t e = 0; e < experts; ++e) {
    const double x = logits.at(token * experts + e);
    sum += wide[static_cast<std::size_t>(e)] = sigmoid ? 1 / (1 + std::exp(-x)) : std::exp(x - largest);
  }
  std::vector<float> out;
  for (const double each : wide) out.push_back(static_cast<float>(sigmoid ? each : each / sum));
  return out;
}

// Groups that do not stay become minus infinity: with zero they would win over negative scores.
void drop_groups(std::vector<float>& biased, std::int64_t groups, std::int64_t kept) {
  const std::size_t each = biased.size() / static_cast<std::size_t>(groups);
  std::vector<std::pair<float, std::size_t>> order;
  for (std::size_t g = 0; g < static_cast<std::size_t>(groups); ++g) {
    std::vector<float> group(biased.begin() + static_cast<std::ptrdiff_t>(g * each),
                             biased.begin() + static_cast<std::ptrdiff_t>((g + 1) * each));
    std::partial_sort(group.begin(), group.begin() + 2, group.end(), std::greater<>());
    order.emplace_back(group[0] + group[1], g);
  }
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  for (std::size_t i = static_cast<std::size_t>(kept); i < order.size(); ++i)
    std::fill_n(biased.begin() + static_cast<std::ptrdiff_t>(order[i].second * each), each,
                -std::numeric_limits<float>::infinity());
}

}  // namespace

std::vector<HostTensor> moe_gate_top_k_reference(std::span<const HostTensor> inputs, const Attributes& a) {
  const HostTensor& logits = inputs[0];
  const bool has_bias = inputs.size() > 1 && !absent(inputs[1]);
  const std::int64_t tokens = logits.shape[0], experts = logits.shape[1], k = a.integer("k", 1);
  const std::int64_t groups = a.integer("n_group", 1);
  HostTensor weights(a.dtype("dtype", DType::f32), {tokens, k}), indices(DType::i32, {tokens, k});
  for (std::int64_t token = 0; token < tokens; ++token) {
    const std::vector<float> scores = scores_of(logits, token, a.text("score", "softmax") == "sigmoid");
    std::vector<float> biased = scores;
    for (std::int64_t e = 0; has_bias && e < experts; ++e)
      biased[static_cast<std::size_t>(e)] += static_cast<float>(inputs[1].at(e));
    if (groups > 1) drop_groups(biased, groups, a.integer("topk_group", 1));
    std::vector<std::size_t> order(static_cast<std::size_t>(experts));
    for (std::size_t e = 0; e < order.size(); ++e) order[e] = e;
    std::stable_sort(order.begin(), order.end(), [&](std::size_t x, std::size_t y) { return biased[x] > biased[y]; });
    double sum = 0;
    for (std::int64_t i = 0; i < k; ++i) sum += static_cast<double>(scores[order[static_cast<std::size_t>(i)]]);
    const double factor =
        a.number("scale", 1) / (a.flag("renormalise", true) ? sum + a.number("renormalise_eps", 0) : 1);
    for (std::int64_t i = 0; i < k; ++i) {
      const std::size_t chosen = order[static_cast<std::size_t>(i)];
      weights.set(token * k + i, static_cast<double>(scores[chosen]) * factor);
      indices.set(token * k + i, static_cast<double>(chosen));
    }
  }
  return {weights, indices};
}

}  // namespace tilewright::ops
