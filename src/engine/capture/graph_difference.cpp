#include "engine/capture/graph_difference.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace tilewright::engine {
namespace {

using runtime::Graph;
using Captures = std::span<const std::shared_ptr<Graph>>;

// What was decided anew about this launch's size; empty if nothing.
std::string grown(const runtime::Launch& a, const runtime::Launch& b) {
  if (std::strcmp(a.op, b.op) != 0) return fmt::format("{}, then {}", a.op, b.op);
  if (a.kernel != b.kernel)
    return fmt::format("kernel {}, then {}", a.kernel ? a.kernel->name : "none", b.kernel ? b.kernel->name : "none");
  if (a.grid != b.grid) return fmt::format("a grid of {}, then of {}", a.grid, b.grid);
  if (a.buffers().size() != b.buffers().size())
    return fmt::format("{} buffers, then {}", a.buffers().size(), b.buffers().size());
  for (std::size_t i = 0; i < a.buffers().size(); ++i)
    if (a.buffers()[i].bytes != b.buffers()[i].bytes)
      return fmt::format("buffer {} has {} bytes, then {}", i, a.buffers()[i].bytes, b.buffers()[i].bytes);
  if (a.parameters().size() != b.parameters().size())
    return fmt::format("{} bytes of parameters, then {}", a.parameters().size(), b.parameters().size());
  return {};
}

std::byte parameter(const Graph& graph, std::size_t node, std::size_t byte) {
  return graph.nodes[node].launch.parameters()[byte];
}

bool one_value(Captures captures, std::size_t node, std::size_t byte) {
  return std::all_of(captures.begin(), captures.end(), [&](const auto& graph) {
    return parameter(*graph, node, byte) == parameter(*captures.front(), node, byte);
  });
}

}  // namespace

std::optional<GraphDifference> grown_launch(const Graph& here, const Graph& there) {
  const std::size_t both = std::min(here.nodes.size(), there.nodes.size());
  for (std::size_t i = 0; i < both; ++i)
    if (std::string what = grown(here.nodes[i].launch, there.nodes[i].launch); !what.empty())
      return GraphDifference{node_place(here, static_cast<int>(i)), std::move(what)};
  if (here.nodes.size() == there.nodes.size()) return {};
  return GraphDifference{node_place(here.nodes.size() > both ? here : there, static_cast<int>(both)),
                         fmt::format("{} launches, then {}", here.nodes.size(), there.nodes.size())};
}

std::optional<GraphDifference> baked_launch(Captures here, Captures there) {
  for (std::size_t node = 0; node < here.front()->nodes.size(); ++node)
    for (std::size_t byte = 0; byte < here.front()->nodes[node].launch.parameters().size(); ++byte)
      if (parameter(*here.front(), node, byte) != parameter(*there.front(), node, byte) &&
          one_value(here, node, byte) && one_value(there, node, byte))
        return GraphDifference{node_place(*here.front(), static_cast<int>(node)),
                               "another number passed by value at the next position"};
  return {};
}

}  // namespace tilewright::engine
