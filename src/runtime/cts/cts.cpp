#include "runtime/cts/cts.h"

#include <fmt/format.h>

#include <atomic>
#include <numeric>
#include <thread>

#include "base/error.h"
#include "runtime/tensor.h"

namespace tilewright::runtime::cts {
namespace {

using Values = std::vector<std::int32_t>;

struct AddValue {
  std::int64_t count;
  std::int32_t value;
};

Launch launch_of(Device& device, const char* kernel, std::uint32_t grid = 1) {
  Launch launch;
  launch.kernel = device.find_kernel(kernel);
  if (!launch.kernel)
    fail({.what = "the device lacks a kernel of the conformance suite",
          .where = kernel,
          .expected = "",
          .found = "",
          .fix = ""});
  launch.grid = grid;
  launch.op = kernel;
  return launch;
}

Tensor ints(Stream& stream, std::int64_t count, std::int32_t first = 0) {
  HostTensor values(DType::i32, {count});
  std::iota(values.data<std::int32_t>(), values.data<std::int32_t>() + count, first);
  return to_device(stream, values);
}

void add_value(Stream& stream, const Tensor& in, const Tensor& out, std::int32_t value) {
  Launch launch =
      launch_of(stream.device(), "cts.add_value", static_cast<std::uint32_t>((in.elements() + 1023) / 1024));
  launch.add_buffer(read_arg(in));
  launch.add_buffer(write_arg(out));
  launch.set_parameters(AddValue{in.elements(), value});
  stream.submit(launch);
}

void busy(Stream& stream, std::int64_t microseconds) {
  Launch launch = launch_of(stream.device(), "cts.busy");
  launch.set_parameters(microseconds);
  stream.submit(launch);
}

// Empty if every element i is first + i.
std::string expect_iota(Stream& stream, const Tensor& tensor, std::int32_t first) {
  const HostTensor host = to_host(stream, tensor);
  if (!stream.device().computes()) return {};
  for (std::int64_t i = 0; i < host.elements(); ++i)
    if (host.data<std::int32_t>()[i] != first + i)
      return fmt::format("element {} is {}, expected {}", i, host.data<std::int32_t>()[i], first + i);
  return {};
}

std::string runs_launches_in_order(const Setup& setup) {
  const auto device = setup.open(0);
  Stream& stream = device->default_stream();
  const Tensor t = ints(stream, 10000);
  for (int i = 0; i < 1000; ++i) add_value(stream, t, t, i % 7);
  std::int32_t sum = 0;
  for (int i = 0; i < 1000; ++i) sum += i % 7;
  return expect_iota(stream, t, sum);
}

std::string submission_does_not_wait(const Setup& setup) {
  const auto device = setup.open(0);
  Stream& stream = device->default_stream();
  const auto before = std::chrono::steady_clock::now();
  for (int i = 0; i < 20; ++i) busy(stream, 20000);
  const double spent = std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count();
  stream.synchronize();
  if (device->computes() && spent > 0.2) return fmt::format("submitting 0.4 s of work took {:.3f} s", spent);
  return {};
}

std::string every_block_runs_once(const Setup& setup) {
  const auto device = setup.open(0);
  Stream& stream = device->default_stream();
  const Tensor counts = to_device(stream, HostTensor(DType::i32, {5000}));
  for (const std::uint32_t grid : {1u, 2u, 3u, 64u, 5000u}) {
    Launch launch = launch_of(*device, "cts.count_blocks", grid);
    launch.add_buffer(read_write_arg(counts));
    stream.submit(launch);
  }
  Launch nothing = launch_of(*device, "cts.count_blocks", 0);
  nothing.add_buffer(read_write_arg(counts));
  stream.submit(nothing);
  const HostTensor host = to_host(stream, counts);
  if (!device->computes()) return {};
  for (std::int32_t b = 0; b < 5000; ++b) {
    const std::int32_t expected = 1 + (b < 64) + (b < 3) + (b < 2) + (b < 1);
    if (host.data<std::int32_t>()[b] != expected)
      return fmt::format("block {} ran {} times, expected {}", b, host.data<std::int32_t>()[b], expected);
  }
  return {};
}

std::string blocks_may_wait_for_lower_ones(const Setup& setup) {
  const auto device = setup.open(0);
  Stream& stream = device->default_stream();
  const Tensor sum = to_device(stream, HostTensor(DType::i32, {1}));
  for (int i = 0; i < 200; ++i) {
    Launch launch = launch_of(*device, "cts.phases", 16);
    launch.ordered = true;
    launch.add_buffer(read_write_arg(sum));
    stream.submit(launch);
  }
  const HostTensor host = to_host(stream, sum);
  if (device->computes() && host.data<std::int32_t>()[0] != 200 * 120)
    return fmt::format("sum is {}", host.data<std::int32_t>()[0]);
  return {};
}

// With a free worker nobody has to wait for such a launch: that worker starts the blocks in order, so none waits for
// ever.
std::string ordered_launches_need_no_waiting_caller(const Setup& setup) {
  const auto device = setup.open(0);
  Stream& stream = device->default_stream();
  const Tensor sum = to_device(stream, HostTensor(DType::i32, {1}));
  stream.synchronize();
  Launch launch = launch_of(*device, "cts.phases", 16);
  launch.ordered = true;
  launch.add_buffer(read_write_arg(sum));
  stream.submit(launch);
  for (int i = 0; i < 5000 && !stream.query(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return stream.query() ? "" : "blocks wait for lower ones that were not started";
}

std::string events_order_streams(const Setup& setup) {
  const auto device = setup.open(0);
  Stream& first = device->default_stream();
  const auto second = device->create_stream();
  const auto event = device->create_event();
  const auto back = device->create_event();
  const Tensor t = ints(first, 3000);
  for (int i = 0; i < 50; ++i) {
    busy(first, 200);
    add_value(first, t, t, 1);
    first.record(*event);
    second->wait(*event);
    add_value(*second, t, t, 10);
    second->record(*back);
    first.wait(*back);
  }
  second->synchronize();
  return expect_iota(first, t, 550);
}

std::string events_time_work(const Setup& setup) {
  const auto device = setup.open(0);
  Stream& stream = device->default_stream();
  const auto begin = device->create_event(), end = device->create_event();
  if (!begin->query()) return "an event that was never recorded is not passed";
  stream.record(*begin);
  busy(stream, 5000);
  stream.record(*end);
  const double seconds = end->seconds_since(*begin);
  if (!end->query()) return "a passed event says it is not";
  if (device->computes() && seconds < 0.005) return fmt::format("5 ms of work were timed as {} s", seconds);
  const double now = device->now();
  if (now < end->seconds()) return "the device's clock runs behind its events";
  return {};
}

std::string query_turns_true(const Setup& setup) {
  const auto device = setup.open(0);
  Stream& stream = device->default_stream();
  if (!stream.query()) return "an unused stream is busy";
  busy(stream, 1000);
  for (int i = 0; i < 10000 && !stream.query(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return stream.query() ? "" : "a stream stays busy for ten seconds";
}

std::string memory_is_counted_and_cached(const Setup& setup) {
  const auto device = setup.open(0);
  Stream& stream = device->default_stream();
  const std::size_t before = device->memory_stats().allocated;
  {
    const Tensor a = empty(stream, DType::u8, {3 << 20});
    if (device->memory_stats().allocated < before + (3 << 20)) return "live memory is not counted";
  }
  if (device->memory_stats().allocated != before) return "freed memory is still counted";
  if (device->memory_stats().peak < before + (3 << 20)) return "the peak forgot a freed block";
  device->reset_peak();
  if (device->memory_stats().peak != before) return "reset_peak keeps the old peak";
  const std::size_t reserved = device->memory_stats().reserved;
  for (int i = 0; i < 1000; ++i) const Tensor a = empty(stream, DType::u8, {3 << 20});
  if (device->memory_stats().reserved != reserved) return "memory grows although blocks are freed";
  device->trim();
  if (device->memory_stats().reserved > reserved - (3 << 20)) return "trim gives nothing back";
  const Tensor nothing = empty(stream, DType::f32, {0});
  return nothing.defined() ? "" : "an empty tensor has no memory";
}

std::string freed_memory_is_reused_in_order(const Setup& setup) {
  const auto device = setup.open(0);
  Stream& stream = device->default_stream();
  const Tensor result = ints(stream, 4096);
  for (int i = 0; i < 100; ++i) {
    const Tensor temporary = empty(stream, DType::i32, {4096});
    add_value(stream, result, temporary, 1);
    add_value(stream, temporary, result, 0);
  }
  return expect_iota(stream, result, 100);
}

std::string memory_used_by_another_stream_is_not_reused_early(const Setup& setup) {
  const auto device = setup.open(0);
  Stream& first = device->default_stream();
  const auto second = device->create_stream();
  const Tensor result = empty(*second, DType::i32, {4096});
  {
    const Tensor source = ints(first, 4096);
    first.synchronize();
    busy(*second, 20000);
    add_value(*second, source, result, 5);
  }
  const Tensor other = ints(first, 4096, 1000000);  // would land in the freed block
  first.synchronize();
  return expect_iota(*second, result, 5);
}

std::string copies_return_when_pageable_memory_may_change(const Setup& setup) {
  const auto device = setup.open(0);
  Stream& stream = device->default_stream();
  for (const std::int64_t count : {1, 100, 5000000}) {
    Values values(static_cast<std::size_t>(count));
    std::iota(values.begin(), values.end(), 3);
    const Tensor t = empty(stream, DType::i32, {count});
    busy(stream, 2000);
    stream.copy_from_host(t.memory(), 0, values.data(), values.size() * 4);
    std::fill(values.begin(), values.end(), -1);
    if (std::string wrong = expect_iota(stream, t, 3); !wrong.empty()) return wrong;
  }
  return {};
}

std::string pinned_copies_are_ordered(const Setup& setup) {
  const auto device = setup.open(0);
  Stream& stream = device->default_stream();
  const auto pinned = device->allocate_pinned(4096 * 4);
  auto* values = static_cast<std::int32_t*>(pinned.get());
  std::iota(values, values + 4096, 0);
  const Tensor t = empty(stream, DType::i32, {4096});
  stream.copy_from_host(t.memory(), 0, values, 4096 * 4, HostMemory::pinned);
  add_value(stream, t, t, 2);
  stream.copy_to_host(values, t.memory(), 0, 4096 * 4, HostMemory::pinned);
  stream.synchronize();
  if (device->computes() && (values[0] != 2 || values[4095] != 4097))
    return fmt::format("got {} … {}", values[0], values[4095]);
  return {};
}

std::string faults_are_sticky(const Setup& setup) {
  const auto device = setup.open(0);
  if (!device->computes()) return {};
  Stream& stream = device->default_stream();
  stream.submit(launch_of(*device, "cts.fault"));
  for (int i = 0; i < 2; ++i) {
    try {
      stream.synchronize();
      return "a fault did not rise at synchronize";
    } catch (const Error& e) {
      if (std::string(e.what()).find("planted fault: 7") == std::string::npos)
        return std::string("the fault lost its text: ") + e.what();
    }
  }
  return {};
}

std::string imported_memory_is_released_after_its_use(const Setup& setup) {
  const auto device = setup.open(0);
  Stream& stream = device->default_stream();
  auto values = std::make_unique<Values>(4096);
  std::iota(values->begin(), values->end(), 0);
  std::atomic<bool> released{false};
  const Tensor result = empty(stream, DType::i32, {4096});
  {
    void* data = values->data();
    const Tensor imported(device->import_memory(data, 4096 * 4,
                                                [&] {
                                                  std::fill(values->begin(), values->end(), -1);
                                                  released = true;
                                                }),
                          DType::i32, {4096});
    busy(stream, 20000);
    add_value(stream, imported, result, 1);
  }
  if (std::string wrong = expect_iota(stream, result, 1); !wrong.empty()) return wrong;
  device->trim();
  return released ? "" : "the deleter never ran";
}

std::string memory_limit_is_an_error_that_names_sizes(const Setup& setup) {
  const auto device = setup.open(std::size_t{64} << 20);
  Stream& stream = device->default_stream();
  try {
    const Tensor a = empty(stream, DType::u8, {std::int64_t{1} << 30});
    return "1 GiB was given out of 64 MiB";
  } catch (const Error& e) {
    if (e.text().expected.find("1024 MiB") == std::string::npos)
      return std::string("the error does not name the size: ") + e.what();
  }
  { const Tensor a = empty(stream, DType::u8, {40 << 20}); }
  const Tensor b = empty(stream, DType::u8, {60 << 20});  // needs the cached block back
  return {};
}

std::string streams_can_be_made_and_dropped(const Setup& setup) {
  const auto device = setup.open(0);
  for (int i = 0; i < 500; ++i) {
    const auto stream = device->create_stream();
    stream->submit(launch_of(*device, "cts.empty"));
  }
  device->synchronize();
  return {};
}

}  // namespace

const std::vector<Check>& checks() {
#define TW_CHECK_ROW(function) \
  { #function, &function }
  static const std::vector<Check> all = {
      TW_CHECK_ROW(runs_launches_in_order),
      TW_CHECK_ROW(submission_does_not_wait),
      TW_CHECK_ROW(every_block_runs_once),
      TW_CHECK_ROW(blocks_may_wait_for_lower_ones),
      TW_CHECK_ROW(ordered_launches_need_no_waiting_caller),
      TW_CHECK_ROW(events_order_streams),
      TW_CHECK_ROW(events_time_work),
      TW_CHECK_ROW(query_turns_true),
      TW_CHECK_ROW(memory_is_counted_and_cached),
      TW_CHECK_ROW(freed_memory_is_reused_in_order),
      TW_CHECK_ROW(memory_used_by_another_stream_is_not_reused_early),
      TW_CHECK_ROW(copies_return_when_pageable_memory_may_change),
      TW_CHECK_ROW(pinned_copies_are_ordered),
      TW_CHECK_ROW(faults_are_sticky),
      TW_CHECK_ROW(imported_memory_is_released_after_its_use),
      TW_CHECK_ROW(memory_limit_is_an_error_that_names_sizes),
      TW_CHECK_ROW(streams_can_be_made_and_dropped),
  };
#undef TW_CHECK_ROW
  return all;
}

}  // namespace tilewright::runtime::cts
