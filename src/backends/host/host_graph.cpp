#include "backends/host/host_graph.h"

#include <cstring>

#include "backends/host/host_copy.h"
#include "backends/host/host_memory.h"
#include "base/error.h"

namespace tilewright::backends::host {
namespace {

void* address(const runtime::BufferArg& buffer) {
  return static_cast<const HostMemory*>(buffer.memory)->address(buffer.offset, buffer.bytes);
}

GraphProgram::Node program_node(const runtime::GraphNode& captured) {
  const runtime::Launch& launch = captured.launch;
  GraphProgram::Node node;
  node.op = launch.op;
  node.path = launch.path;
  node.cost = launch.cost;
  if (captured.kind == runtime::GraphNode::Kind::launch) {
    TW_CHECK(launch.grid <= kMaxGrid && launch.kernel->code);
    node.function = reinterpret_cast<HostFunction>(const_cast<void*>(launch.kernel->code));
    node.kernel = launch.kernel->name;
    node.grid = launch.grid;
    node.ordered = launch.ordered;
    for (const runtime::BufferArg& buffer : launch.buffers()) node.addresses.push_back(address(buffer));
    node.parameters.assign(launch.parameters().begin(), launch.parameters().end());
    return node;
  }
  const runtime::BufferArg& buffer = launch.buffers()[0];
  const std::size_t bytes = buffer.bytes;
  TW_CHECK(bytes <= std::size_t{kMaxGrid} * kCopyBlock);
  node.function = &copy_blocks;
  node.kernel = "copy";
  node.grid = copy_grid(bytes);
  node.addresses = {address(buffer), captured.host};
  if (captured.kind == runtime::GraphNode::Kind::copy_to_host) std::swap(node.addresses[0], node.addresses[1]);
  node.parameters.resize(sizeof bytes);
  std::memcpy(node.parameters.data(), &bytes, sizeof bytes);
  return node;
}

std::shared_ptr<GraphProgram> make_program(const runtime::Graph& graph, const runtime::GraphPlan& plan, int threads) {
  std::vector<GraphProgram::Node> nodes;
  for (const runtime::GraphNode& node : graph.nodes) nodes.push_back(program_node(node));
  std::vector<std::vector<int>> phases;
  for (const runtime::GraphPhase& phase : plan.phases) phases.push_back(phase.nodes);
  return std::make_shared<GraphProgram>(std::move(nodes), std::move(phases), threads);
}

}  // namespace

HostGraph::HostGraph(std::shared_ptr<runtime::Graph> graph, runtime::GraphPlan plan, Executor& executor)
    : PlannedExecutable(std::move(graph), std::move(plan)),
      executor_(executor),
      program_(make_program(this->graph(), this->plan(), executor.threads())) {}

HostGraph::~HostGraph() {
  executor_.work_until([&] { return !running(); });
}

}  // namespace tilewright::backends::host
