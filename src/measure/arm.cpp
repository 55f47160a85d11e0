#include "measure/arm.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/nearest.h"

namespace tilewright::measure {
namespace {

const std::vector<std::string>& known() {
  static const std::vector<std::string> kNames = {"eager", "graph", "fused", "fused+graph"};
  return kNames;
}

Arm parse(const std::string& name) {
  for (const Arm& arm : {Arm{false, false}, Arm{false, true}, Arm{true, false}, Arm{true, true}})
    if (name == arm.name()) return arm;
  if (name == "graph+fused") return {true, true};
  const std::string near = nearest(name, known());
  fail({.what = "no such arm",
        .where = "--arms",
        .expected = "eager, graph, fused, fused+graph, separated by commas",
        .found = "\"" + name + "\"",
        .fix = near.empty() ? "" : fmt::format("did you mean \"{}\"?", near)});
}

}  // namespace

std::string Arm::name() const {
  if (!fused) return graph ? "graph" : "eager";
  return graph ? "fused+graph" : "fused";
}

std::vector<Arm> parse_arms(std::span<const std::string> names) {
  std::vector<Arm> out;
  for (const std::string& name : names) {
    const Arm arm = parse(name);
    if (std::find(out.begin(), out.end(), arm) != out.end())
      fail({.what = "an arm is named twice",
            .where = "--arms",
            .expected = "each arm once",
            .found = arm.name() + " again",
            .fix = "name it once; --iters says how often each is timed"});
    out.push_back(arm);
  }
  if (out.empty())
    fail({.what = "there is no arm to measure",
          .where = "--arms",
          .expected = "eager, graph, fused, fused+graph, separated by commas",
          .found = "none",
          .fix = ""});
  return out;
}

std::string fuse_list(const Arm& arm, const std::string& fuse) {
  if (!arm.fused) return "none";
  return fuse.empty() || fuse == "none" ? "all" : fuse;
}

}  // namespace tilewright::measure
