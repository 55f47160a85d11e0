#include "backends/host/host_stream.h"

#include <cstring>

#include "backends/host/host_copy.h"
#include "backends/host/host_device.h"
#include "backends/host/host_graph.h"
#include "backends/host/host_memory.h"
#include "base/error.h"

namespace tilewright::backends::host {
namespace {

constexpr const char *kCopyFromHost = "copy_from_host", *kCopyToHost = "copy_to_host";

struct InlineBytes {
  std::size_t bytes;
  std::byte data[runtime::kMaxParameterBytes - sizeof(std::size_t)];
};
void copy_inline(const HostCall& call) {
  const auto& from = parameters_of<InlineBytes>(call);
  std::memcpy(call.buffers[0], from.data, from.bytes);
}

}  // namespace

HostEvent::HostEvent(HostDevice& device, Executor& executor)
    : CapturingEvent(device), executor_(executor), core_(std::make_shared<EventCore>()) {}

bool HostEvent::do_query() {
  if (executor_.threads() == 1 && !passed()) {
    int tries = 0;
    executor_.work_until([&] { return passed() || ++tries > 1; });
  }
  return passed();
}

void HostEvent::do_synchronize() {
  executor_.work_until([&] { return passed(); });
  executor_.raise_fault();
}

double HostEvent::do_seconds() {
  do_synchronize();
  return core_->seconds.load(std::memory_order_relaxed);
}

HostStream::HostStream(HostDevice& device, Executor& executor)
    : CapturingStream(device), device_(device), executor_(executor), core_(executor.create_stream()) {
  device.know_core(core_);
}

runtime::MemoryStats HostStream::memory_stats() const { return device_.allocator().stats(number()); }
void HostStream::reset_peak() { device_.allocator().reset_peak(number()); }

void HostStream::do_submit(const runtime::Launch& launch) {
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
  executor_.publish(core_, slot,
                    {.op = launch.op, .path = launch.path, .kernel = launch.kernel->name, .cost = &launch.cost});
}

void HostStream::do_record(runtime::CapturingEvent& event) {
  const auto& core = static_cast<HostEvent&>(event).core();
  enqueue(Slot::Kind::record, core, core->recorded.fetch_add(1, std::memory_order_acq_rel) + 1);
}

void HostStream::do_wait(runtime::CapturingEvent& event) {
  const auto& core = static_cast<HostEvent&>(event).core();
  const std::uint64_t generation = core->recorded.load(std::memory_order_acquire);
  if (core->passed.load(std::memory_order_acquire) < generation) enqueue(Slot::Kind::wait, core, generation);
}

void HostStream::do_copy_from_host(runtime::Memory& destination, std::size_t offset, const void* source,
                                   std::size_t bytes, runtime::HostMemory kind) {
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
    executor_.publish(core_, slot, {.op = kCopyFromHost, .kernel = "copy"});
    return;
  }
  copy(kCopyFromHost, to, source, bytes);
  if (kind == runtime::HostMemory::pageable) executor_.finish(core_);
}

void HostStream::do_copy_to_host(void* destination, runtime::Memory& source, std::size_t offset, std::size_t bytes,
                                 runtime::HostMemory kind) {
  if (bytes == 0) return;
  copy(kCopyToHost, destination, address(source, offset, bytes), bytes);
  if (kind == runtime::HostMemory::pageable) do_synchronize();
}

void HostStream::do_synchronize() {
  executor_.finish(core_);
  executor_.raise_fault();
}

bool HostStream::do_query() {
  const std::uint64_t until = core_.submitted();
  if (executor_.threads() == 1 && !core_.finished(until)) {
    int tries = 0;
    executor_.work_until([&] { return core_.finished(until) || ++tries > 1; });
  }
  return core_.finished(until);
}

void HostStream::do_replay(runtime::PlannedExecutable& graph) { static_cast<HostGraph&>(graph).submit(core_); }

void* HostStream::address(runtime::Memory& memory, std::uint64_t offset, std::uint64_t bytes) {
  auto& block = static_cast<HostMemory&>(memory);
  TW_CHECK(&memory.device() == &device_);
  std::byte* address = block.address(offset, bytes);
  block.note_use(core_);
  return address;
}

void HostStream::enqueue(Slot::Kind kind, const std::shared_ptr<EventCore>& event, std::uint64_t generation) {
  Slot& slot = executor_.next_slot(core_);
  slot.kind = kind;
  slot.grid = 1;
  slot.ordered = false;
  slot.event = event;
  slot.event_generation = generation;
  executor_.publish(core_, slot);
}

void HostStream::copy(const char* op, void* to, const void* from, std::size_t bytes) {
  Slot& slot = executor_.next_slot(core_);
  slot.kind = Slot::Kind::launch;
  slot.ordered = false;
  slot.grid = copy_grid(bytes);
  slot.function = &copy_blocks;
  slot.addresses[0] = to;
  slot.addresses[1] = const_cast<void*>(from);
  std::memcpy(slot.parameters.data(), &bytes, sizeof bytes);
  const runtime::Cost cost{.bytes_read = double(bytes), .bytes_written = double(bytes), .unit = runtime::Unit::move};
  executor_.publish(core_, slot, {.op = op, .kernel = "copy", .cost = &cost});
}

}  // namespace tilewright::backends::host
