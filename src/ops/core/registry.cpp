#include "ops/core/registry.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "ops/core/derive/derived_kernel.h"
#include "ops/core/packing.h"
#include "ops/core/tile_candidate.h"

namespace tilewright::ops {

Registry::Registry() = default;
Registry::~Registry() = default;

Op& Registry::add(OpSchema schema) {
  for (const auto& op : ops_) TW_CHECK(op->schema.name != schema.name);
  auto op = std::make_unique<Op>();
  op->schema = std::move(schema);
  op->index = static_cast<int>(ops_.size());
  ops_.push_back(std::move(op));
  return *ops_.back();
}

void Registry::set_reference(std::string_view op, Reference reference) {
  early_[std::string(op)].first = std::move(reference);
}

void Registry::set_decomposition(std::string_view op, Decomposition decomposition) {
  early_[std::string(op)].second = std::move(decomposition);
}

void Registry::add_candidate(std::string_view op, std::string_view kernel_family, Candidate candidate) {
  pending_.push_back({std::string(op), std::string(kernel_family), std::move(candidate)});
}

void Registry::add_tile_kernel(std::string_view op, TileKernel kernel) {
  TW_CHECK(kernel.build && kernel.bind && kernel.numbers.size() <= Specialisation::kMaxNumbers);
  tile_kernels_.push_back({std::string(op), std::make_shared<const TileKernel>(std::move(kernel))});
}

void Registry::set_code_generator(std::string_view kernel_family, std::shared_ptr<CodeGenerator> generator) {
  generators_[std::string(kernel_family)] = std::move(generator);
}

void Registry::set_weight_packer(std::string_view kernel_family, std::unique_ptr<WeightPacker> packer) {
  packers_[std::string(kernel_family)] = std::move(packer);
}

const WeightPacker* Registry::weight_packer(std::string_view kernel_family) const {
  const auto it = packers_.find(std::string(kernel_family));
  return it == packers_.end() ? nullptr : it->second.get();
}

const Op* Registry::find(OpName name) const {
  if (table_.empty()) return nullptr;
  for (std::size_t at = name.hash & (table_.size() - 1); table_[at]; at = (at + 1) & (table_.size() - 1))
    if (table_[at]->schema.name == name.text) return table_[at];
  return nullptr;
}

const Op& Registry::get(OpName name) const {
  const Op* op = find(name);
  if (!op)
    fail({.what = "no operator of that name",
          .where = std::string(name.text),
          .expected = "",
          .found = "",
          .fix = "a call names an op that is not registered"});
  return *op;
}

void Registry::finish() {
  std::size_t size = 64;
  while (size < ops_.size() * 4) size *= 2;
  table_.assign(size, nullptr);
  for (const auto& op : ops_) {
    std::size_t at = OpName(std::string_view(op->schema.name)).hash & (size - 1);
    while (table_[at]) at = (at + 1) & (size - 1);
    table_[at] = op.get();
  }
  std::string wrong;
  const auto mutable_op = [&](const std::string& name) -> Op* {
    const Op* op = find(OpName(std::string_view(name)));
    return op ? ops_[static_cast<std::size_t>(op->index)].get() : nullptr;
  };
  for (auto& [name, parts] : early_) {
    Op* op = mutable_op(name);
    if (!op) {
      wrong += "\n  reference or decomposition of unknown op " + name;
      continue;
    }
    if (parts.first) op->reference = std::move(parts.first);
    if (parts.second.run) op->decomposition = std::move(parts.second);
  }
  early_.clear();
  for (const auto& op : ops_)
    if (may_derive(*op)) add_tile_kernel(op->schema.name, derived_kernel(*this, *op));
  for (const RegisteredKernel& registered : tile_kernels_)
    for (const auto& [family, generator] : generators_)
      add_candidate(registered.op, family, tile_candidate(registered.kernel, generator));
  for (Pending& p : pending_) {
    Op* op = mutable_op(p.op);
    if (!op) {
      wrong += "\n  candidate " + p.candidate.name + " of unknown op " + p.op;
      continue;
    }
    auto family = std::find_if(op->candidates.begin(), op->candidates.end(),
                               [&](const auto& c) { return c.kernel_family == p.kernel_family; });
    if (family == op->candidates.end()) {
      op->candidates.push_back({p.kernel_family, {}});
      family = op->candidates.end() - 1;
    }
    family->ordered.push_back(std::move(p.candidate));
    std::stable_sort(family->ordered.begin(), family->ordered.end(),
                     [](const Candidate& a, const Candidate& b) { return a.kind < b.kind; });
  }
  pending_.clear();
  for (const auto& op : ops_) {
    if (op->schema.kind == OpKind::composite && !op->decomposition.run)
      wrong += "\n  composite op " + op->schema.name + " has no decomposition";
    for (const std::string& callee : op->decomposition.calls)
      if (!find(OpName(std::string_view(callee))))
        wrong += "\n  " + op->schema.name + " decomposes into unknown op " + callee;
    // Chains must end: no op may reach itself.
    std::set<std::string> reached;
    std::vector<std::string> open(op->decomposition.calls);
    while (!open.empty()) {
      const std::string name = open.back();
      open.pop_back();
      if (name == op->schema.name) {
        wrong += "\n  " + name + " decomposes into itself";
        break;
      }
      const Op* next = find(OpName(std::string_view(name)));
      if (next && reached.insert(name).second)
        open.insert(open.end(), next->decomposition.calls.begin(), next->decomposition.calls.end());
    }
  }
  if (!wrong.empty())
    fail({.what = "operators are inconsistent:" + wrong, .where = "registry", .expected = "", .found = "", .fix = ""});
}

}  // namespace tilewright::ops
