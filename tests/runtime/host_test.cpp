#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>
#include <vector>

#include "backends/host/host_device.h"
#include "base/error.h"
#include "runtime/caching_allocator.h"
#include "runtime/tensor.h"

namespace tilewright {
namespace {

using runtime::CachingAllocator;

double processor_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

TEST(HostDevice, AnIdleDeviceUsesNoProcessorTime) {
  backends::host::HostDevice device(false, {.threads = 4});
  device.synchronize();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // workers fall asleep
  const double before = processor_seconds();
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  EXPECT_LT(processor_seconds() - before, 0.05);
}

// Untouched pages cost nothing yet; what was promised must count all the same, or the system ends the process later.
TEST(HostDevice, MemoryIsNotPromisedTwice) {
  backends::host::HostDevice device(false, {.threads = 1});
  const std::size_t free = device.available_bytes(), block = std::max(free / 8, std::size_t{64} << 20);
  std::vector<runtime::MemoryRef> kept;
  EXPECT_THROW(for (int i = 0; i < 64; ++i) kept.push_back(device.allocate(device.default_stream(), block)), Error);
  EXPECT_GE(kept.size(), 1u);
  EXPECT_LE(kept.size(), 12u);  // eight blocks fill it; others may give memory back meanwhile
}

TEST(HostDevice, ATraceNamesLaunchesCopiesAndNodesOfReplays) {
  backends::host::HostDevice device(false, {.threads = 2});
  const auto stream = device.create_stream();
  const runtime::MemoryRef counts = device.allocate(*stream, 64);
  std::int32_t values[16] = {};
  runtime::Launch launch;
  launch.kernel = device.find_kernel("cts.count_blocks");
  launch.grid = 3;
  launch.op = "count";
  launch.path = "layers.0";
  launch.cost.flops = 3;
  launch.add_buffer({.memory = counts.get(), .bytes = 64, .read = true, .write = true});
  stream->begin_capture();
  stream->submit(launch);
  const auto graph = device.instantiate(stream->end_capture());
  stream->submit(launch);  // not in the trace
  device.start_trace();
  stream->copy_from_host(*counts.get(), 0, values, sizeof values);
  stream->submit(launch);
  for (int i = 0; i < 2; ++i) stream->replay(*graph);
  stream->copy_to_host(values, *counts.get(), 0, sizeof values);
  const auto records = device.stop_trace();
  EXPECT_EQ(values[2], 3);
  ASSERT_EQ(records.size(), 5u);
  const char* const ops[] = {"copy_from_host", "count", "count", "count", "copy_to_host"};
  const int replays[] = {-1, -1, 0, 1, -1};
  for (std::size_t i = 0; i < records.size(); ++i) {
    EXPECT_STREQ(records[i].op, ops[i]);
    EXPECT_EQ(records[i].replay, replays[i]);
    EXPECT_LE(records[i].submitted, records[i].started);
    EXPECT_LE(records[i].started, records[i].finished);
    EXPECT_LE(i ? records[i - 1].finished : 0, records[i].started);
    if (i < 1 || i > 3) continue;
    EXPECT_STREQ(records[i].path, "layers.0");
    EXPECT_STREQ(records[i].kernel, launch.kernel->name);
    EXPECT_EQ(records[i].grid, 3u);
    EXPECT_EQ(records[i].cost.flops, 3);
  }
  EXPECT_TRUE(device.stop_trace().empty());
}

#if !defined(TILEWRIGHT_SANITIZED)  // sanitizers reserve address space themselves
[[noreturn]] void open_with_more_threads_than_fit() {
  const rlimit little{std::size_t{1} << 30, std::size_t{1} << 30};  // stacks of 8 MiB each
  setrlimit(RLIMIT_AS, &little);
  try {
    backends::host::HostDevice device(false, {.threads = 1024});
  } catch (const Error& error) {
    std::_Exit(error.text().where == "--threads" ? 0 : 2);
  }
  std::_Exit(1);
}

TEST(HostDevice, TooManyThreadsAreAnErrorThatNamesThem) {
  EXPECT_EXIT(open_with_more_threads_than_fit(), testing::ExitedWithCode(0), "");
}
#endif

TEST(HostDevice, WorkStartsWithoutAWaitingCaller) {
  backends::host::HostDevice device(false, {.threads = 2});
  runtime::Stream& stream = device.default_stream();
  for (int round = 0; round < 20; ++round) {
    std::this_thread::sleep_for(
        std::chrono::milliseconds(3));  // long enough for workers to sleep: the launch must wake them
    runtime::Launch launch;
    launch.kernel = device.find_kernel("cts.empty");
    stream.submit(launch);
    for (int i = 0; i < 5000 && !stream.query(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ASSERT_TRUE(stream.query());
  }
}

TEST(HostDevice, OpaqueBuffersHaveNoAddress) {
  backends::host::HostDevice device(true, {.threads = 2});
  const runtime::Tensor t = runtime::empty(device.default_stream(), DType::f32, {16});
  EXPECT_THROW(device.export_pointer(t.memory()), Error);
}

// The law of size classes: enough, at most an eighth more, and rounding again changes nothing.
TEST(CachingAllocator, SizeClassesWasteAtMostAnEighth) {
  for (std::size_t n = 1; n < (std::size_t{80} << 20); n += 1 + n / 37) {
    const std::size_t size = CachingAllocator::size_class(n);
    EXPECT_GE(size, n);
    EXPECT_LE(size,
              std::max<std::size_t>(n + n / 8 + 512, n + (n > (std::size_t{32} << 20) ? (std::size_t{2} << 20) : 0)));
    EXPECT_EQ(CachingAllocator::size_class(size), size);
  }
}

TEST(CachingAllocator, LiveBlocksNeverOverlap) {
  std::vector<std::unique_ptr<std::byte[]>> owned;
  CachingAllocator allocator({[&](std::size_t n) -> void* {
                                owned.push_back(std::make_unique<std::byte[]>(n));
                                return owned.back().get();
                              },
                              [](void*, std::size_t) {}});
  std::map<std::byte*, std::pair<std::size_t, int>> live;
  std::uint64_t state = 1;
  const auto random = [&](std::uint64_t n) {
    return (state = state * 6364136223846793005ull + 1442695040888963407ull) >> 33 & (n - 1);
  };
  for (int step = 0; step < 20000; ++step) {
    const int stream = static_cast<int>(random(2));
    if (live.size() > 40 || (random(2) && !live.empty())) {
      auto it = live.begin();
      std::advance(it, random(64) % live.size());
      allocator.free(it->second.second, {it->first, it->second.first});
      live.erase(it);
      continue;
    }
    const auto block = allocator.allocate(stream, 1 + random(random(2) ? 4096 : 1 << 21));
    auto* address = static_cast<std::byte*>(block.address);
    const auto after = live.lower_bound(address);
    if (after != live.end()) {
      ASSERT_LE(address + block.size, after->first);
    }
    if (after != live.begin()) {
      ASSERT_LE(std::prev(after)->first + std::prev(after)->second.first, address);
    }
    live[address] = {block.size, stream};
  }
}

}  // namespace
}  // namespace tilewright
