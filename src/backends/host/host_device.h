// The processor as a device. "host" and "host:opaque": the same, but buffers cannot be read outside launches and have
// no address to export, as on a real accelerator; for tests.
#pragma once

#include <memory>
#include <string>

#include "backends/host/executor.h"
#include "backends/host/host_pages.h"
#include "runtime/caching_allocator.h"
#include "runtime/capture/capturing_device.h"

namespace tilewright::backends::host {

class HostDevice : public runtime::CapturingDevice {
 public:
  HostDevice(bool opaque, const runtime::DeviceOptions& options);
  ~HostDevice() override;

  std::string name() const override { return opaque_ ? "host:opaque" : "host"; }
  std::string kernel_family() const override { return "host"; }
  int threads() const override { return executor_->threads(); }
  std::unique_ptr<runtime::Stream> create_stream() override;
  runtime::Stream& default_stream() override;
  std::unique_ptr<runtime::Event> create_event() override;
  runtime::MemoryRef import_memory(void* data, std::size_t bytes, std::function<void()> deleter) override;
  void* export_pointer(runtime::Memory& memory) override;
  std::shared_ptr<void> allocate_pinned(std::size_t bytes) override;
  runtime::MemoryStats memory_stats() const override;
  std::size_t available_bytes() const override { return pages_.available(); }
  void reset_peak() override { allocator_->reset_peak(); }
  double now() override;
  const runtime::Kernel* find_kernel(std::string_view name) const override;

  runtime::CachingAllocator& allocator() { return *allocator_; }
  void know_core(StreamCore& core);  // by its number, for arenas

 protected:
  runtime::MemoryRef do_allocate(runtime::CapturingStream& stream, std::size_t bytes) override;
  runtime::MemoryRef plan_memory(runtime::CapturingStream& stream, std::size_t bytes) override;
  void do_synchronize() override;
  void do_trim() override;
  std::unique_ptr<runtime::PlannedExecutable> make_executable(std::shared_ptr<runtime::Graph> graph,
                                                              runtime::GraphPlan plan) override;
  void do_start_trace() override { executor_->start_trace(); }
  std::vector<runtime::TraceRecord> do_stop_trace() override { return executor_->stop_trace(); }
  void release(runtime::Memory* memory) override;

 private:
  runtime::MemoryRef allocate_for(StreamCore& core, std::size_t bytes);
  void collect_deferred();

  bool opaque_;
  HostPages pages_;
  std::atomic<std::size_t> imported_{0};
  std::mutex cores_mutex_;
  std::map<int, StreamCore*> cores_;
  std::unique_ptr<Executor> executor_;
  std::unique_ptr<runtime::CachingAllocator> allocator_;
  std::mutex deferred_mutex_;
  std::vector<runtime::Memory*> deferred_;  // freed while another stream may still use them
  std::unique_ptr<runtime::Stream> default_stream_;
};

}  // namespace tilewright::backends::host
