#include "backends/null/null_device.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>

#include "base/error.h"
#include "runtime/capture/capturing_stream.h"

namespace tilewright::backends::null {
namespace {

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct NullMemory : runtime::Memory {
  using Memory::Memory;
  std::function<void()> deleter;
  enum class Kind { allocated, planned, imported } kind = Kind::allocated;
  int stream = 0;                          // allocated
  runtime::CachingAllocator::Block block;  // allocated
  runtime::MemoryRef arena;                // planned
};

class NullEvent : public runtime::CapturingEvent {
 public:
  using CapturingEvent::CapturingEvent;
  void pass() { seconds_ = seconds_now(); }

 protected:
  bool do_query() override { return true; }
  void do_synchronize() override {}
  double do_seconds() override { return seconds_; }

 private:
  std::atomic<double> seconds_{0};
};

class NullGraph : public runtime::PlannedExecutable {
 public:
  using PlannedExecutable::PlannedExecutable;

 protected:
  bool running() const override { return false; }
};

class NullStream : public runtime::CapturingStream {
 public:
  explicit NullStream(NullDevice& device) : CapturingStream(device), device_(device), number_(device.take_number()) {}
  ~NullStream() override { device_.give_back_number(number_); }
  int number() const override { return number_; }
  runtime::MemoryStats memory_stats() const override { return device_.allocator().stats(number_); }
  void reset_peak() override { device_.allocator().reset_peak(number_); }

 protected:
  void do_submit(const runtime::Launch& launch) override {
    if (device_.tracing()) device_.note(launch, number_, -1);
  }
  void do_record(runtime::CapturingEvent& event) override { static_cast<NullEvent&>(event).pass(); }
  void do_wait(runtime::CapturingEvent&) override {}
  void do_copy_from_host(runtime::Memory&, std::size_t, const void*, std::size_t, runtime::HostMemory) override {}
  void do_copy_to_host(void* destination, runtime::Memory&, std::size_t, std::size_t bytes,
                       runtime::HostMemory) override {
    if (bytes) std::memset(destination, 0, bytes);
  }
  void do_synchronize() override {}
  bool do_query() override { return true; }
  void do_replay(runtime::PlannedExecutable& graph) override {
    if (!device_.tracing()) return;
    const int replay = device_.next_replay();
    for (const runtime::GraphNode& node : graph.graph().nodes) device_.note(node.launch, number_, replay);
  }

 private:
  NullDevice& device_;
  int number_;
};

}  // namespace

NullDevice::NullDevice(const runtime::DeviceOptions& options)
    : memory_limit_(options.memory_limit),
      allocator_(
          {[this](std::size_t bytes) { return take(bytes); }, [this](void*, std::size_t bytes) { taken_ -= bytes; }}),
      default_stream_(create_stream()) {}

std::unique_ptr<runtime::Stream> NullDevice::create_stream() { return std::make_unique<NullStream>(*this); }
std::unique_ptr<runtime::Event> NullDevice::create_event() { return std::make_unique<NullEvent>(*this); }

int NullDevice::take_number() {
  const std::lock_guard lock(streams_mutex_);
  if (unused_numbers_.empty()) return streams_++;
  const int number = unused_numbers_.back();
  unused_numbers_.pop_back();
  return number;
}

void NullDevice::give_back_number(int number) {
  const std::lock_guard lock(streams_mutex_);
  unused_numbers_.push_back(number);
}

void* NullDevice::take(std::size_t bytes) {
  if (memory_limit_ && taken_ + bytes > memory_limit_) return nullptr;
  taken_ += bytes;
  return reinterpret_cast<void*>(next_address_.fetch_add((bytes + 63) / 64 * 64));
}

runtime::MemoryRef NullDevice::do_allocate(runtime::CapturingStream& stream, std::size_t bytes) {
  return allocate_for(stream.number(), bytes);
}

runtime::MemoryRef NullDevice::allocate_for(int stream, std::size_t bytes) {
  auto block = allocator_.allocate(stream, bytes);
  if (!block.address) {  // give cached blocks back and try once more
    allocator_.trim();
    block = allocator_.allocate(stream, bytes);
  }
  if (!block.address)
    fail({.what = "not enough memory on the device",
          .where = name(),
          .expected = std::to_string(bytes >> 20) + " MiB for one buffer",
          .found = std::to_string((memory_limit_ - std::min(memory_limit_, taken_.load())) >> 20) + " MiB free",
          .fix = "use a smaller context, batch or dtype"});
  auto* memory = new NullMemory(*this, bytes);
  memory->stream = stream;
  memory->block = block;
  return runtime::MemoryRef(memory);
}

runtime::MemoryRef NullDevice::plan_memory(runtime::CapturingStream&, std::size_t bytes) {
  auto* memory = new NullMemory(*this, bytes);
  memory->kind = NullMemory::Kind::planned;
  return runtime::MemoryRef(memory);
}

std::unique_ptr<runtime::PlannedExecutable> NullDevice::make_executable(std::shared_ptr<runtime::Graph> graph,
                                                                        runtime::GraphPlan plan) {
  if (plan.arena_bytes != 0) {
    const runtime::MemoryRef arena = allocate_for(graph->memory_stream, plan.arena_bytes);
    for (const runtime::Graph::Planned& planned : graph->planned)
      static_cast<NullMemory*>(planned.memory.get())->arena = arena;
  }
  return std::make_unique<NullGraph>(std::move(graph), std::move(plan));
}

runtime::MemoryRef NullDevice::import_memory(void*, std::size_t bytes, std::function<void()> deleter) {
  auto* memory = new NullMemory(*this, bytes);
  memory->deleter = std::move(deleter);
  memory->kind = NullMemory::Kind::imported;
  imported_ += bytes;
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

runtime::MemoryStats NullDevice::memory_stats() const {
  runtime::MemoryStats stats = allocator_.stats();
  stats.imported = imported_;
  return stats;
}

void NullDevice::note(const runtime::Launch& launch, int stream, int replay) {
  const double now = seconds_now();
  const std::lock_guard lock(trace_mutex_);
  trace_.push_back({.op = launch.op,
                    .path = launch.path,
                    .kernel = launch.kernel ? launch.kernel->name : "copy",
                    .stream = stream,
                    .replay = replay,
                    .grid = launch.grid,
                    .cost = launch.cost,
                    .submitted = now,
                    .started = now,
                    .finished = now});
}

void NullDevice::do_start_trace() {
  const std::lock_guard lock(trace_mutex_);
  trace_.clear();
  replays_ = 0;
  tracing_ = true;
}

std::vector<runtime::TraceRecord> NullDevice::do_stop_trace() {
  tracing_ = false;
  const std::lock_guard lock(trace_mutex_);
  return std::exchange(trace_, {});
}

double NullDevice::now() { return seconds_now(); }

const runtime::Kernel* NullDevice::find_kernel(std::string_view) const {
  static const runtime::Kernel nothing{"nothing", nullptr};
  return &nothing;
}

void NullDevice::release(runtime::Memory* memory) {
  auto* block = static_cast<NullMemory*>(memory);
  if (block->kind == NullMemory::Kind::allocated) allocator_.free(block->stream, block->block);
  if (block->kind == NullMemory::Kind::imported) imported_ -= block->bytes();
  if (block->deleter) block->deleter();
  delete block;
}

}  // namespace tilewright::backends::null
