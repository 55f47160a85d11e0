// A device that accepts every launch and computes nothing: the cost of issuing work, and the skeleton of a new backend.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/caching_allocator.h"
#include "runtime/capture/capturing_device.h"

namespace tilewright::backends::null {

class NullDevice : public runtime::CapturingDevice {
 public:
  explicit NullDevice(const runtime::DeviceOptions& options);
  std::string name() const override { return "null"; }
  std::string kernel_family() const override { return "null"; }
  bool computes() const override { return false; }
  std::unique_ptr<runtime::Stream> create_stream() override;
  runtime::Stream& default_stream() override { return *default_stream_; }
  std::unique_ptr<runtime::Event> create_event() override;
  runtime::MemoryRef import_memory(void* data, std::size_t bytes, std::function<void()> deleter) override;
  void* export_pointer(runtime::Memory& memory) override;
  std::shared_ptr<void> allocate_pinned(std::size_t bytes) override;
  runtime::MemoryStats memory_stats() const override;
  void reset_peak() override { allocator_.reset_peak(); }
  double now() override;
  const runtime::Kernel* find_kernel(std::string_view name) const override;
  runtime::CachingAllocator& allocator() { return allocator_; }
  void note(const runtime::Launch& launch, int stream, int replay);  // for the trace, if there is one
  bool tracing() const { return tracing_.load(std::memory_order_relaxed); }
  int next_replay() { return replays_++; }
  int take_number();
  void give_back_number(int number);

 protected:
  runtime::MemoryRef do_allocate(runtime::CapturingStream& stream, std::size_t bytes) override;
  runtime::MemoryRef plan_memory(runtime::CapturingStream& stream, std::size_t bytes) override;
  void do_synchronize() override {}
  void do_trim() override { allocator_.trim(); }
  void do_start_trace() override;
  std::vector<runtime::TraceRecord> do_stop_trace() override;
  std::unique_ptr<runtime::PlannedExecutable> make_executable(std::shared_ptr<runtime::Graph> graph,
                                                              runtime::GraphPlan plan) override;
  void release(runtime::Memory* memory) override;

 private:
  runtime::MemoryRef allocate_for(int stream, std::size_t bytes);
  void* take(std::size_t bytes);

  std::size_t memory_limit_;
  // Addresses that nothing lies behind: only the counting is real.
  std::atomic<std::uintptr_t> next_address_{std::uintptr_t{1} << 40};
  std::atomic<std::size_t> taken_{0};
  std::atomic<std::size_t> imported_{0};
  std::mutex streams_mutex_;
  std::vector<int> unused_numbers_;  // of streams that were destroyed: their cached blocks are used again
  int streams_ = 0;
  std::atomic<bool> tracing_{false};
  std::atomic<int> replays_{0};  // within the trace
  std::mutex trace_mutex_;
  std::vector<runtime::TraceRecord> trace_;
  runtime::CachingAllocator allocator_;
  std::unique_ptr<runtime::Stream> default_stream_;
};

}  // namespace tilewright::backends::null
