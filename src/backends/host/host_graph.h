// A graph of the host device that can be replayed: its nodes with their final addresses.
#pragma once

#include <memory>

#include "backends/host/executor.h"
#include "runtime/capture/capturing_device.h"

namespace tilewright::backends::host {

class HostGraph : public runtime::PlannedExecutable {
 public:
  // All memory that the nodes use has its address; throws Error if some has none.
  HostGraph(std::shared_ptr<runtime::Graph> graph, runtime::GraphPlan plan, Executor& executor);
  ~HostGraph() override;
  void submit(StreamCore& stream) { executor_.publish_graph(stream, program_); }

 protected:
  bool running() const override { return program_->running(); }

 private:
  Executor& executor_;
  std::shared_ptr<GraphProgram> program_;
};

}  // namespace tilewright::backends::host
