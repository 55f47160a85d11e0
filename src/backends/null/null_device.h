// A device that accepts every launch and computes nothing: the cost of issuing work, and the skeleton of a new backend.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "runtime/device.h"

namespace tilewright::backends::null {

class NullDevice : public runtime::Device {
 public:
  explicit NullDevice(const runtime::DeviceOptions& options);
  std::string name() const override { return "null"; }
  std::string kernel_family() const override { return "null"; }
  bool computes() const override { return false; }
  std::unique_ptr<runtime::Stream> create_stream() override;
  runtime::Stream& default_stream() override { return *default_stream_; }
  std::unique_ptr<runtime::Event> create_event() override;
  void synchronize() override {}
  runtime::MemoryRef allocate(runtime::Stream& stream, std::size_t bytes) override;
  runtime::MemoryRef import_memory(void* data, std::size_t bytes, std::function<void()> deleter) override;
  void* export_pointer(runtime::Memory& memory) override;
  std::shared_ptr<void> allocate_pinned(std::size_t bytes) override;
  runtime::MemoryStats memory_stats() const override { return stats_; }
  void reset_peak() override { stats_.peak = stats_.allocated; }
  void trim() override { stats_.reserved = stats_.allocated; }
  double now() override;
  const runtime::Kernel* find_kernel(std::string_view name) const override;

 protected:
  void release(runtime::Memory* memory) override;

 private:
  std::size_t memory_limit_;
  runtime::MemoryStats stats_;
  std::unique_ptr<runtime::Stream> default_stream_;
};

}  // namespace tilewright::backends::null
