// What becomes of the calls of one pass: launches, kernels of composites, fallbacks with reasons, and per block of the
// model what was fused and what was left as small ops.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "measure/bench_result.h"
#include "ops/core/observer.h"
#include "ops/core/switches.h"

namespace tilewright::measure {

// "layers.3.self_attn.q_norm" → "layers.*.self_attn.q_norm": numbers of layers become stars.
std::string block_of(std::string_view path);

// Watches one or more passes of one context.
class PassWatch : public ops::Observer {
 public:
  // `switches`: those of the context, for the reasons of composites that are off.
  explicit PassWatch(const ops::Switches& switches) : switches_(switches) {}

  void call_begins(const ops::OpCall& call, const char* path) override;
  void call_ends(const ops::OpCall& call, const char* path) override;
  void launched(const runtime::Launch& launch) override;
  void fused(const ops::OpCall& call, std::string_view candidate) override;
  void refused(const ops::OpCall& call, std::string_view candidate, const std::string& reason) override;

  long launches() const { return launches_; }
  std::vector<KernelUse> kernels() const { return list(kernels_); }      // composites that ran one
  std::vector<KernelUse> fallbacks() const { return list(fallbacks_); }  // refusals, "decomposition" where none served
  // Composites by block: calls that were fused, or ran their decomposition (small) and why. Small ops that no composite
  // stands for are listed too, so that fused and small together are the pass. In the order in which they were met.
  std::vector<CoverageRow> coverage() const;

 private:
  struct Key {
    std::string op, candidate, reason;
    auto operator<=>(const Key&) const = default;
  };
  struct Open {
    const ops::Op* op;
    bool fused = false;
    std::string why;
  };
  static std::vector<KernelUse> list(const std::map<Key, long>& counts);
  CoverageRow& row(const std::string& block, const std::string& op);

  const ops::Switches& switches_;
  long launches_ = 0;
  std::map<Key, long> kernels_, fallbacks_;
  std::vector<Open> open_;  // calls under way, outermost first
  std::vector<CoverageRow> rows_;
  std::map<std::pair<std::string, std::string>, std::size_t> places_;
};

}  // namespace tilewright::measure
