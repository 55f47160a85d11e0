// Where the time of one traced iteration went: kernels, submission, bubbles, compiling; by operator; and as a timeline.
#pragma once

#include <vector>

#include "measure/bench_result.h"
#include "measure/pass.h"
#include "runtime/trace.h"

namespace tilewright::measure {

// Seconds on the device's clock.
struct TracedIteration {
  double start = 0;                           // the host began
  double end = 0;                             // the host knew the result
  double compile_s = 0;                       // of compiling in between
  std::vector<double> steps;                  // when each step began (prefill: the start alone)
  std::vector<runtime::TraceRecord> records;  // by `started`
};

// Runs one iteration with the device's trace on. Throws Error where the device cannot trace, PassInterrupted.
TracedIteration trace_iteration(engine::Runner& runner, const Pass& pass,
                                const std::atomic<bool>* interrupted = nullptr);

// Kernels: the union of [started, finished]. A gap before a launch is bubble up to the launch's `submitted` (the host
// had not issued it), submission from there on; what follows the last launch is submission. Compiling is taken out of
// the bubbles, during which it happens. The four sum to end - start, scaled to `untraced` seconds.
Split split_of(const TracedIteration& traced, double untraced);

// Device seconds by op, longest first, scaled likewise.
std::vector<OpTime> time_by_op(const TracedIteration& traced, double untraced);
// "matmul", "attention", "norm", "elementwise", "move" or "other".
const char* op_class(std::string_view op, runtime::Unit unit);

// Launches that started within [from, to), with the host's work to submit each (or the replay), in order of time, from
// `from` on. At most `most` entries; `cut` becomes the number left out.
std::vector<TimelineEntry> timeline(const TracedIteration& traced, double from, double to, std::size_t most,
                                    std::int64_t& cut);
// Of the step in the middle, at most 400 entries; the whole iteration.
std::vector<TimelineEntry> step_timeline(const TracedIteration& traced, std::int64_t& cut);
std::vector<TimelineEntry> whole_timeline(const TracedIteration& traced);

// `to` against `from`, which both have a median and a split.
Difference difference(const ArmResult& from, const ArmResult& to);

}  // namespace tilewright::measure
