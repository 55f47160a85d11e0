#include <fmt/format.h>

#include <unordered_map>

#include "runtime/capture/graph.h"

namespace tilewright::runtime {
namespace {

// Names of blocks: "planned 3", and "outside 0" in the order of their first use.
class BlockNames {
 public:
  explicit BlockNames(const Graph& graph) {
    for (std::size_t i = 0; i < graph.planned.size(); ++i)
      names_[graph.planned[i].memory.get()] = "planned " + std::to_string(i);
    for (const GraphNode& node : graph.nodes)
      for (const BufferArg& buffer : node.launch.buffers())
        if (names_.try_emplace(buffer.memory, "outside " + std::to_string(outside_)).second) ++outside_;
  }
  const std::string& of(const Memory* memory) const { return names_.at(memory); }

 private:
  std::unordered_map<const Memory*, std::string> names_;
  int outside_ = 0;
};

const char* kernel_name(const GraphNode& node) { return node.launch.kernel ? node.launch.kernel->name : "copy"; }

std::vector<int> phase_of(const Graph& graph, const GraphPlan& plan) {
  std::vector<int> phase(graph.nodes.size(), -1);
  for (std::size_t p = 0; p < plan.phases.size(); ++p)
    for (const int node : plan.phases[p].nodes) phase[static_cast<std::size_t>(node)] = static_cast<int>(p);
  return phase;
}

// A text within quotes of Graphviz.
std::string quoted(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

}  // namespace

Json graph_json(const Graph& graph, const GraphPlan& plan) {
  const BlockNames names(graph);
  const std::vector<int> phase = phase_of(graph, plan);
  Json nodes = Json::array();
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const GraphNode& node = graph.nodes[n];
    Json reads = Json::array(), writes = Json::array();
    for (const BufferArg& buffer : node.launch.buffers()) {
      const Json place = {{"block", names.of(buffer.memory)}, {"offset", buffer.offset}, {"bytes", buffer.bytes}};
      if (buffer.read) reads.push_back(place);
      if (buffer.write) writes.push_back(place);
    }
    const Cost& cost = node.launch.cost;
    nodes.push_back({{"op", node.launch.op},
                     {"path", node.launch.path},
                     {"kernel", kernel_name(node)},
                     {"grid", node.launch.grid},
                     {"stream", node.stream},
                     {"phase", phase[n]},
                     {"after", node.after},
                     {"reads", std::move(reads)},
                     {"writes", std::move(writes)},
                     {"flops", cost.flops},
                     {"bytes", cost.bytes_read + cost.bytes_written}});
  }
  Json phases = Json::array();
  for (const GraphPhase& p : plan.phases) phases.push_back(p.nodes);
  Json planned = Json::array();
  for (std::size_t i = 0; i < graph.planned.size(); ++i)
    planned.push_back({{"bytes", graph.planned[i].memory->bytes()},
                       {"offset", plan.offsets[i]},
                       {"first_use", graph.planned[i].first_use},
                       {"last_use", graph.planned[i].last_use}});
  return {{"nodes", std::move(nodes)},
          {"phases", std::move(phases)},
          {"planned", std::move(planned)},
          {"arena", plan.arena_bytes},
          {"planned_bytes", plan.planned_bytes},
          {"barriers_removed", plan.barriers_removed},
          {"mode", capture_mode_name(graph.mode)}};
}

std::string graph_dot(const Graph& graph, const GraphPlan& plan) {
  std::string out = "digraph capture {\n  node [shape=box, fontname=\"sans-serif\"];\n";
  for (std::size_t p = 0; p < plan.phases.size(); ++p) {
    out += fmt::format("  subgraph cluster_{0} {{\n    label=\"phase {0}\";\n", p);
    for (const int n : plan.phases[p].nodes) {
      const GraphNode& node = graph.nodes[static_cast<std::size_t>(n)];
      out += fmt::format("    n{} [label=\"{}\\n{}\\n{} × {}, stream {}\"];\n", n, quoted(node.launch.op),
                         quoted(node.launch.path), quoted(kernel_name(node)), node.launch.grid, node.stream);
    }
    out += "  }\n";
  }
  for (std::size_t n = 0; n < graph.nodes.size(); ++n)
    for (const int before : graph.nodes[n].after) {
      const bool event = graph.nodes[static_cast<std::size_t>(before)].stream != graph.nodes[n].stream;
      out += fmt::format("  n{} -> n{}{};\n", before, n, event ? " [style=dashed]" : "");
    }
  return out + "}\n";
}

}  // namespace tilewright::runtime
