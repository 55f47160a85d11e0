#include "measure/coverage.h"

#include <algorithm>

namespace tilewright::measure {
namespace {

constexpr std::string_view kDecomposition = "decomposition";

bool composite(const ops::OpCall& call) { return call.op.schema.kind == ops::OpKind::composite; }

}  // namespace

std::string block_of(std::string_view path) {
  std::string out;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('.', begin), path.size());
    const std::string_view part = path.substr(begin, end - begin);
    const bool number = !part.empty() && part.find_first_not_of("0123456789") == std::string_view::npos;
    if (begin > 0) out += '.';
    out += number ? "*" : part;
    begin = end + 1;
  }
  return out;
}

void PassWatch::call_begins(const ops::OpCall& call, const char*) { open_.push_back({&call.op}); }

void PassWatch::call_ends(const ops::OpCall& call, const char* path) {
  Open done = std::move(open_.back());
  open_.pop_back();
  if (!composite(call)) {
    if (!open_.empty()) return;  // a part of a composite's decomposition
    CoverageRow& at = row(block_of(path), call.op.schema.name);
    ++at.small;
    at.why = "no composite stands for it";
    return;
  }
  CoverageRow& at = row(block_of(path), call.op.schema.name);
  ++(done.fused ? at.fused : at.small);
  if (done.fused || !at.why.empty()) return;
  if (!done.why.empty())
    at.why = done.why;
  else
    at.why = switches_.on(call.op) ? "no kernel ran" : "switched off";
}

void PassWatch::launched(const runtime::Launch&) { ++launches_; }

void PassWatch::fused(const ops::OpCall& call, std::string_view candidate) {
  ++kernels_[{call.op.schema.name, std::string(candidate), ""}];
  if (!open_.empty()) open_.back().fused = true;
}

void PassWatch::refused(const ops::OpCall& call, std::string_view candidate, const std::string& reason) {
  if (!composite(call)) return;  // one small kernel instead of another
  ++fallbacks_[{call.op.schema.name, std::string(candidate), reason}];
  if (open_.empty()) return;
  std::string& why = open_.back().why;
  if (candidate == kDecomposition && !why.empty()) return;  // it says no more than those before
  if (!why.empty()) why += "; ";
  why += candidate == kDecomposition ? reason : std::string(candidate) + ": " + reason;
}

std::vector<CoverageRow> PassWatch::coverage() const { return rows_; }

std::vector<KernelUse> PassWatch::list(const std::map<Key, long>& counts) {
  std::vector<KernelUse> out;
  for (const auto& [key, count] : counts) out.push_back({key.op, key.candidate, key.reason, count});
  return out;
}

CoverageRow& PassWatch::row(const std::string& block, const std::string& op) {
  const auto [at, fresh] = places_.try_emplace({block, op}, rows_.size());
  if (fresh) rows_.push_back({block, op});
  return rows_[at->second];
}

}  // namespace tilewright::measure
