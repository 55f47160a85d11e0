#include "port/arms_progress.h"

#include <algorithm>

namespace tilewright::port {
namespace {

constexpr std::uint64_t kParts = 10000;

}  // namespace

ArmsProgress::ArmsProgress(const measure::BenchOptions& options) {
  const auto& lengths = options.regime == "prefill" ? options.seq : options.gen;
  cases_ = std::max(1.0, static_cast<double>(lengths.size() * options.batch.size()));
  const std::pair<const char*, double> stages[] = {
      {"prepare", 1.0},           {"compare", 1.0}, {"warm up", options.warmup},
      {"measure", options.iters}, {"latency", 1.0}, {"trace", 1.0}};
  double sum = 0;
  for (const auto& [stage, iterations] : stages) {
    start_[stage] = sum;
    length_[stage] = iterations;
    sum += iterations;
  }
  for (auto* shares : {&start_, &length_})
    for (auto& [stage, value] : *shares) value /= sum;
}

ArmsProgress::State ArmsProgress::advance(const measure::BenchProgress& at) {
  State out{.total = kParts};
  if (!at.of_case.empty() && case_ != at.of_case) {
    case_ = at.of_case;
    ++case_number_;
  }
  const std::string stage(at.stage);
  const double share = at.total ? static_cast<double>(std::min(at.done, at.total)) / static_cast<double>(at.total) : 0;
  if (const auto start = start_.find(stage); start != start_.end() && case_number_ > 0) {
    const double whole = (case_number_ - 1 + start->second + length_[stage] * share) / cases_;
    furthest_ = std::max(furthest_, static_cast<std::uint64_t>(std::clamp(whole, 0.0, 1.0) * kParts));
  }
  out.done = furthest_;
  out.doing = at.of_case.empty() ? "" : std::string(at.of_case) + ": ";
  out.doing += stage;
  if (!at.arm.empty()) out.doing += " " + std::string(at.arm);
  if (at.total > 1) out.doing += " " + std::to_string(std::min(at.done, at.total)) + "/" + std::to_string(at.total);
  return out;
}

}  // namespace tilewright::port
