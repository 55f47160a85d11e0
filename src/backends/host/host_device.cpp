#include "backends/host/host_device.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "backends/host/cts_kernels.h"
#include "base/cpu.h"
#include "base/error.h"

namespace tilewright::backends::host {
namespace {

constexpr std::size_t kPage = std::size_t{2} << 20;
constexpr std::size_t kCopyBlock = std::size_t{1} << 20;

struct HostMemory : runtime::Memory {
  HostMemory(HostDevice& device, std::size_t bytes, runtime::CachingAllocator::Block block_in, StreamCore* owner_in)
      : Memory(device, bytes), block(block_in), owner(owner_in) {}
  runtime::CachingAllocator::Block block;
  StreamCore* owner;              // whose cache the block goes back to; null: imported
  std::function<void()> deleter;  // imported memory
  // The last use by another stream than the owner's.
  std::atomic<StreamCore*> other_stream{nullptr};
  std::atomic<std::uint64_t> other_until{0};

  bool in_use_elsewhere() const {
    const StreamCore* other = other_stream.load(std::memory_order_acquire);
    return other && !other->finished(other_until.load(std::memory_order_acquire));
  }
};

class HostEvent : public runtime::Event {
 public:
  explicit HostEvent(Executor& executor) : executor_(executor), core_(std::make_shared<EventCore>()) {}
  bool passed() const {
    return core_->passed.load(std::memory_order_acquire) >= core_->recorded.load(std::memory_order_acquire);
  }
  bool query() override {
    if (executor_.threads() == 1 && !passed()) {
      int tries = 0;
      executor_.work_until([&] { return passed() || ++tries > 1; });
    }
    return passed();
  }
  void synchronize() override {
    executor_.work_until([&] { return passed(); });
    executor_.raise_fault();
  }
  double seconds() override {
    synchronize();
    return core_->seconds.load(std::memory_order_relaxed);
  }
  const std::shared_ptr<EventCore>& core() const { return core_; }

 private:
  Executor& executor_;
  std::shared_ptr<EventCore> core_;
};

void copy_blocks(const HostCall& call) {
  const auto bytes = parameters_of<std::size_t>(call);
  for (std::uint32_t b = call.begin; b < call.end; ++b) {
    const std::size_t at = b * kCopyBlock;
    std::memcpy(static_cast<char*>(call.buffers[0]) + at, static_cast<const char*>(call.buffers[1]) + at,
                std::min(kCopyBlock, bytes - at));
  }
}

struct InlineBytes {
  std::size_t bytes;
  std::byte data[runtime::kMaxParameterBytes - sizeof(std::size_t)];
};
void copy_inline(const HostCall& call) {
  const auto& from = parameters_of<InlineBytes>(call);
  std::memcpy(call.buffers[0], from.data, from.bytes);
}

// A line of a file in /proc that counts kilobytes.
std::size_t bytes_of(const char* file, const std::string& wanted, std::size_t otherwise) {
  std::ifstream in(file);
  for (std::string key; in >> key;) {
    std::size_t kib = 0;
    if (key == wanted && in >> kib) return kib * 1024;
    in.ignore(256, '\n');
  }
  return otherwise;
}

// The system gives pages when they are first written, so that what was taken and not yet written still counts as
// available there; promised twice, it would end the program.
std::size_t available_memory(std::size_t taken) {
  const std::size_t available = bytes_of("/proc/meminfo", "MemAvailable:", SIZE_MAX);
  const std::size_t written = bytes_of("/proc/self/status", "RssAnon:", taken);
  return available - std::min(available, taken - std::min(taken, written));
}

std::string mebibytes(std::size_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

}  // namespace

class HostStream : public runtime::Stream {
 public:
  HostStream(HostDevice& device, Executor& executor)
      : device_(device), executor_(executor), core_(executor.create_stream()) {}
  ~HostStream() override { executor_.destroy_stream(core_); }
  runtime::Device& device() const override { return device_; }
  StreamCore& core() { return core_; }

