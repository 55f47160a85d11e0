// What a capture recorded: nodes in the order of submission with the orders between them, and what can be run of it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "runtime/capture/mode.h"
#include "runtime/launch.h"
#include "runtime/memory.h"
#include "runtime/tensor.h"

namespace tilewright::runtime {

struct GraphNode {
  enum class Kind : std::uint8_t { launch, copy_from_host, copy_to_host };
  Kind kind = Kind::launch;
  Launch launch;           // copies: one buffer, the device's side
  void* host = nullptr;    // copies: pinned host memory, which the user keeps
  int stream = 0;          // 0: the one that began; side streams in order of their joining
  std::vector<int> after;  // nodes that stream order and events put directly before this one
};

// Memory that was allocated while capturing has no address until the graph is instantiated.
class Graph {
 public:
  std::vector<GraphNode> nodes;
  // Allocated on capturing streams, in that order; kept by the graph. `last_use`: the node after which nothing refers
  // to it any more but the graph (so its place may be given to others), or -1 if somebody still holds it at the end.
  struct Planned {
    MemoryRef memory;
    int first_use = -1, last_use = -1;
  };
  std::vector<Planned> planned;
  CaptureMode mode = CaptureMode::global;
};

// What the graph is promised at each replay. A replay is given the tensors it was captured with; others are refused
// with 507015, which is how a grown shape or a moved buffer shows before it can do harm.
struct Binding {
  std::string name;  // "token", "position", "layers.0.key"
  Tensor tensor;
};

// A barrier-separated group of nodes that do not depend on each other.
struct GraphPhase {
  std::vector<int> nodes;
};

// How a graph will run: phases in order, and the places of planned memory in one arena.
struct GraphPlan {
  std::vector<GraphPhase> phases;
  std::vector<std::uint64_t> offsets;  // of Graph::planned, bytes in the arena
  std::uint64_t arena_bytes = 0;
  std::uint64_t planned_bytes = 0;  // what they would take side by side
  long barriers_removed = 0;        // against one after each node
};
// From the nodes' buffers (what is read and written), not from the order of submission alone. Two nodes of one phase
// share no place that one of them writes, in the arena too.
GraphPlan plan_graph(const Graph& graph);

// A graph that can be replayed. Keeps alive what it touches. Destroying it waits for a replay that is under way.
class ExecutableGraph {
 public:
  virtual ~ExecutableGraph() = default;
  virtual const Graph& graph() const = 0;
  virtual const GraphPlan& plan() const = 0;
  // Tensors that each replay must bring along, by name.
  void require(std::vector<Binding> bindings) { required_ = std::move(bindings); }
  const std::vector<Binding>& required() const { return required_; }

 private:
  std::vector<Binding> required_;
};

// Nodes {op, path, kernel, grid, stream, phase, reads, writes, flops, bytes}, phases, arena.
Json graph_json(const Graph& graph, const GraphPlan& plan);
// The same for Graphviz: one cluster per phase.
std::string graph_dot(const Graph& graph, const GraphPlan& plan);

}  // namespace tilewright::runtime
