#include "backends/null/null_device.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>

#include "base/error.h"

namespace tilewright::backends::null {
namespace {

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct NullMemory : runtime::Memory {
  using Memory::Memory;
  std::function<void()> deleter;
  bool imported = false;
};

class NullEvent : public runtime::Event {
 public:
  bool query() override { return true; }
  void synchronize() override {}
  double seconds() override { return seconds_; }
  void record() { seconds_ = seconds_now(); }

 private:
  double seconds_ = 0;
};

class NullStream : public runtime::Stream {
 public:
  explicit NullStream(NullDevice& device) : device_(device) {}
  runtime::Device& device() const override { return device_; }
  void submit(const runtime::Launch&) override {}
  void record(runtime::Event& event) override { static_cast<NullEvent&>(event).record(); }
  void wait(runtime::Event&) override {}
  void copy_from_host(runtime::Memory&, std::size_t, const void*, std::size_t, runtime::HostMemory) override {}
  void copy_to_host(void* destination, runtime::Memory&, std::size_t, std::size_t bytes, runtime::HostMemory) override {
    if (bytes) std::memset(destination, 0, bytes);
  }
  void synchronize() override {}
  bool query() override { return true; }

 private:
  NullDevice& device_;
};

}  // namespace

NullDevice::NullDevice(const runtime::DeviceOptions& options)
    : memory_limit_(options.memory_limit), default_stream_(std::make_unique<NullStream>(*this)) {}

std::unique_ptr<runtime::Stream> NullDevice::create_stream() { return std::make_unique<NullStream>(*this); }
std::unique_ptr<runtime::Event> NullDevice::create_event() { return std::make_unique<NullEvent>(); }

runtime::MemoryRef NullDevice::allocate(runtime::Stream&, std::size_t bytes) {
  if (memory_limit_ && stats_.allocated + bytes > memory_limit_)
    fail({.what = "not enough memory on the device",
          .where = name(),
          .expected = std::to_string(bytes >> 20) + " MiB for one buffer",
          .found = std::to_string((memory_limit_ - stats_.allocated) >> 20) + " MiB free",
          .fix = "use a smaller context, batch or dtype"});
  stats_.allocated += bytes;
  stats_.peak = std::max(stats_.peak, stats_.allocated);
  stats_.reserved = std::max(stats_.reserved, stats_.allocated);
  return runtime::MemoryRef(new NullMemory(*this, bytes));
}

runtime::MemoryRef NullDevice::import_memory(void*, std::size_t bytes, std::function<void()> deleter) {
  auto* memory = new NullMemory(*this, bytes);
  memory->deleter = std::move(deleter);
  memory->imported = true;
  stats_.imported += bytes;
  return runtime::MemoryRef(memory);
}

void* NullDevice::export_pointer(runtime::Memory&) {
  fail({.what = "buffers of this device have no address",
        .where = name(),
        .expected = "",
        .found = "export_pointer",
        .fix = ""});
}

std::shared_ptr<void> NullDevice::allocate_pinned(std::size_t bytes) {
  return {std::calloc(1, std::max<std::size_t>(1, bytes)), std::free};
}

double NullDevice::now() { return seconds_now(); }

const runtime::Kernel* NullDevice::find_kernel(std::string_view) const {
  static const runtime::Kernel nothing{"nothing", nullptr};
  return &nothing;
}

void NullDevice::release(runtime::Memory* memory) {
  auto* block = static_cast<NullMemory*>(memory);
  (block->imported ? stats_.imported : stats_.allocated) -= block->bytes();
  if (block->deleter) block->deleter();
  delete block;
}

}  // namespace tilewright::backends::null
