// Order, events, faults.
#include <fmt/format.h>

#include <atomic>
#include <numeric>
#include <thread>

#include "base/error.h"
#include "runtime/cts/cts_helpers.h"

namespace tilewright::runtime::cts {
namespace {

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

std::vector<Check> stream_checks() {
  return {
      TW_CHECK_ROW(runs_launches_in_order),
      TW_CHECK_ROW(submission_does_not_wait),
      TW_CHECK_ROW(every_block_runs_once),
      TW_CHECK_ROW(blocks_may_wait_for_lower_ones),
      TW_CHECK_ROW(ordered_launches_need_no_waiting_caller),
      TW_CHECK_ROW(events_order_streams),
      TW_CHECK_ROW(events_time_work),
      TW_CHECK_ROW(query_turns_true),
      TW_CHECK_ROW(faults_are_sticky),
      TW_CHECK_ROW(streams_can_be_made_and_dropped),
  };
}

}  // namespace tilewright::runtime::cts
