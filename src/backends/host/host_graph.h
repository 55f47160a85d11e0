// A graph of the host device that can be replayed: its nodes with their final addresses.
#pragma once

#include <cstdint>
#include <vector>

#include "backends/host/executor.h"
#include "runtime/capture/capturing_device.h"

namespace tilewright::backends::host {

class HostGraph : public runtime::PlannedExecutable {
 public:
  // All memory that the nodes use has its address.
  HostGraph(std::shared_ptr<runtime::Graph> graph, runtime::GraphPlan plan, Executor& executor);
  ~HostGraph() override;
  void submit(StreamCore& stream);

 protected:
  bool running() const override;

 private:
  struct Node {
    HostFunction function = nullptr;
    std::uint32_t grid = 1;
    bool ordered = false;
    std::vector<void*> addresses;
    std::vector<std::byte> parameters;
  };
  Executor& executor_;
  std::vector<Node> nodes_;
  StreamCore* stream_ = nullptr;  // of the last replay
  std::uint64_t until_ = 0;
};

}  // namespace tilewright::backends::host
