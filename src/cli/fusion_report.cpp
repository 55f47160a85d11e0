#include "cli/fusion_report.h"

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

}  // namespace

std::string fusion_text(const ops::FallbackLog& log) {
  if (log.kernels().empty() && log.counts().empty()) return {};
  report::Table table({{"composite"}, {"ran as"}, {"calls", report::Align::right}, {"why not as a kernel"}});
  for (const auto& fused : log.kernels()) {
    const std::string name(fused.candidate);
    const std::string kind(candidate_kind_name(kind_of(fused)));
    table.add_row(
        {fused.op->schema.name, name == fused.op->schema.name ? kind : name, std::to_string(fused.count), ""});
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

}  // namespace tilewright::cli
