#include "backends/host/host_graph.h"

#include <cstring>

#include "backends/host/host_copy.h"
#include "backends/host/host_memory.h"
#include "base/error.h"

namespace tilewright::backends::host {

HostGraph::HostGraph(std::shared_ptr<runtime::Graph> graph, runtime::GraphPlan plan, Executor& executor)
    : PlannedExecutable(std::move(graph), std::move(plan)), executor_(executor) {
  for (const runtime::GraphNode& captured : this->graph().nodes) {
    Node node;
    const auto address = [](const runtime::BufferArg& b) -> void* {
      return static_cast<const HostMemory*>(b.memory)->address(b.offset, b.bytes);
    };
    const runtime::Launch& launch = captured.launch;
    if (captured.kind == runtime::GraphNode::Kind::launch) {
      TW_CHECK(launch.grid <= kMaxGrid && launch.kernel->code);
      node.function = reinterpret_cast<HostFunction>(const_cast<void*>(launch.kernel->code));
      node.grid = launch.grid;
      node.ordered = launch.ordered;
      for (const runtime::BufferArg& b : launch.buffers()) node.addresses.push_back(address(b));
      node.parameters.assign(launch.parameters().begin(), launch.parameters().end());
    } else {
      const runtime::BufferArg& b = launch.buffers()[0];
      const std::size_t bytes = b.bytes;
      node.function = &copy_blocks;
      node.grid = copy_grid(bytes);
      node.addresses = {address(b), captured.host};
      if (captured.kind == runtime::GraphNode::Kind::copy_to_host) std::swap(node.addresses[0], node.addresses[1]);
      node.parameters.resize(sizeof bytes);
      std::memcpy(node.parameters.data(), &bytes, sizeof bytes);
    }
    nodes_.push_back(std::move(node));
  }
}

HostGraph::~HostGraph() {
  executor_.work_until([&] { return !running(); });
}

bool HostGraph::running() const { return stream_ && !stream_->finished(until_); }

void HostGraph::submit(StreamCore& stream) {
  for (const Node& node : nodes_) {
    Slot& slot = executor_.next_slot(stream);
    slot.kind = Slot::Kind::launch;
    slot.grid = node.grid;
    slot.ordered = node.ordered;
    slot.function = node.function;
    std::copy(node.addresses.begin(), node.addresses.end(), slot.addresses.begin());
    std::memcpy(slot.parameters.data(), node.parameters.data(), node.parameters.size());
    executor_.publish(stream, slot);
  }
  stream_ = &stream;
  until_ = stream.submitted();
}

}  // namespace tilewright::backends::host
