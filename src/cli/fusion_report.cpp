#include "cli/fusion_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/table.h"

namespace tilewright::cli {
namespace {

constexpr const char* kDecomposition = "decomposition";

ops::CandidateKind kind_of(const ops::FallbackLog::Fused& fused) {
  for (const auto& family : fused.op->candidates)
    for (const ops::Candidate& candidate : family.ordered)
      if (candidate.name.data() == fused.candidate.data()) return candidate.kind;
  return ops::CandidateKind::tuned;
}

// "derived kernel"; with its name if that says more than the operator's.
std::string kernel_text(const ops::FallbackLog::Fused& fused) {
  const std::string name(fused.candidate), &op = fused.op->schema.name;
  const ops::CandidateKind kind = kind_of(fused);
  const std::string made = kind == ops::CandidateKind::derived ? "derived kernel"
                           : kind == ops::CandidateKind::tile  ? "hand-written kernel"
                                                               : "tuned kernel";
  return name == op || name == op + ".derived" ? made : made + " " + name;
}

}  // namespace

std::string fusion_text(const ops::FallbackLog& log) {
  if (log.kernels().empty() && log.counts().empty()) return {};
  report::Table table({{"composite"}, {"ran as"}, {"calls", report::Align::right}, {"why not as a kernel"}});
  for (const auto& fused : log.kernels()) {
    table.add_row({fused.op->schema.name, kernel_text(fused), std::to_string(fused.count), ""});
  }
  for (const auto& [key, count] : log.counts()) {
    if (key.candidate != kDecomposition) continue;
    bool named = false;
    for (const auto& [why, times] : log.counts())
      if (why.op == key.op && why.candidate != kDecomposition) {
        const std::string reason = (why.candidate == why.op ? "" : why.candidate + ": ") + why.reason;
        table.add_row({named ? "" : key.op, named ? "" : kDecomposition, named ? "" : std::to_string(count),
                       reason + (times == count ? "" : " (" + std::to_string(times) + ")")});
        named = true;
      }
    if (!named) table.add_row({key.op, kDecomposition, std::to_string(count), key.reason});
  }
  return table.text();
}

Json fused_json(const ops::FallbackLog& log) {
  Json out = Json::array();
  for (const auto& fused : log.kernels())
    out.push_back({{"op", fused.op->schema.name},
                   {"kernel", std::string(fused.candidate)},
                   {"kind", std::string(candidate_kind_name(kind_of(fused)))},
                   {"count", fused.count}});
  return out;
}

Json fallbacks_json(const ops::FallbackLog& log) {
  Json out = Json::array();
  for (const auto& [key, count] : log.counts())
    out.push_back({{"op", key.op}, {"candidate", key.candidate}, {"reason", key.reason}, {"count", count}});
  return out;
}

std::string tuning_text(const ops::Tuner* tuner) {
  if (!tuner || tuner->store().decisions().empty()) return {};
  const ops::Tuner::Report& r = tuner->report();
  const std::string file = tuner->store().file().string();
  if (r.measured == 0) return r.classes == 0 ? std::string() : fmt::format("--fuse auto: decided by {}\n", file);
  return fmt::format("--fuse auto: measured {} kernel{} for {} kind{} of calls in {:.2f} s, {}\n", r.kernels,
                     r.kernels == 1 ? "" : "s", r.measured, r.measured == 1 ? "" : "s", r.seconds,
                     r.stored ? "stored in " + file : "not stored: the cache's folder cannot be written");
}

Json tuning_json(const ops::Tuner* tuner) {
  if (!tuner) return nullptr;
  const ops::Tuner::Report& r = tuner->report();
  return {{"classes", r.classes},
          {"measured", r.measured},
          {"kernels", r.kernels},
          {"seconds", r.seconds},
          {"file", r.stored ? Json(tuner->store().file().string()) : Json()}};
}

}  // namespace tilewright::cli
