#include "backends/host/executor.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <climits>
#include <system_error>

#include "backends/host/relax_processor.h"
#include "base/error.h"

namespace tilewright::backends::host {
namespace {

constexpr int kSpinsBeforeSleep = 4000;  // some 50–100 µs, longer than the gap between two launches of an eager pass

// The word of a slot.
constexpr int kTicketBits = 25;
constexpr std::uint64_t kGraphTicket = std::uint64_t{1} << 24;
constexpr std::uint64_t kGraphComplete = std::uint64_t{1} << 23;  // nobody enters any more
constexpr std::uint64_t kWorkersInGraph = kGraphComplete - 1;

bool belongs_to(std::uint64_t ticket, std::uint64_t number) {
  return ((ticket >> kTicketBits ^ number) & (~std::uint64_t{0} >> kTicketBits)) == 0;
}

// One step of spinning. Now and then the processor is offered to others: on a crowded machine it may be the very thread
// that is waited for which does not run.
void spin(int step) {
  if (step % 128 == 0)
    std::this_thread::yield();
  else
    relax_processor();
}

// Slots were written by another thread a while ago: weights that were read meanwhile have pushed them out of the
// caches.
void prefetch(const Slot& slot) {
  const char* data = reinterpret_cast<const char*>(&slot);
  for (std::size_t line = 0; line < sizeof slot; line += 64) __builtin_prefetch(data + line);
}

void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t value) {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}
void futex_wake_all(std::atomic<std::uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

void fault_of_call(const HostCall& call, const char* text, std::int64_t value) {
  static_cast<Executor*>(call.device)->report_fault(std::string(text) + ": " + std::to_string(value));
}

}  // namespace

Executor::Executor(HostDevice& device, int threads, std::function<void()> becomes_busy,
                   std::function<void()> becomes_idle)
    : device_(device),
      threads_(threads),
      becomes_busy_(std::move(becomes_busy)),
      becomes_idle_(std::move(becomes_idle)) {
  try {
    for (int worker = 1; worker < threads; ++worker) workers_.emplace_back([this, worker] { worker_loop(worker); });
  } catch (const std::system_error& error) {
    const std::size_t started = workers_.size() + 1;
    stop_workers();
    fail({.what = "not enough threads",
          .where = "--threads",
          .expected = std::to_string(threads) + ", the caller counted",
          .found = std::to_string(started) + ": " + error.code().message(),
          .fix = "use fewer --threads, or raise the limit on processes (ulimit -u)"});
  }
}

Executor::~Executor() { stop_workers(); }

void Executor::stop_workers() {
  stop_.store(true, std::memory_order_seq_cst);
  wake_.fetch_add(1, std::memory_order_seq_cst);
  futex_wake_all(wake_);
  for (std::thread& t : workers_) t.join();
}

StreamCore& Executor::create_stream() {
  const std::lock_guard lock(streams_mutex_);
  if (!unused_cores_.empty()) {
    StreamCore* core = unused_cores_.back();
    unused_cores_.pop_back();
    return *core;
  }
  const int number = static_cast<int>(cores_.size());
  if (number >= kMaxStreams)
    fail({.what = "too many streams at once",
          .where = "host device",
          .expected = "at most " + std::to_string(kMaxStreams),
          .found = std::to_string(number + 1),
          .fix = "destroy streams that are no longer used"});
  cores_.push_back(std::make_unique<StreamCore>(number));
  streams_[static_cast<std::size_t>(number)].store(cores_.back().get(), std::memory_order_release);
  stream_count_.store(number + 1, std::memory_order_release);
  return *cores_.back();
}

void Executor::destroy_stream(StreamCore& stream) {
  finish(stream);
  const std::lock_guard lock(streams_mutex_);
  unused_cores_.push_back(&stream);
}

Slot& Executor::next_slot(StreamCore& stream) {
  const std::uint64_t number = stream.head_.load(std::memory_order_relaxed);
  if (number - stream.current_.load(std::memory_order_acquire) >= StreamCore::kSlots)
    work_until([&] { return number - stream.current_.load(std::memory_order_acquire) < StreamCore::kSlots; });
  return stream.slots_[number % StreamCore::kSlots];
}

void Executor::publish(StreamCore& stream, Slot& slot, const TraceLabel& label) {
  const std::uint64_t number = stream.head_.load(std::memory_order_relaxed);
  slot.traced = false;
  if (trace_.on() && (slot.kind == Slot::Kind::launch || slot.kind == Slot::Kind::graph)) [[unlikely]] {
    ExecutionTrace::Note& note = trace_.fresh_note(stream.number_, number % StreamCore::kSlots);
    note.label = label;
    note.cost = label.cost ? *label.cost : runtime::Cost{};
    note.grid = slot.grid;
    if (slot.kind == Slot::Kind::graph) {
      note.replay = trace_.next_replay();
      slot.program->make_spans();
    }
    slot.traced = true;
  }
  if (becomes_busy_) {
    // Counted within the lock: who comes second must not begin before the first one's hook is through.
    const std::lock_guard lock(hook_mutex_);
    if (pending_.fetch_add(1, std::memory_order_acq_rel) == 0) becomes_busy_();
  }
  slot.low.store(0, std::memory_order_relaxed);
  slot.high.store(0, std::memory_order_relaxed);
  slot.done.store(0, std::memory_order_relaxed);
  slot.phase.store(0, std::memory_order_relaxed);
  slot.ticket.store(number << kTicketBits | (slot.kind == Slot::Kind::graph ? kGraphTicket : slot.grid),
                    std::memory_order_release);
  stream.head_.store(number + 1, std::memory_order_seq_cst);
  if (sleepers_.load(std::memory_order_seq_cst) != 0) {
    wake_.fetch_add(1, std::memory_order_seq_cst);
    futex_wake_all(wake_);
  }
}

void Executor::finish_slot(StreamCore& stream, std::uint64_t number) {
  stream.current_.store(number + 1, std::memory_order_release);
  if (becomes_idle_ && pending_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    const std::lock_guard lock(hook_mutex_);
    if (pending_.load(std::memory_order_acquire) == 0) becomes_idle_();
  }
}

bool Executor::run_from(StreamCore& stream, int worker) {
  bool worked = false;
  for (;;) {
    const std::uint64_t number = stream.current_.load(std::memory_order_acquire);
    const std::uint64_t head = stream.head_.load(std::memory_order_acquire);
    if (number == head) return worked;
    Slot& slot = stream.slots_[number % StreamCore::kSlots];
    std::uint64_t ticket = slot.ticket.load(std::memory_order_acquire);
    if (!belongs_to(ticket, number)) continue;  // finished meanwhile
    if (ticket & kGraphTicket) {
      if (!run_graph(stream, slot, number, worker)) return worked;
      worked = true;
      continue;
    }
    const auto left = static_cast<std::uint32_t>(ticket & kMaxGrid);
    if (left == 0) return worked;  // others are finishing it
    if (!slot.ticket.compare_exchange_weak(ticket, ticket - 1, std::memory_order_acq_rel)) continue;
    const std::uint32_t grid =
        slot.grid;  // read before the last fetch_add below: the slot may be filled anew right after it
    // Odd workers take blocks from the upper end: launch after launch a thread then works on the same part of the
    // tensors, which its cache holds.
    const bool from_above = !slot.ordered && worker % 2 == 1;
    const std::uint32_t block = from_above ? grid - 1 - slot.high.fetch_add(1, std::memory_order_relaxed)
                                           : slot.low.fetch_add(1, std::memory_order_relaxed);
    // Not while it is being filled: that would take its lines from the thread that writes them.
    if (number + 1 < head) prefetch(stream.slots_[(number + 1) % StreamCore::kSlots]);
    if (slot.kind == Slot::Kind::launch) {
      const HostCall call{.buffers = slot.addresses.data(),
                          .parameters = slot.parameters.data(),
                          .begin = block,
                          .end = block + 1,
                          .grid = grid,
                          .worker = worker,
                          .phase = &slot.phase,
                          .fault = &fault_of_call,
                          .device = this};
      if (slot.traced) [[unlikely]] {
        const double from = ExecutionTrace::seconds_now();
        slot.function(call);
        trace_.note(stream.number_, number % StreamCore::kSlots).span.add(from, ExecutionTrace::seconds_now());
      } else {
        slot.function(call);
      }
    } else if (slot.kind == Slot::Kind::record) {
      slot.event->seconds.store(ExecutionTrace::seconds_now(), std::memory_order_relaxed);
      const std::shared_ptr<EventCore> event = std::move(slot.event);
      event->passed.store(slot.event_generation, std::memory_order_release);
    } else if (slot.event->passed.load(std::memory_order_acquire) < slot.event_generation) {
      slot.ticket.store(ticket, std::memory_order_release);  // not yet: put the claim back
      return worked;
    } else {
      slot.event.reset();
    }
    worked = true;
    const bool traced = slot.traced;
    if (slot.done.fetch_add(1, std::memory_order_acq_rel) + 1 == grid) {
      if (traced) [[unlikely]]
        trace_.add_launch(stream.number_, trace_.note(stream.number_, number % StreamCore::kSlots));
      finish_slot(stream, number);
    }
  }
}

void Executor::publish_graph(StreamCore& stream, std::shared_ptr<GraphProgram> program) {
  TW_CHECK(program->threads() == threads_);
  Slot& slot = next_slot(stream);
  slot.kind = Slot::Kind::graph;
  program->queued_.fetch_add(1, std::memory_order_relaxed);
  slot.program = std::move(program);
  publish(stream, slot);
}

// Goes through the replay with the others, or alone. False if nothing was run.
bool Executor::run_graph(StreamCore& stream, Slot& slot, std::uint64_t number, int worker) {
  std::uint64_t ticket = slot.ticket.load(std::memory_order_acquire);
  do {
    if (!belongs_to(ticket, number)) return true;  // finished meanwhile: look again
    if (ticket & kGraphComplete) return false;     // the others are leaving it
  } while (!slot.ticket.compare_exchange_weak(ticket, ticket + 1, std::memory_order_acq_rel));
  bool worked = false;
  const bool complete =
      slot.program->run({.fault = &fault_of_call, .device = this, .worker = worker, .traced = slot.traced}, worked);
  const std::uint64_t mark = complete ? kGraphComplete : 0;
  ticket = slot.ticket.load(std::memory_order_relaxed);
  std::uint64_t left;
  do {
    left = (ticket | mark) - 1;
  } while (!slot.ticket.compare_exchange_weak(ticket, left, std::memory_order_acq_rel));
  if ((left & kGraphComplete) && (left & kWorkersInGraph) == 0) {  // the last one out
    if (slot.traced) [[unlikely]]
      trace_.add(slot.program->take_records(trace_.note(stream.number_, number % StreamCore::kSlots), stream.number_));
    slot.program->finish_replay();
    slot.program.reset();
    finish_slot(stream, number);
    return true;
  }
  if (!complete) std::this_thread::yield();  // what is waited for may need this processor
  return worked;
}

bool Executor::run_some(int worker, int& first_stream) {
  const int count = stream_count_.load(std::memory_order_acquire);
  for (int i = 0; i < count; ++i) {
    const int at = (first_stream + i) % count;
    if (run_from(*streams_[static_cast<std::size_t>(at)].load(std::memory_order_acquire), worker)) {
      first_stream = at;
      return true;
    }
  }
  return false;
}

bool Executor::help() {
  if (worker_zero_taken_.exchange(true, std::memory_order_acquire)) return false;
  const bool worked = run_some(0, worker_zero_first_);
  worker_zero_taken_.store(false, std::memory_order_release);
  return worked;
}

void Executor::relax(int& idle) {
  if (++idle < kSpinsBeforeSleep) {
    spin(idle);
  } else {
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
}

void Executor::worker_loop(int worker) {
  int first_stream = 0;
  int idle = 0;
  while (!stop_.load(std::memory_order_relaxed)) {
    if (run_some(worker, first_stream)) {
      idle = 0;
      continue;
    }
    if (++idle < kSpinsBeforeSleep) {
      spin(idle);
      continue;
    }
    const std::uint32_t seen = wake_.load(std::memory_order_seq_cst);
    sleepers_.fetch_add(1, std::memory_order_seq_cst);
    // A launch published before this point is seen here; one published later sees the sleeper and wakes it. A stream
    // whose first slot waits for an event is woken by the submission of that event's stream; until then it may be
    // polled slowly.
    bool unfinished = false;
    const int count = stream_count_.load(std::memory_order_seq_cst);
    for (int i = 0; i < count; ++i) {
      StreamCore& stream = *streams_[static_cast<std::size_t>(i)].load(std::memory_order_acquire);
      unfinished |= stream.current_.load(std::memory_order_seq_cst) != stream.head_.load(std::memory_order_seq_cst);
    }
    if (unfinished) {
      sleepers_.fetch_sub(1, std::memory_order_seq_cst);
      if (!run_some(worker, first_stream))
        std::this_thread::sleep_for(std::chrono::microseconds(20));
      else
        idle = 0;
      continue;
    }
    if (!stop_.load(std::memory_order_seq_cst)) futex_wait(wake_, seen);
    sleepers_.fetch_sub(1, std::memory_order_seq_cst);
    idle = 0;
  }
}

void Executor::finish_all() {
  const int count = stream_count_.load(std::memory_order_acquire);
  for (int i = 0; i < count; ++i) finish(*streams_[static_cast<std::size_t>(i)].load(std::memory_order_acquire));
}

std::vector<StreamPoint> Executor::points() const {
  std::vector<StreamPoint> out;
  const int count = stream_count_.load(std::memory_order_acquire);
  for (int i = 0; i < count; ++i) {
    const StreamCore* stream = streams_[static_cast<std::size_t>(i)].load(std::memory_order_acquire);
    out.push_back({stream, stream->submitted()});
  }
  return out;
}

void Executor::start_trace() {
  finish_all();
  trace_.start();
}

std::vector<runtime::TraceRecord> Executor::stop_trace() {
  finish_all();
  return trace_.stop();
}

void Executor::report_fault(const std::string& text) {
  const std::lock_guard lock(fault_mutex_);
  if (fault_.empty()) fault_ = text;
  faulted_.store(true, std::memory_order_release);
}

void Executor::raise_fault() const {
  if (!faulted_.load(std::memory_order_acquire)) return;
  const std::lock_guard lock(fault_mutex_);
  fail({.what = "device work failed: " + fault_,
        .where = "host device",
        .expected = "",
        .found = "",
        .fix = "the device keeps this fault; open it again after correcting the input"});
}

}  // namespace tilewright::backends::host
