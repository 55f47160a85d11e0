#include "backends/host/execution_trace.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace tilewright::backends::host {

double ExecutionTrace::seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void ExecutionTrace::start() {
  const std::lock_guard lock(mutex_);
  records_.clear();
  records_.reserve(1 << 14);
  replays_.store(0, std::memory_order_relaxed);
  on_.store(true, std::memory_order_relaxed);
}

std::vector<runtime::TraceRecord> ExecutionTrace::stop() {
  std::vector<runtime::TraceRecord> records;
  {
    const std::lock_guard lock(mutex_);
    on_.store(false, std::memory_order_relaxed);
    records = std::exchange(records_, {});
  }
  std::stable_sort(records.begin(), records.end(), [](const auto& a, const auto& b) { return a.started < b.started; });
  return records;
}

ExecutionTrace::Note& ExecutionTrace::fresh_note(int stream, std::size_t slot) {
  auto& notes = notes_[static_cast<std::size_t>(stream)];
  if (!notes) notes = std::make_unique<std::array<Note, kSlots>>();
  Note& note = (*notes)[slot];
  note.replay = -1;
  note.span.clear();
  note.submitted = seconds_now();
  return note;
}

void ExecutionTrace::add_launch(int stream, const Note& note) {
  const runtime::TraceRecord record{.op = note.label.op,
                                    .path = note.label.path,
                                    .kernel = note.label.kernel,
                                    .stream = stream,
                                    .replay = note.replay,
                                    .grid = note.grid,
                                    .cost = note.cost,
                                    .submitted = note.submitted,
                                    .started = note.span.started(),
                                    .finished = note.span.finished()};
  const std::lock_guard lock(mutex_);
  if (on()) records_.push_back(record);
}

void ExecutionTrace::add(const std::vector<runtime::TraceRecord>& records) {
  const std::lock_guard lock(mutex_);
  if (on()) records_.insert(records_.end(), records.begin(), records.end());
}

}  // namespace tilewright::backends::host
