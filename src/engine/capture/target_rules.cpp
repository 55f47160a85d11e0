#include "engine/capture/target_rules.h"

#include <fmt/format.h>

#include <algorithm>

#include "target/description.h"

namespace tilewright::engine {
namespace {

using opgraph::Node;
using opgraph::OpGraph;
using opgraph::TensorUse;

bool is_one_of(const std::string& op, std::initializer_list<const char*> names) {
  return std::any_of(names.begin(), names.end(), [&](const char* name) { return op == name; });
}

bool any_i64(const std::vector<TensorUse>& uses) {
  return std::any_of(uses.begin(), uses.end(),
                     [](const TensorUse& use) { return use.defined() && use.dtype == DType::i64; });
}

bool sorts(const Node& node) { return is_one_of(node.op->schema.name, {"sort", "argsort", "topk"}); }

struct Rule {
  const char* name;
  bool certain;
  bool (*concerns)(const Node& node);
  const char* reason;
};

constexpr Rule kRules[] = {
    {"64-bit sort", true, [](const Node& n) { return sorts(n) && any_i64(n.inputs); },
     "64-bit integers are sorted on the host-side cores, which waits for the stream: sort 32-bit keys"},
    {"64-bit indices of an order operator", false,
     [](const Node& n) {
       return (sorts(n) || is_one_of(n.op->schema.name, {"argmax", "argmin"})) && !any_i64(n.inputs) &&
              any_i64(n.outputs);
     },
     "where the vendor's operator has no 64-bit index on the vector cores it falls back to the host-side ones: take "
     "32-bit indices"},
    {"64-bit integer arithmetic", false,
     [](const Node& n) {
       return n.op->schema.scalar && any_i64(n.outputs) && any_i64(n.inputs) && n.op->schema.name != "to";
     },
     "vector cores compute in 32 bits at most; 64-bit arithmetic may fall back to the host-side cores: keep positions "
     "and indices in i32"},
    {"data-dependent shape", true,
     [](const Node& n) {
       return is_one_of(n.op->schema.name, {"nonzero", "unique", "masked_select", "bincount"});
     },
     "the host must read the size before it can go on: route with fixed shapes"},
    {"sliding-window mask", false,
     [](const Node& n) { return n.op->schema.name == "causal_mask" && n.attributes.integer("window", 0) > 0; },
     "frameworks make windowed masks on a side stream, which must return before the end (107025): here it is made on "
     "the one stream, prebuilt"},
    {"fused attention with lengths of the host", false,
     [](const Node& n) { return n.op->schema.name == "attention" && n.fused; },
     "the vendor's fused attention takes lengths as host numbers, baked in at capture: a task update each step, or a "
     "kernel that reads the position on the device, as this one does"},
};

void note(std::vector<TargetFinding>& out, const std::string& rule, bool certain, const std::string& op,
          const std::string& path, const std::string& reason) {
  const auto known = std::find_if(out.begin(), out.end(), [&](const TargetFinding& f) { return f.rule == rule; });
  if (known != out.end())
    ++known->calls;
  else
    out.push_back({rule, certain, op, path, 1, reason});
}

// Shapes of one bucket must not hang on the position.
void find_growth(const OpGraph& step, const OpGraph& next, std::vector<TargetFinding>& out) {
  const std::string reason = "the shape differs at the next position: a replay with it is refused (507015)";
  for (std::size_t i = 0; i < std::min(step.nodes.size(), next.nodes.size()); ++i) {
    const Node &a = step.nodes[i], &b = next.nodes[i];
    for (std::size_t o = 0; o < std::min(a.outputs.size(), b.outputs.size()); ++o)
      if (a.outputs[o].shape != b.outputs[o].shape)
        note(out, "growing shape", true, a.op->schema.name, a.path,
             fmt::format("{}, then {}: {}", to_string(a.outputs[o].shape), to_string(b.outputs[o].shape), reason));
  }
  if (step.nodes.size() != next.nodes.size())
    note(out, "growing number of launches", true, "", "",
         fmt::format("{} calls, then {}: one graph cannot serve both", step.nodes.size(), next.nodes.size()));
}

}  // namespace

std::vector<TargetFinding> target_findings(const std::string& target, const OpGraph& step, const OpGraph& next_step) {
  const target::Description description = target::description(target);
  std::vector<TargetFinding> out;
  if (description.title.find("Ascend") == std::string::npos) return out;
  find_growth(step, next_step, out);
  for (const Node& node : step.nodes)
    for (const Rule& rule : kRules)
      if (rule.concerns(node)) note(out, rule.name, rule.certain, node.op->schema.name, node.path, rule.reason);
  // Norms of queries and keys are seen as what they were called as: their launches are those of any norm.
  for (const opgraph::CompositeCall& composite : step.composites)
    if (composite.op->schema.name == "qk_norm_rope")
      note(out, "q/k norm", false, composite.op->schema.name, composite.path,
           "frameworks put the norms of queries and keys on side streams, which must return before the end (107025): "
           "here they run on the one stream");
  return out;
}

}  // namespace tilewright::engine
