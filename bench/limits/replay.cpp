// What a node of a replayed graph costs when its work is nothing, and what replaying costs the thread that submits.
#include <atomic>
#include <vector>

#include "backends/host/host_device.h"
#include "backends/host/host_kernel.h"
#include "limits/row_groups.h"
#include "runtime/tensor.h"

namespace tilewright::bench {
namespace {

using backends::host::HostCall;

constexpr const char *kChain = "replay node, single block chain", *kIndependent = "replay node, independent",
                     *kDependent = "replay node, dependent grid 2", *kShare = "submission share of a replay loop";
constexpr int kNodes = 400, kReplays = 25;

void do_nothing(const HostCall&) {}
const runtime::Kernel kEmpty = backends::host::host_kernel("empty", &do_nothing);

// As much as a small operator of a small model does, some microseconds in two blocks: sums over its part of the buffer.
void sum_part(const HostCall& call) {
  const auto* values = static_cast<const float*>(call.buffers[0]);
  constexpr std::uint32_t kPart = 4096;
  float sums[16] = {};
  for (std::uint32_t i = call.begin * kPart; i < call.end * kPart; i += 16)
    for (std::uint32_t lane = 0; lane < 16; ++lane) sums[lane] += values[i + lane];
  float* out = static_cast<float*>(call.buffers[1]) + call.begin * 16;
  for (std::uint32_t lane = 0; lane < 16; ++lane) out[lane] = sums[lane];
}
const runtime::Kernel kSum = backends::host::host_kernel("sum", &sum_part);

// All nodes write one buffer, or each of them one of its own.
std::unique_ptr<runtime::ExecutableGraph> capture(runtime::Stream& stream, const runtime::Kernel& kernel,
                                                  const runtime::MemoryRef& read, const runtime::MemoryRef& written,
                                                  std::uint32_t grid, bool independent) {
  constexpr std::uint64_t kPart = 128;
  stream.begin_capture();
  for (int i = 0; i < kNodes; ++i) {
    runtime::Launch launch;
    launch.kernel = &kernel;
    launch.grid = grid;
    launch.add_buffer({.memory = read.get(), .bytes = read->bytes(), .read = true});
    launch.add_buffer({.memory = written.get(),
                       .offset = independent ? kPart * static_cast<std::uint64_t>(i) : 0,
                       .bytes = kPart,
                       .read = true,
                       .write = true});
    stream.submit(launch);
  }
  return stream.device().instantiate(stream.end_capture());
}

// Seconds of some replays, each waited for as in a decode loop.
double seconds(runtime::Stream& stream, runtime::ExecutableGraph& graph) {
  stream.replay(graph);
  stream.synchronize();
  const double start = target::seconds_now();
  for (int i = 0; i < kReplays; ++i) {
    stream.replay(graph);
    stream.synchronize();
  }
  return target::seconds_now() - start;
}

// A barrier that nothing is known to beat for few threads: each tells the others in a line of its own how far it is.
double barrier_seconds(target::SpinTeam& team, int count, bool relaxing) {
  struct alignas(128) Line {
    std::atomic<int> arrived{0};
  };
  std::vector<Line> lines(static_cast<std::size_t>(team.size()));
  const target::SpinTeam::Timing timing(team);
  const double start = target::seconds_now();
  team.run([&](int member) {
    for (int i = 1; i <= count; ++i) {
      lines[static_cast<std::size_t>(member)].arrived.store(i, std::memory_order_release);
      for (const Line& line : lines)
        while (line.arrived.load(std::memory_order_acquire) < i)
          if (relaxing) __builtin_ia32_pause();
    }
  });
  return target::seconds_now() - start;
}

double submission_share(runtime::Stream& stream, runtime::ExecutableGraph& graph) {
  stream.replay(graph);
  stream.synchronize();
  double submitting = 0;
  const double start = target::seconds_now();
  for (int i = 0; i < kReplays; ++i) {
    const double before = target::seconds_now();
    stream.replay(graph);
    submitting += target::seconds_now() - before;
    stream.synchronize();
  }
  return submitting / (target::seconds_now() - start);
}

}  // namespace

void add_replay_rows(LimitsRun& run) {
  if (!run.wants_any({kChain, kIndependent, kDependent, kShare})) return;
  backends::host::HostDevice device(false, {.threads = run.options().threads});
  const auto stream = device.create_stream();
  const runtime::MemoryRef read = device.allocate(*stream, 2 * 4096 * sizeof(float)),
                           written = device.allocate(*stream, kNodes * 128);
  const auto chain = capture(*stream, kEmpty, read, written, 1, false);
  const auto independent = capture(*stream, kEmpty, read, written, 1, true);
  const auto dependent = capture(*stream, kEmpty, read, written, 2, false);
  const auto sums = capture(*stream, kSum, read, written, 2, false);
  constexpr double kEach = 1e-9 * kNodes * kReplays;
  const int samples = run.options().rounds;
  run.record({.what = kChain, .unit = "ns", .unit_size = kEach, .bar = 100, .at_most = true}, samples,
             [&] { return seconds(*stream, *chain); });
  run.record({.what = kIndependent, .unit = "ns", .unit_size = kEach, .bar = 100, .at_most = true}, samples,
             [&] { return seconds(*stream, *independent); });
  if (run.options().threads > 1) {
    const auto barrier = [&](bool relaxing) {
      const double time = barrier_seconds(run.team(), kNodes * kReplays, relaxing);
      run.settle();
      return time;
    };
    run.compare({.what = kDependent, .unit = "ns", .unit_size = kEach, .bar = 1.5, .at_most = true},
                {{"replay", [&] { return seconds(*stream, *dependent); }},
                 {"a barrier", [&] { return barrier(false); }},
                 {"a barrier that pauses", [&] { return barrier(true); }}});
  }
  run.record({.what = kShare, .unit = "%", .unit_size = 1e-2, .bar = 5, .at_most = true}, samples,
             [&] { return submission_share(*stream, *sums); });
}

}  // namespace tilewright::bench
