// One way to run the same forward pass: which kernels, and how launches are submitted.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "engine/runner.h"

namespace tilewright::measure {

struct Arm {
  bool fused = false, graph = false;
  std::string name() const;  // "eager", "graph", "fused", "fused+graph"
  engine::Submission submission() const { return graph ? engine::Submission::graph : engine::Submission::eager; }
  // The same kernels, launch by launch.
  Arm ungraphed() const { return {fused, false}; }
  friend bool operator==(const Arm&, const Arm&) = default;
};

// In the order given ("graph+fused" is fused+graph). Throws Error for an unknown one, one named twice, and for none.
std::vector<Arm> parse_arms(std::span<const std::string> names);

// What an arm switches on: fused arms `fuse`, or all composites if that is "none" or empty; the others nothing.
std::string fuse_list(const Arm& arm, const std::string& fuse);

}  // namespace tilewright::measure
