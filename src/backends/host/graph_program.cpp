#include "backends/host/graph_program.h"

#include <algorithm>

#include "backends/host/relax_processor.h"

namespace tilewright::backends::host {
namespace {

constexpr int kLooksBeforeStealing = 16;
constexpr int kPatience = 128;  // looks without progress until a worker leaves

// The word of a share: number of the phase, units taken from the front, units taken from the back.
constexpr std::uint64_t word_of(std::uint32_t phase, std::uint32_t front, std::uint32_t back) {
  return std::uint64_t{phase} << 32 | front << 16 | back;
}
constexpr std::uint32_t phase_of(std::uint64_t word) { return static_cast<std::uint32_t>(word >> 32); }
constexpr std::uint32_t front_of(std::uint64_t word) { return static_cast<std::uint32_t>(word >> 16) & 0xffff; }
constexpr std::uint32_t back_of(std::uint64_t word) { return static_cast<std::uint32_t>(word) & 0xffff; }

// Phases and units are counted on from replay to replay, and wrap.
constexpr bool reached(std::uint32_t count, std::uint32_t until) {
  return static_cast<std::int32_t>(count - until) >= 0;
}

}  // namespace

bool GraphProgram::complete(std::uint32_t until) const {
  std::uint32_t sum = 0;
  for (const Line& line : lines_) sum += line.done.load(std::memory_order_acquire);
  return reached(sum, until);
}

// The first phase that is not complete.
std::uint32_t GraphProgram::phase_reached(std::uint32_t base) const {
  std::uint32_t sum = 0;
  for (const Line& line : lines_) sum += line.done.load(std::memory_order_acquire);
  const auto at = std::upper_bound(units_until_.begin(), units_until_.end(), sum - base);
  return static_cast<std::uint32_t>(at - units_until_.begin());
}

// Long shares go in ever smaller portions, so that others can help.
std::uint32_t GraphProgram::portion(const Share& share, std::uint32_t remaining) {
  return std::min(remaining, std::max(share.least, share.ordered ? 1 : remaining / 4));
}

// Units of a phase that has begun. Anybody may open the share of a worker that has not come so far.
GraphProgram::Claim GraphProgram::claim(Line& line, std::uint32_t phase, const Share& share, bool own) {
  std::uint64_t word = line.share.load(std::memory_order_acquire);
  for (;;) {
    if (!reached(phase, phase_of(word))) return {};  // its worker waits for the next one
    const bool open = phase_of(word) == phase;
    const std::uint32_t front = open ? front_of(word) : 0, back = open ? back_of(word) : 0;
    const std::uint32_t remaining = share.units - front - back;
    if (remaining == 0) return {};
    const std::uint32_t count = portion(share, remaining);
    const bool from_front = own || share.ordered;
    const std::uint64_t taken = from_front ? word_of(phase, front + count, back) : word_of(phase, front, back + count);
    if (line.share.compare_exchange_weak(word, taken, std::memory_order_acq_rel, std::memory_order_acquire))
      return {from_front ? front : share.units - back - count, count};
  }
}

GraphProgram::Claim GraphProgram::steal(std::uint32_t number, std::uint32_t phase, int worker, int& victim) {
  for (int i = 1; i < threads_; ++i) {
    victim = worker + i < threads_ ? worker + i : worker + i - threads_;
    const Share& theirs = share(phase, victim);
    if (theirs.units == 0) continue;
    const Claim got = claim(lines_[static_cast<std::size_t>(victim)], number, theirs, false);
    if (got.count) return got;
  }
  return {};
}

// Gives units back that were taken ahead. False if the phase has begun and others have taken later ones that may rely
// on these.
bool GraphProgram::give_back(Line& line, std::uint32_t phase, std::uint32_t count) {
  std::uint64_t word = line.share.load(std::memory_order_acquire);
  while (phase_of(word) == phase && front_of(word) == count)
    if (line.share.compare_exchange_weak(word, word_of(phase, 0, back_of(word)), std::memory_order_acq_rel,
                                         std::memory_order_acquire))
      return true;
  return false;
}

bool GraphProgram::run(const Surroundings& surroundings, bool& worked) {
  if (threads_ == 1) {
    run_serially(surroundings, 0, phases_.empty() ? 0 : phases_[0].records);
    worked = true;
    return true;
  }
  const int worker = surroundings.worker;
  Line& mine = lines_[static_cast<std::size_t>(worker)];
  const auto phases = static_cast<std::uint32_t>(phases_.size());
  const std::uint32_t first_number = replays_ * phases + 1;
  const std::uint32_t base = phases ? replays_ * units_until_.back() : 0;
  std::uint32_t done = mine.done.load(std::memory_order_relaxed);
  std::uint32_t ahead = 0;  // units of this phase that were taken before it began
  bool helping = true;      // others did not come so far by themselves
  for (std::uint32_t phase = phase_reached(base); phase < phases; ++phase) {
    const std::uint32_t number = first_number + phase, until = base + units_until_[phase];
    const Share& own = share(phase, worker);
    const bool last = phase + 1 == phases;
    std::uint32_t ran = 0;
    if (own.units)
      for (Claim got = ahead ? Claim{0, ahead} : claim(mine, number, own, true); got.count;
           got = claim(mine, number, own, true)) {
        run_units(surroundings, phase, own, got);
        ran += got.count;
        if (ran == own.units) break;
      }
    // The first units of the next phase are taken together with the report that these are done: one write to the line
    // for both. While these are not reported, the phase is not complete and nobody else touches the word.
    ahead = 0;
    if (!last) {
      const Share& next = share(phase + 1, worker);
      if (next.units) {
        const std::uint32_t count = portion(next, next.units);
        const std::uint64_t taken = word_of(number + 1, count, 0);
        std::uint64_t word = mine.share.load(std::memory_order_relaxed);
        if (ran) {
          mine.share.store(taken, std::memory_order_release);
          ahead = count;
        } else if (!reached(phase_of(word), number + 1) &&
                   mine.share.compare_exchange_strong(word, taken, std::memory_order_acq_rel)) {
          ahead = count;
        }
      }
    }
    if (ran) {
      mine.done.store(done += ran, std::memory_order_release);
      worked = true;
    }
    if (!last) prefetch(phase + 1, worker);
    // Who works beside others that come by themselves need not look at their shares at once, which would only take
    // the lines from them.
    int looks = helping || phases_[phase].ordered ? kLooksBeforeStealing : 0;
    if (ran < units_until_[phase] - (phase ? units_until_[phase - 1] : 0)) helping = false;  // until seen again
    while (!complete(until)) {
      int victim = 0;
      const Claim got = looks < kLooksBeforeStealing ? Claim{} : steal(number, phase, worker, victim);
      if (got.count) {
        run_units(surroundings, phase, share(phase, victim), got);
        mine.done.store(done += got.count, std::memory_order_release);
        worked = helping = true;
      } else if (++looks < kPatience) {
        relax_processor();
      } else if (ahead == 0 || give_back(mine, number + 1, ahead)) {
        return false;
      }
    }
  }
  return true;
}

void GraphProgram::run_units(const Surroundings& surroundings, std::uint32_t phase, const Share& share, Claim claim) {
  const Segment* first = segments_.data() + share.first_segment;
  const Segment* segment = first;
  if (share.segments > 1 && claim.first)
    segment = std::upper_bound(first, first + share.segments, claim.first,
                               [](std::uint32_t unit, const Segment& s) { return unit < s.first_unit; }) -
              1;
  for (std::uint32_t unit = claim.first, end = claim.first + claim.count; unit < end; ++segment) {
    const std::uint32_t from = unit - segment->first_unit, to = std::min(end - segment->first_unit, segment->units);
    unit = segment->first_unit + to;
    // Whoever runs the first block of a phase leaves the words of the phase before as the next replay wants them.
    const bool begins = phase > 0 && segment->record == phases_[phase].first_record && phases_[phase - 1].has_words;
    if (segment->serial) {
      if (begins) clear_words(phases_[phase - 1]);
      run_serially(surroundings, segment->record, segment->serial);
      continue;
    }
    Record& node = record(segment->record);
    const std::uint32_t low = segment->from_above ? segment->units - to : from;
    const std::uint32_t high = segment->from_above ? segment->units - from : to;
    const std::uint32_t begin_block = segment->first_block + low * segment->blocks_per_unit;
    const std::uint32_t end_block = std::min(node.grid, segment->first_block + high * segment->blocks_per_unit);
    if (begins && begin_block == 0) clear_words(phases_[phase - 1]);
    run_blocks(surroundings, node, begin_block, end_block);
  }
}

inline void GraphProgram::call(const Surroundings& surroundings, const Record& record, const HostCall& call) {
  if (!surroundings.traced) [[likely]] {
    record.function(call);
    return;
  }
  const double from = ExecutionTrace::seconds_now();
  record.function(call);
  spans_[record.node].add(from, ExecutionTrace::seconds_now());
}

void GraphProgram::run_blocks(const Surroundings& surroundings, Record& node, std::uint32_t begin, std::uint32_t end) {
  const auto* data = reinterpret_cast<const std::byte*>(&node);
  const HostCall call{.buffers = reinterpret_cast<void* const*>(data + node.addresses),
                      .parameters = data + node.parameters,
                      .begin = begin,
                      .end = end,
                      .grid = node.grid,
                      .worker = surroundings.worker,
                      .phase = &node.phase,
                      .fault = surroundings.fault,
                      .device = surroundings.device};
  this->call(surroundings, node, call);
}

void GraphProgram::run_serially(const Surroundings& surroundings, std::uint32_t at, std::uint32_t count) {
  const Record* node = &record(at);
  std::atomic<std::uint32_t> phase{0};
  HostCall call{.buffers = nullptr,
                .parameters = nullptr,
                .begin = 0,
                .end = 1,
                .grid = 1,
                .worker = surroundings.worker,
                .phase = &phase,
                .fault = surroundings.fault,
                .device = surroundings.device};
  for (; count > 0; --count) {
    const auto* data = reinterpret_cast<const std::byte*>(node);
    const auto* next = reinterpret_cast<const Record*>(data + node->bytes);
    call.buffers = reinterpret_cast<void* const*>(data + node->addresses);
    call.parameters = data + node->parameters;
    call.end = call.grid = node->grid;
    phase.store(0, std::memory_order_relaxed);
    __builtin_prefetch(next);
    this->call(surroundings, *node, call);
    node = next;
  }
}

void GraphProgram::clear_words(const Phase& phase) {
  std::uint32_t at = phase.first_record;
  for (std::uint32_t i = 0; i < phase.records; ++i) {
    Record& node = record(at);
    if (node.phase.load(std::memory_order_relaxed)) node.phase.store(0, std::memory_order_relaxed);
    at += node.bytes / kUnit;
  }
}

void GraphProgram::prefetch(std::uint32_t phase, int worker) const {
  const Share& next = share(phase, worker);
  if (next.units == 0) return;
  const std::byte* data = record_bytes() + std::size_t{segments_[next.first_segment].record} * kUnit;
  for (int line = 0; line < 4; ++line) __builtin_prefetch(data + line * 64);
}

void GraphProgram::make_spans() {
  if (spans_.empty()) spans_ = std::vector<TraceSpan>(nodes_.size());
}

std::vector<runtime::TraceRecord> GraphProgram::take_records(const ExecutionTrace::Note& replay, int stream) {
  std::vector<runtime::TraceRecord> records;
  records.reserve(nodes_.size());
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const Node& node = nodes_[i];
    if (node.grid == 0) continue;
    records.push_back({.op = node.op,
                       .path = node.path,
                       .kernel = node.kernel,
                       .stream = stream,
                       .replay = replay.replay,
                       .grid = node.grid,
                       .cost = node.cost,
                       .submitted = replay.submitted,
                       .started = spans_[i].started(),
                       .finished = spans_[i].finished()});
    spans_[i].clear();
  }
  return records;
}

void GraphProgram::finish_replay() {
  if (threads_ > 1 && !phases_.empty() && phases_.back().has_words) clear_words(phases_.back());
  ++replays_;
  queued_.fetch_sub(1, std::memory_order_release);
}

}  // namespace tilewright::backends::host
