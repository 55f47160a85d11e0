// What is kept of a chain that was found: enough to know it again by op, path and how its calls hang together. Extents
// are not part of it: one template serves prefill and single tokens.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "ops/core/registry.h"

namespace tilewright::opgraph {

struct ChainStep {
  const ops::Op* op = nullptr;
  std::string path;  // as path_form gives it
  ops::Attributes attributes;
  // Where each input comes from: >= 0: the result of that step; below: input number -1 - value of the chain (numbered
  // as they are first read); kAbsent: not given.
  std::vector<int> inputs;
  DType dtype = DType::f32;  // of the result
  bool output = false;       // the result is used outside
  static constexpr int kAbsent = -1000;
};

struct ChainTemplate {
  std::vector<ChainStep> steps;
  // The first result has at least as many elements where the chain is used; not part of what two templates are compared
  // by.
  std::int64_t least_elements = 0;
};

inline constexpr std::size_t kMaxChainSteps = 64;

// A module path with numbers left open: "layers.3.mlp" gives "layers.*.mlp".
std::string path_form(const std::string& path);
bool same_attributes(const ops::Attributes& a, const ops::Attributes& b);
bool operator==(const ChainTemplate& a, const ChainTemplate& b);
// "to · pow · mean · add · rsqrt · mul"
std::string ops_text(const ChainTemplate& chain);

Json to_json(const ChainTemplate& chain);
// Throws Error naming `where` for anything that is not a template of known small ops.
ChainTemplate chain_from_json(const Json& json, const ops::Registry& registry, const std::string& where);

}  // namespace tilewright::opgraph
