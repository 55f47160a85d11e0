// The processor as a device. "host" and "host:opaque": the same, but buffers cannot be read outside launches and have
// no address to export, as on a real accelerator; for tests.
#pragma once

#include <memory>
#include <string>

#include "backends/host/executor.h"
#include "runtime/caching_allocator.h"
#include "runtime/device.h"

namespace tilewright::backends::host {

class HostStream;

class HostDevice : public runtime::Device {
 public:
  HostDevice(bool opaque, const runtime::DeviceOptions& options);
  ~HostDevice() override;

  std::string name() const override { return opaque_ ? "host:opaque" : "host"; }
  std::string kernel_family() const override { return "host"; }
  int threads() const override { return executor_->threads(); }
  std::unique_ptr<runtime::Stream> create_stream() override;
  runtime::Stream& default_stream() override;
  std::unique_ptr<runtime::Event> create_event() override;
  void synchronize() override;
  runtime::MemoryRef allocate(runtime::Stream& stream, std::size_t bytes) override;
  runtime::MemoryRef import_memory(void* data, std::size_t bytes, std::function<void()> deleter) override;
  void* export_pointer(runtime::Memory& memory) override;
  std::shared_ptr<void> allocate_pinned(std::size_t bytes) override;
  runtime::MemoryStats memory_stats() const override;
  std::size_t available_bytes() const override;
  void reset_peak() override { allocator_->reset_peak(); }
  void trim() override;
  double now() override;
  const runtime::Kernel* find_kernel(std::string_view name) const override;

 protected:
  void release(runtime::Memory* memory) override;

 private:
  void* take(std::size_t bytes);
  void give_back(void* address, std::size_t bytes);
  void protect(bool readable);
  void collect_deferred();

  bool opaque_;
  std::size_t memory_limit_;
  std::atomic<std::size_t> taken_{0};
  std::atomic<std::size_t> imported_{0};
  std::mutex regions_mutex_;
  std::map<void*, std::size_t> regions_;  // what was taken from the system; for protection
  bool readable_ = true;
  std::unique_ptr<Executor> executor_;
  std::unique_ptr<runtime::CachingAllocator> allocator_;
  std::mutex deferred_mutex_;
  std::vector<runtime::Memory*> deferred_;  // freed while another stream may still use them
  std::unique_ptr<runtime::Stream> default_stream_;
};

}  // namespace tilewright::backends::host