  void submit(const runtime::Launch& launch) override {
    if (launch.grid == 0) return;
    TW_CHECK(launch.grid <= kMaxGrid && launch.kernel && launch.kernel->code);
    Slot& slot = executor_.next_slot(core_);
    slot.kind = Slot::Kind::launch;
    slot.grid = launch.grid;
    slot.ordered = launch.ordered;
    slot.function = reinterpret_cast<HostFunction>(const_cast<void*>(launch.kernel->code));
    std::size_t i = 0;
    for (const runtime::BufferArg& b : launch.buffers()) slot.addresses[i++] = address(*b.memory, b.offset, b.bytes);
    const auto parameters = launch.parameters();
    std::memcpy(slot.parameters.data(), parameters.data(), parameters.size());
    executor_.publish(core_, slot);
  }

  void record(runtime::Event& event) override {
    const auto& core = static_cast<HostEvent&>(event).core();
    enqueue(Slot::Kind::record, core, core->recorded.fetch_add(1, std::memory_order_acq_rel) + 1);
  }

  void wait(runtime::Event& event) override {
    const auto& core = static_cast<HostEvent&>(event).core();
    const std::uint64_t generation = core->recorded.load(std::memory_order_acquire);
    if (core->passed.load(std::memory_order_acquire) < generation) enqueue(Slot::Kind::wait, core, generation);
  }

  void copy_from_host(runtime::Memory& destination, std::size_t offset, const void* source, std::size_t bytes,
                      runtime::HostMemory kind) override {
    if (bytes == 0) return;
    void* to = address(destination, offset, bytes);
    if (kind == runtime::HostMemory::pageable && bytes <= sizeof(InlineBytes::data)) {
      Slot& slot = executor_.next_slot(core_);
      slot.kind = Slot::Kind::launch;
      slot.grid = 1;
      slot.ordered = false;
      slot.function = &copy_inline;
      slot.addresses[0] = to;
      auto* parameters = reinterpret_cast<InlineBytes*>(slot.parameters.data());
      parameters->bytes = bytes;
      std::memcpy(parameters->data, source, bytes);
      executor_.publish(core_, slot);
      return;
    }
    copy(to, source, bytes);
    if (kind == runtime::HostMemory::pageable) executor_.finish(core_);
  }

  void copy_to_host(void* destination, runtime::Memory& source, std::size_t offset, std::size_t bytes,
                    runtime::HostMemory kind) override {
    if (bytes == 0) return;
    copy(destination, address(source, offset, bytes), bytes);
    if (kind == runtime::HostMemory::pageable) synchronize();
  }

  void synchronize() override {
    executor_.finish(core_);
    executor_.raise_fault();
  }

  bool query() override {
    const std::uint64_t until = core_.submitted();
    if (executor_.threads() == 1 && !core_.finished(until)) {
      int tries = 0;
      executor_.work_until([&] { return core_.finished(until) || ++tries > 1; });
    }
    return core_.finished(until);
  }

 private:
  void* address(runtime::Memory& memory, std::uint64_t offset, std::uint64_t bytes) {
    auto& block = static_cast<HostMemory&>(memory);
    TW_CHECK(&memory.device() == &device_ && offset + bytes <= std::max(memory.bytes(), block.block.size));
    if (block.owner != &core_) {
      block.other_until.store(core_.submitted() + 1, std::memory_order_release);
      block.other_stream.store(&core_, std::memory_order_release);
    }
    return static_cast<std::byte*>(block.block.address) + offset;
  }

  void enqueue(Slot::Kind kind, const std::shared_ptr<EventCore>& event, std::uint64_t generation) {
    Slot& slot = executor_.next_slot(core_);
    slot.kind = kind;
    slot.grid = 1;
    slot.ordered = false;
    slot.event = event;
    slot.event_generation = generation;
    executor_.publish(core_, slot);
  }

  void copy(void* to, const void* from, std::size_t bytes) {
    Slot& slot = executor_.next_slot(core_);
    slot.kind = Slot::Kind::launch;
    slot.ordered = false;
    slot.grid = static_cast<std::uint32_t>((bytes + kCopyBlock - 1) / kCopyBlock);
    slot.function = &copy_blocks;
    slot.addresses[0] = to;
    slot.addresses[1] = const_cast<void*>(from);
    std::memcpy(slot.parameters.data(), &bytes, sizeof bytes);
    executor_.publish(core_, slot);
  }

