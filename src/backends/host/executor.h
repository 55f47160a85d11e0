// Runs launches of several streams on a pool of threads. The heart of the host device.
//
// A stream is a ring of slots. Its first unfinished slot is `current`; workers claim blocks of that slot only, so a
// stream is ordered, and different streams run side by side. Workers spin briefly when there is nothing to do, then
// sleep.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "backends/host/execution_trace.h"
#include "backends/host/graph_program.h"
#include "backends/host/host_kernel.h"

namespace tilewright::backends::host {

class HostDevice;

// A point in a stream, shared by the event object and the slots that name it.
struct EventCore {
  std::atomic<std::uint64_t> recorded{0};  // how often it was recorded
  std::atomic<std::uint64_t> passed{0};    // the recording that was passed last
  std::atomic<double> seconds{0};
};

struct Slot {
  enum class Kind : std::uint8_t { launch, record, wait, graph };
  // Generation (slot number in the stream) in the upper 39 bits, then a bit that tells graphs; below, blocks not yet
  // claimed, or for a graph whether it is complete and how many workers are in it.
  alignas(64) std::atomic<std::uint64_t> ticket{0};
  std::atomic<std::uint32_t> low{0};    // blocks handed out from the lower end
  std::atomic<std::uint32_t> high{0};   // and from the upper end
  std::atomic<std::uint32_t> done{0};   // blocks finished
  std::atomic<std::uint32_t> phase{0};  // HostCall::phase
  Kind kind = Kind::launch;
  std::uint32_t grid = 1;
  bool ordered = false;
  bool traced = false;
  HostFunction function = nullptr;
  std::array<void*, runtime::kMaxBufferArgs> addresses{};
  alignas(16) std::array<std::byte, runtime::kMaxParameterBytes> parameters{};
  std::shared_ptr<EventCore> event;  // last: launches leave the lines of these alone
  std::uint64_t event_generation = 0;
  std::shared_ptr<GraphProgram> program;
};

inline constexpr std::uint32_t kMaxGrid = (1u << 24) - 1;

class StreamCore {
 public:
  static constexpr std::uint64_t kSlots = ExecutionTrace::kSlots;
  explicit StreamCore(int number) : number_(number), slots_(kSlots) {}
  int number() const { return number_; }
  std::uint64_t submitted() const { return head_.load(std::memory_order_acquire); }
  bool finished(std::uint64_t until) const { return current_.load(std::memory_order_acquire) >= until; }

 private:
  friend class Executor;
  int number_;
  std::vector<Slot> slots_;
  alignas(64) std::atomic<std::uint64_t> head_{0};     // slots submitted
  alignas(64) std::atomic<std::uint64_t> current_{0};  // first slot not finished
};

// Passed when the stream has finished all slots below the number.
struct StreamPoint {
  const StreamCore* stream;
  std::uint64_t number;
};

class Executor {
 public:
  // Hooks run when work begins on an idle device and when it becomes idle again (both may be empty).
  Executor(HostDevice& device, int threads, std::function<void()> becomes_busy, std::function<void()> becomes_idle);
  ~Executor();
  int threads() const { return threads_; }

  StreamCore& create_stream();
  void destroy_stream(StreamCore& stream);  // its work is finished first; the core is used again later

  // The next free slot, filled by the caller, then published. One thread per stream.
  Slot& next_slot(StreamCore& stream);
  // `label` is looked at only while tracing.
  void publish(StreamCore& stream, Slot& slot, const TraceLabel& label = {});
  // One slot that runs the whole program, made for as many threads as there are here. All replays of a program that
  // are not finished are on one stream.
  void publish_graph(StreamCore& stream, std::shared_ptr<GraphProgram> program);

  // Until the condition holds, the caller works as worker 0 (or waits, if another thread already does).
  template <typename Condition>
  void work_until(const Condition& condition) {
    int idle = 0;
    while (!condition()) {
      if (help())
        idle = 0;
      else
        relax(idle);
    }
  }
  void finish(StreamCore& stream) {
    const std::uint64_t until = stream.submitted();
    work_until([&] { return stream.finished(until); });
  }

  void finish_all();                        // every stream
  std::vector<StreamPoint> points() const;  // where every stream stands: what was submitted so far

  // Between these, a record of each launch and of each node of a replay. Both wait for all work.
  void start_trace();
  std::vector<runtime::TraceRecord> stop_trace();

  void report_fault(const std::string& text);
  void raise_fault() const;  // throws Error if there was a fault

 private:
  bool help();  // one piece of work as worker 0; false if there was none or worker 0 is taken
  bool run_some(int worker, int& first_stream);
  bool run_from(StreamCore& stream, int worker);
  bool run_graph(StreamCore& stream, Slot& slot, std::uint64_t number, int worker);
  void finish_slot(StreamCore& stream, std::uint64_t number);
  void worker_loop(int worker);
  void stop_workers();
  static void relax(int& idle);

  static constexpr int kMaxStreams = ExecutionTrace::kMaxStreams;
  HostDevice& device_;
  int threads_;
  std::function<void()> becomes_busy_, becomes_idle_;
  std::atomic<std::uint64_t> pending_{0};  // slots not finished; kept only if there are hooks
  std::mutex hook_mutex_;

  std::mutex streams_mutex_;
  std::vector<std::unique_ptr<StreamCore>> cores_;
  std::vector<StreamCore*> unused_cores_;
  std::array<std::atomic<StreamCore*>, kMaxStreams> streams_{};
  std::atomic<int> stream_count_{0};

  std::atomic<bool> worker_zero_taken_{false};
  int worker_zero_first_ = 0;
  alignas(64) std::atomic<std::uint32_t> sleepers_{0};
  alignas(64) std::atomic<std::uint32_t> wake_{0};
  std::atomic<bool> stop_{false};

  ExecutionTrace trace_;

  mutable std::mutex fault_mutex_;
  std::atomic<bool> faulted_{false};
  std::string fault_;
  std::vector<std::thread> workers_;
};

}  // namespace tilewright::backends::host
