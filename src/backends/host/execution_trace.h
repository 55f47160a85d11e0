// What the executor writes down of launches and replays while it is asked to. Off, it costs a branch a launch.
#pragma once

#include <array>
#include <atomic>
#include <limits>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/trace.h"

namespace tilewright::backends::host {

// From the first block to the last, put together by all who run some. Seconds.
class TraceSpan {
 public:
  void add(double from, double to) {
    for (double seen = started_.load(std::memory_order_relaxed);
         from < seen && !started_.compare_exchange_weak(seen, from, std::memory_order_relaxed);) {
    }
    for (double seen = finished_.load(std::memory_order_relaxed);
         to > seen && !finished_.compare_exchange_weak(seen, to, std::memory_order_relaxed);) {
    }
  }
  void clear() {
    started_.store(std::numeric_limits<double>::max(), std::memory_order_relaxed);
    finished_.store(0, std::memory_order_relaxed);
  }
  double started() const { return started_.load(std::memory_order_relaxed); }
  double finished() const { return finished_.load(std::memory_order_relaxed); }

 private:
  std::atomic<double> started_{std::numeric_limits<double>::max()}, finished_{0};
};

// What a launch is called in a trace.
struct TraceLabel {
  const char* op = "";
  const char* path = "";
  const char* kernel = "";
  const runtime::Cost* cost = nullptr;
};

class ExecutionTrace {
 public:
  // Of a slot that was submitted while the trace was on; filled by who submits it.
  struct Note {
    TraceLabel label;
    runtime::Cost cost;
    std::uint32_t grid = 0;
    int replay = -1;
    double submitted = 0;
    TraceSpan span;
  };

  bool on() const { return on_.load(std::memory_order_relaxed); }
  void start();
  std::vector<runtime::TraceRecord> stop();  // in the order of their start

  // The note of a slot; each stream's are made when its first slot is traced, by the thread that submits.
  Note& note(int stream, std::size_t slot) { return (*notes_[static_cast<std::size_t>(stream)])[slot]; }
  Note& fresh_note(int stream, std::size_t slot);
  int next_replay() { return replays_.fetch_add(1, std::memory_order_relaxed); }
  void add_launch(int stream, const Note& note);
  // Dropped if the trace ended meanwhile.
  void add(const std::vector<runtime::TraceRecord>& records);

  static constexpr std::size_t kSlots = 256;
  static constexpr std::size_t kMaxStreams = 64;
  static double seconds_now();

 private:
  std::atomic<bool> on_{false};
  std::atomic<int> replays_{0};
  std::mutex mutex_;
  std::vector<runtime::TraceRecord> records_;
  std::array<std::unique_ptr<std::array<Note, kSlots>>, kMaxStreams> notes_;
};

}  // namespace tilewright::backends::host
