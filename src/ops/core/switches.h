// Which composite ops may run a kernel instead of their decomposition. Default: none.
#pragma once

#include <bitset>
#include <string>
#include <vector>

#include "ops/core/registry.h"

namespace tilewright::ops {

class Switches {
 public:
  Switches() = default;
  // "none", "all" or names of composite ops separated by commas. Throws Error naming the known ones for another name.
  static Switches parse(const Registry& registry, const std::string& list);
  bool on(const Op& op) const { return bits_[static_cast<std::size_t>(op.index)]; }
  void set(const Op& op, bool on) { bits_[static_cast<std::size_t>(op.index)] = on; }
  bool any() const { return bits_.any(); }
  std::vector<std::string> names(const Registry& registry) const;

 private:
  std::bitset<512> bits_;
};

}  // namespace tilewright::ops
