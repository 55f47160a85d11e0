// A device that can capture: the part of Device that depends on captures, once for all backends.
#pragma once

#include "runtime/capture/capture.h"
#include "runtime/device.h"

namespace tilewright::runtime {

class CapturingDevice;
class CapturingStream;

// What instantiate makes. A backend adds its program. Its destructor waits for replays that are under way.
class PlannedExecutable : public ExecutableGraph {
 public:
  PlannedExecutable(std::shared_ptr<Graph> graph, GraphPlan plan) : graph_(std::move(graph)), plan_(std::move(plan)) {}
  const Graph& graph() const final { return *graph_; }
  const GraphPlan& plan() const final { return plan_; }

 protected:
  virtual bool running() const = 0;  // a replay that was submitted has not finished

 private:
  friend class CapturingStream;
  friend class CapturingDevice;
  const CapturingDevice* device_ = nullptr;  // that made it
  std::shared_ptr<Graph> graph_;
  GraphPlan plan_;
  std::mutex mutex_;                // replays from several threads
  const Stream* stream_ = nullptr;  // of the last replay
};

class CapturingDevice : public Device {
 public:
  MemoryRef allocate(Stream& stream, std::size_t bytes) final;
  void synchronize() final;
  void trim() final;
  std::unique_ptr<ExecutableGraph> instantiate(std::shared_ptr<Graph> graph) final;
  void start_trace() final;
  std::vector<TraceRecord> stop_trace() final;

 protected:
  virtual MemoryRef do_allocate(CapturingStream& stream, std::size_t bytes) = 0;
  // A block without an address.
  virtual MemoryRef plan_memory(CapturingStream& stream, std::size_t bytes) = 0;
  virtual void do_synchronize() = 0;
  virtual void do_trim() = 0;
  // Gives planned memory its addresses in an arena, and makes what do_replay needs.
  virtual std::unique_ptr<PlannedExecutable> make_executable(std::shared_ptr<Graph> graph, GraphPlan plan) = 0;
  virtual void do_start_trace() { Device::start_trace(); }
  virtual std::vector<TraceRecord> do_stop_trace() { return Device::stop_trace(); }

 private:
  friend class CapturingStream;
  friend class CapturingEvent;
  void require_no_capture(const char* what);
  Captures captures_;
};

}  // namespace tilewright::runtime