  HostDevice& device_;
  Executor& executor_;
  StreamCore& core_;
};

HostDevice::HostDevice(bool opaque, const runtime::DeviceOptions& options)
    : opaque_(opaque), memory_limit_(options.memory_limit) {
  active_isa();  // a wish that this processor cannot fulfil is an error here, not within a launch that never ends
  const int threads = options.threads > 0 ? options.threads : cpu_info().logical_cpus;
  std::function<void()> busy, idle;
  if (opaque_) {
    busy = [this] { protect(true); };
    idle = [this] { protect(false); };
  }
  executor_ = std::make_unique<Executor>(*this, threads, busy, idle);
  allocator_ = std::make_unique<runtime::CachingAllocator>(
      runtime::CachingAllocator::Source{[this](std::size_t bytes) { return take(bytes); },
                                        [this](void* address, std::size_t bytes) { give_back(address, bytes); }});
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
std::unique_ptr<runtime::Event> HostDevice::create_event() { return std::make_unique<HostEvent>(*executor_); }

void HostDevice::synchronize() {
  // Streams are few; every one is an ordered queue, so finishing each that exists now is enough.
  static_cast<HostStream&>(*default_stream_).synchronize();
  executor_->finish_all();
  executor_->raise_fault();
}

runtime::MemoryRef HostDevice::allocate(runtime::Stream& stream, std::size_t bytes) {
  StreamCore& core = static_cast<HostStream&>(stream).core();
  collect_deferred();
  auto block = allocator_->allocate(core.number(), bytes);
  if (!block.address) {  // give cached blocks back and try once more
    trim();
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
  if (!block->owner || block->in_use_elsewhere()) {
    if (!block->in_use_elsewhere()) {
      imported_ -= block->bytes();
      if (block->deleter) block->deleter();
      delete block;
      return;
    }
    const std::lock_guard lock(deferred_mutex_);
    deferred_.push_back(memory);
    return;
  }
  allocator_->free(block->owner->number(), block->block);
  delete block;
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

std::size_t HostDevice::available_bytes() const {
  return memory_limit_ ? memory_limit_ - std::min(memory_limit_, taken_.load()) : available_memory(taken_.load());
}

void HostDevice::trim() {
  executor_->finish_all();
  collect_deferred();
  allocator_->trim();
}

double HostDevice::now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

const runtime::Kernel* HostDevice::find_kernel(std::string_view name) const { return find_cts_kernel(name); }

void* HostDevice::take(std::size_t bytes) {
  if (memory_limit_ && taken_.load() + bytes > memory_limit_) return nullptr;
  if (bytes >= std::size_t{64} << 20 && bytes > available_memory(taken_.load()))
    return nullptr;  // the kernel would kill us later instead
  const std::size_t room = bytes + kPage;
  void* data = ::mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) return nullptr;
  // Aligned to 2 MiB, so that large blocks get large pages; the ends are given back.
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  const std::uintptr_t aligned = (begin + kPage - 1) / kPage * kPage;
  const std::size_t page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t kept = (bytes + page - 1) / page * page;
  if (aligned > begin) ::munmap(data, aligned - begin);
  if (begin + room > aligned + kept) ::munmap(reinterpret_cast<void*>(aligned + kept), begin + room - aligned - kept);
  void* out = reinterpret_cast<void*>(aligned);
  if (bytes >= kPage) ::madvise(out, bytes, MADV_HUGEPAGE);
  taken_ += bytes;
  const std::lock_guard lock(regions_mutex_);
  regions_[out] = kept;
  if (opaque_ && !readable_) ::mprotect(out, kept, PROT_NONE);
  return out;
}

void HostDevice::give_back(void* address, std::size_t bytes) {
  const std::lock_guard lock(regions_mutex_);
  const auto it = regions_.find(address);
  ::munmap(address, it->second);
  regions_.erase(it);
  taken_ -= bytes;
}

void HostDevice::protect(bool readable) {
  const std::lock_guard lock(regions_mutex_);
  readable_ = readable;
  for (const auto& [address, bytes] : regions_)
    ::mprotect(address, bytes, readable ? PROT_READ | PROT_WRITE : PROT_NONE);
}

}  // namespace tilewright::backends::host
