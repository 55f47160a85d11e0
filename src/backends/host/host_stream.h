// Streams and events of the host device.
#pragma once

#include <memory>

#include "backends/host/executor.h"
#include "runtime/capture/capturing_stream.h"

namespace tilewright::backends::host {

class HostDevice;

class HostEvent : public runtime::CapturingEvent {
 public:
  HostEvent(HostDevice& device, Executor& executor);
  const std::shared_ptr<EventCore>& core() const { return core_; }

 protected:
  bool do_query() override;
  void do_synchronize() override;
  double do_seconds() override;

 private:
  bool passed() const {
    return core_->passed.load(std::memory_order_acquire) >= core_->recorded.load(std::memory_order_acquire);
  }
  Executor& executor_;
  std::shared_ptr<EventCore> core_;
};

class HostStream : public runtime::CapturingStream {
 public:
  HostStream(HostDevice& device, Executor& executor);
  ~HostStream() override { executor_.destroy_stream(core_); }
  StreamCore& core() { return core_; }
  int number() const override { return core_.number(); }
  runtime::MemoryStats memory_stats() const override;
  void reset_peak() override;

 protected:
  void do_submit(const runtime::Launch& launch) override;
  void do_record(runtime::CapturingEvent& event) override;
  void do_wait(runtime::CapturingEvent& event) override;
  void do_copy_from_host(runtime::Memory& destination, std::size_t offset, const void* source, std::size_t bytes,
                         runtime::HostMemory kind) override;
  void do_copy_to_host(void* destination, runtime::Memory& source, std::size_t offset, std::size_t bytes,
                       runtime::HostMemory kind) override;
  void do_synchronize() override;
  bool do_query() override;
  void do_replay(runtime::PlannedExecutable& graph) override;

 private:
  void* address(runtime::Memory& memory, std::uint64_t offset, std::uint64_t bytes);
  void enqueue(Slot::Kind kind, const std::shared_ptr<EventCore>& event, std::uint64_t generation);
  void copy(const char* op, void* to, const void* from, std::size_t bytes);

  HostDevice& device_;
  Executor& executor_;
  StreamCore& core_;
};

}  // namespace tilewright::backends::host
