#include "ops/core/support_table.h"

#include <fmt/format.h>

#include <set>

namespace tilewright::ops {
namespace {

// A bar would end the cell.
std::string cell(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '|' ? std::string("\\|") : std::string(1, c);
  return out;
}

std::string arguments(const OpSchema& schema) {
  std::string out;
  for (const ArgumentSpec& input : schema.inputs)
    out += (out.empty() ? "" : ", ") + input.name + (input.optional ? "?" : "");
  if (schema.variadic) out += " …";
  for (std::size_t i = 0; i < schema.attributes.size(); ++i) out += (i ? ", " : "; ") + schema.attributes[i].name;
  return out;
}

std::string kernels(const Op& op, const std::string& family) {
  std::string out;
  if (const std::vector<Candidate>* candidates = op.candidates_for(family))
    for (const Candidate& candidate : *candidates) out += (out.empty() ? "" : ", ") + candidate.name;
  return out.empty() ? "–" : out;
}

std::string table(const Registry& registry, OpKind kind, const std::set<std::string>& families) {
  const bool composite = kind == OpKind::composite;
  std::string out = fmt::format("| operator | what it computes |{} {} |\n", composite ? " runs, when off, as |" : "",
                                fmt::join(families, " | "));
  out += composite ? "|---|---|---|" : "|---|---|";
  for (std::size_t i = 0; i < families.size(); ++i) out += "---|";
  out += "\n";
  std::set<std::string> rows;  // by name
  for (const auto& op : registry.ops()) {
    if (op->schema.kind != kind) continue;
    std::string row =
        fmt::format("| `{}({})` | {} |", op->schema.name, arguments(op->schema), cell(op->schema.summary));
    if (composite) row += fmt::format(" {} |", fmt::join(op->decomposition.calls, ", "));
    for (const std::string& family : families) row += " " + kernels(*op, family) + " |";
    rows.insert(row + "\n");
  }
  for (const std::string& row : rows) out += row;
  return out;
}

}  // namespace

std::string support_table(const Registry& registry) {
  std::set<std::string> families;
  for (const auto& op : registry.ops())
    for (const Op::FamilyCandidates& family : op->candidates) families.insert(family.kernel_family);
  return "### Composite operators\n\n" + table(registry, OpKind::composite, families) + "\n### Small operators\n\n" +
         table(registry, OpKind::small, families);
}

}  // namespace tilewright::ops
