// What a capture recorded: nodes in the order of submission with the orders between them, and what can be run of it.
#pragma once

#include <atomic>
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

// Memory that was allocated while capturing has no address until the graph is instantiated. Blocks from outside are not
// owned: they stay the user's, who may free them. Then the graph keeps the block, so that no address dangles, and
// remembers which node needed it.
class Graph {
 public:
  Graph();
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  std::vector<GraphNode> nodes;
  // Allocated on capturing streams, in that order; kept by the graph. `last_use`: the node after which nothing refers
  // to it any more but the graph (so its place may be given to others), or -1 if somebody still holds it at the end.
  // Blocks that no node uses and nobody holds have first_use -1 and another last_use.
  struct Planned {
    MemoryRef memory;
    int first_use = -1, last_use = -1;
  };
  std::vector<Planned> planned;
  CaptureMode mode = CaptureMode::global;
  int memory_stream = 0;  // number of the stream that began: its memory statistics count the arena

  // Watches a block from outside, first used by `node`. Once per block.
  void use_outside(Memory& memory, int node);
  // The node that first uses a block which its owner has freed; -1: none was freed. One load.
  int freed_use() const { return freed_use_.load(std::memory_order_acquire); }
  // True the first time it is called.
  bool claim_instantiation() { return !instantiated_.exchange(true); }
  void give_up_instantiation() { instantiated_ = false; }  // it has failed, and may be tried again

 private:
  class Outside;
  std::vector<std::unique_ptr<Outside>> outside_;
  std::atomic<int> freed_use_{-1};
  std::atomic<bool> instantiated_{false};
};

// "layers.0.self_attn, bmm, launch 12" for errors; `node` -1: "before the first launch".
std::string node_place(const Graph& graph, int node);

// What the graph is promised at each replay. A replay is given the tensors it was captured with; others are refused
// with 507015, which is how a grown shape or a moved buffer shows before it can do harm.
struct Binding {
  std::string name;  // "token", "position", "layers.0.key"
  Tensor tensor;
};

// Throws Error 507015 naming the binding unless `given` is what is `required`, in any order.
void check_bindings(std::span<const Binding> required, std::span<const Binding> given);

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
// From the nodes' buffers (what is read and written) and the order that events put between streams; the order within a
// stream is kept only where data demands it. Two nodes of one phase share no place that one of them writes, in the
// arena too. Foreign memory that was imported twice counts as two blocks.
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
