#include "ops/core/op.h"

#include <algorithm>

#include "base/error.h"
#include "ops/core/observer.h"
#include "ops/core/switches.h"

namespace tilewright::ops {

std::string OpCall::describe() const {
  std::string out = op.schema.name + "(";
  for (std::size_t i = 0; i < inputs.size(); ++i) out += (i ? ", " : "") + inputs[i].describe();
  for (const auto& [name, value] : attributes) out += ", " + std::string(name) + "=" + to_string(value);
  return out + ")";
}

bool absent(const HostTensor& tensor) { return tensor.bytes.empty() && tensor.shape.rank() == 0; }

std::string_view candidate_kind_name(CandidateKind kind) {
  switch (kind) {
    case CandidateKind::tuned:
      return "tuned";
    case CandidateKind::tile:
      return "tile";
    case CandidateKind::derived:
      return "derived";
    case CandidateKind::small:
      return "small";
  }
  return "?";
}

const std::vector<Candidate>* Op::candidates_for(std::string_view kernel_family) const {
  for (const FamilyCandidates& f : candidates)
    if (f.kernel_family == kernel_family) return &f.ordered;
  return nullptr;
}

double tensor_bytes(std::span<const Tensor> tensors) {
  double bytes = 0;
  for (const Tensor& t : tensors) {
    if (!t.defined()) continue;
    // Elements repeated by a stride of 0 are read once.
    double elements = 1;
    for (int i = 0; i < t.rank(); ++i)
      elements *= t.layout() == Layout::strided && t.strides()[i] == 0 ? 1.0 : static_cast<double>(t.shape()[i]);
    bytes += elements * static_cast<double>(dtype_size(t.dtype()));
  }
  return bytes;
}

void FallbackLog::fused(const OpCall& call, std::string_view candidate) {
  for (Fused& known : fused_)
    if (known.op == &call.op && known.candidate.data() == candidate.data()) {
      ++known.count;
      return;
    }
  fused_.push_back({&call.op, candidate, 1});
}

void FallbackLog::add(const Op& op, const Candidate* kernel, const std::string& reason, long count) {
  if (!kernel) {
    counts_[{op.schema.name, "decomposition", reason}] += count;
    return;
  }
  for (Fused& known : fused_)
    if (known.op == &op && known.candidate.data() == kernel->name.data()) {
      known.count += count;
      return;
    }
  fused_.push_back({&op, kernel->name, count});
}

void FallbackLog::refused(const OpCall& call, std::string_view candidate, const std::string& reason) {
  ++counts_[{call.op.schema.name, std::string(candidate), reason}];
}

Switches Switches::parse(const Registry& registry, const std::string& list) {
  Switches out;
  std::string known;
  for (const auto& op : registry.ops())
    if (op->schema.kind == OpKind::composite) known += (known.empty() ? "" : ", ") + op->schema.name;
  std::size_t begin = 0;
  while (begin <= list.size()) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    const std::string name = list.substr(begin, end - begin);
    begin = end + 1;
    if (name.empty() || name == "none") continue;
    const Op* op = registry.find(OpName(std::string_view(name)));
    if (name == "all") {
      for (const auto& each : registry.ops())
        if (each->schema.kind == OpKind::composite) out.set(*each, true);
    } else if (op && op->schema.kind == OpKind::composite) {
      out.set(*op, true);
    } else {
      fail({.what = "no composite operator of that name",
            .where = "--fuse",
            .expected = "none, all, auto, found or some of " + known,
            .found = name,
            .fix = ""});
    }
  }
  return out;
}

std::vector<std::string> Switches::names(const Registry& registry) const {
  std::vector<std::string> out;
  for (const auto& op : registry.ops())
    if (on(*op)) out.push_back(op->schema.name);
  return out;
}

}  // namespace tilewright::ops
