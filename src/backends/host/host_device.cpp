#include "backends/host/host_device.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "backends/host/cts_kernels.h"
#include "backends/host/host_graph.h"
#include "backends/host/host_memory.h"
#include "backends/host/host_stream.h"
#include "base/cpu.h"
#include "base/error.h"

namespace tilewright::backends::host {
namespace {

std::string mebibytes(std::size_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

}  // namespace

HostDevice::HostDevice(bool opaque, const runtime::DeviceOptions& options)
    : opaque_(opaque), pages_(options.memory_limit) {
  active_isa();  // a wish that this processor cannot fulfil is an error here, not within a launch that never ends
  const int threads = options.threads > 0 ? options.threads : cpu_info().logical_cpus;
  std::function<void()> busy, idle;
  if (opaque_) {
    busy = [this] { pages_.protect(true); };
    idle = [this] { pages_.protect(false); };
  }
  executor_ = std::make_unique<Executor>(*this, threads, busy, idle);
  allocator_ = std::make_unique<runtime::CachingAllocator>(runtime::CachingAllocator::Source{
      [this](std::size_t bytes) { return pages_.take(bytes); },
      [this](void* address, std::size_t bytes) { pages_.give_back(address, bytes); }});
  default_stream_ = std::make_unique<HostStream>(*this, *executor_);
}

HostDevice::~HostDevice() {
  default_stream_.reset();
  collect_deferred();
  allocator_.reset();
  executor_.reset();
}

std::unique_ptr<runtime::Stream> HostDevice::create_stream() { return std::make_unique<HostStream>(*this, *executor_); }
runtime::Stream& HostDevice::default_stream() { return *default_stream_; }
std::unique_ptr<runtime::Event> HostDevice::create_event() { return std::make_unique<HostEvent>(*this, *executor_); }

void HostDevice::know_core(StreamCore& core) {
  const std::lock_guard lock(cores_mutex_);
  cores_[core.number()] = &core;
}

void HostDevice::do_synchronize() {
  executor_->finish_all();
  executor_->raise_fault();
}

runtime::MemoryRef HostDevice::do_allocate(runtime::CapturingStream& stream, std::size_t bytes) {
  return allocate_for(static_cast<HostStream&>(stream).core(), bytes);
}

runtime::MemoryRef HostDevice::allocate_for(StreamCore& core, std::size_t bytes) {
  collect_deferred();
  auto block = allocator_->allocate(core.number(), bytes);
  if (!block.address) {  // give cached blocks back and try once more
    do_trim();
    block = allocator_->allocate(core.number(), bytes);
  }
  if (!block.address) {
    fail({.what = "not enough memory on the device",
          .where = name(),
          .expected = mebibytes(bytes) + " for one buffer",
          .found = mebibytes(available_bytes()) + " free",
          .fix = "use a shorter prompt, a smaller context (--ctx) or dtype, or free memory"});
  }
  return runtime::MemoryRef(new HostMemory(*this, bytes, block, &core));
}

runtime::MemoryRef HostDevice::plan_memory(runtime::CapturingStream& stream, std::size_t bytes) {
  auto memory = std::make_unique<HostMemory>(*this, bytes, runtime::CachingAllocator::Block{},
                                             &static_cast<HostStream&>(stream).core());
  memory->planned = true;
  return runtime::MemoryRef(memory.release());
}

std::unique_ptr<runtime::PlannedExecutable> HostDevice::make_executable(std::shared_ptr<runtime::Graph> graph,
                                                                        runtime::GraphPlan plan) {
  StreamCore* core = nullptr;
  {
    const std::lock_guard lock(cores_mutex_);
    core = cores_.at(graph->memory_stream);
  }
  if (plan.arena_bytes != 0) {
    const runtime::MemoryRef arena = allocate_for(*core, plan.arena_bytes);
    auto* base = static_cast<std::byte*>(static_cast<HostMemory*>(arena.get())->block.address);
    for (std::size_t i = 0; i < graph->planned.size(); ++i) {
      auto& memory = *static_cast<HostMemory*>(graph->planned[i].memory.get());
      memory.block = {base + plan.offsets[i], memory.bytes()};
      memory.arena = arena;
      memory.owner = core;  // as the arena's: what other streams do with it is noticed
    }
  }
  return std::make_unique<HostGraph>(std::move(graph), std::move(plan), *executor_);
}

runtime::MemoryRef HostDevice::import_memory(void* data, std::size_t bytes, std::function<void()> deleter) {
  auto memory = std::make_unique<HostMemory>(*this, bytes, runtime::CachingAllocator::Block{data, bytes}, nullptr);
  memory->deleter = std::move(deleter);
  imported_ += bytes;
  return runtime::MemoryRef(memory.release());
}

void* HostDevice::export_pointer(runtime::Memory& memory) {
  if (opaque_)
    fail({.what = "buffers of this device have no address",
          .where = name(),
          .expected = "copy_to_host",
          .found = "export_pointer",
          .fix = ""});
  return static_cast<HostMemory&>(memory).block.address;
}

std::shared_ptr<void> HostDevice::allocate_pinned(std::size_t bytes) {
  void* data = std::aligned_alloc(64, (bytes + 63) / 64 * 64 + 64);
  if (!data)
    fail({.what = "not enough memory for a pinned buffer",
          .where = name(),
          .expected = mebibytes(bytes),
          .found = "",
          .fix = ""});
  return {data, std::free};
}

void HostDevice::release(runtime::Memory* memory) {
  auto* block = static_cast<HostMemory*>(memory);
  if (block->several_others && block->free_after.empty()) block->free_after = executor_->points();
  if (block->in_use_elsewhere()) {
    const std::lock_guard lock(deferred_mutex_);
    deferred_.push_back(memory);
    return;
  }
  if (!block->owner) {
    imported_ -= block->bytes();
    if (block->deleter) block->deleter();
  } else if (!block->planned) {
    allocator_->free(block->owner->number(), block->block);
  }
  delete block;  // planned memory: the arena goes with the last of its blocks
}

void HostDevice::collect_deferred() {
  std::vector<runtime::Memory*> ready;
  {
    const std::lock_guard lock(deferred_mutex_);
    if (deferred_.empty()) return;
    const auto end = std::partition(deferred_.begin(), deferred_.end(),
                                    [](runtime::Memory* m) { return static_cast<HostMemory*>(m)->in_use_elsewhere(); });
    ready.assign(end, deferred_.end());
    deferred_.erase(end, deferred_.end());
  }
  for (runtime::Memory* m : ready) release(m);
}

runtime::MemoryStats HostDevice::memory_stats() const {
  runtime::MemoryStats stats = allocator_->stats();
  stats.imported = imported_.load();
  return stats;
}

void HostDevice::do_trim() {
  executor_->finish_all();
  collect_deferred();
  allocator_->trim();
}

double HostDevice::now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

const runtime::Kernel* HostDevice::find_kernel(std::string_view name) const { return find_cts_kernel(name); }

}  // namespace tilewright::backends::host
