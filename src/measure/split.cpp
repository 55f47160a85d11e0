#include "measure/split.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <numeric>
#include <string_view>

#include "tile/binary/compiler.h"

namespace tilewright::measure {
namespace {

using runtime::TraceRecord;

constexpr std::size_t kMostEntries = 400;

// When the step that `when` lies in began: before, the host was waiting for a token.
double step_begin(const TracedIteration& traced, double when) {
  const auto next = std::upper_bound(traced.steps.begin(), traced.steps.end(), when);
  return next == traced.steps.begin() ? traced.start : *std::prev(next);
}

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

}  // namespace

TracedIteration trace_iteration(engine::Runner& runner, const Pass& pass, const std::atomic<bool>* interrupted) {
  runtime::Device& device = runner.session().device();
  begin_iteration(runner, pass);
  TracedIteration out;
  const double compiled = tile::compile_seconds();
  device.start_trace();
  try {
    out.start = device.now();
    out.steps.push_back(out.start);
    if (pass.regime == Regime::prefill) {
      runner.prefill(pass.ids);
      runner.read_token();
    }
    for (std::int64_t step = 0; step < pass.steps; ++step) {
      stop_if(interrupted);
      if (step > 0) out.steps.push_back(device.now());
      runner.step();
      runner.read_token();
    }
    out.end = device.now();
  } catch (...) {
    device.stop_trace();
    throw;
  }
  out.records = device.stop_trace();
  out.compile_s = tile::compile_seconds() - compiled;
  std::stable_sort(out.records.begin(), out.records.end(),
                   [](const TraceRecord& a, const TraceRecord& b) { return a.started < b.started; });
  return out;
}

Split split_of(const TracedIteration& traced, double untraced) {
  Split out;
  double at = traced.start;  // up to here the device's time is explained
  for (const TraceRecord& record : traced.records) {
    const double started = std::clamp(record.started, traced.start, traced.end);
    const double finished = std::clamp(record.finished, started, traced.end);
    if (started > at) {
      const double issued = std::clamp(record.submitted, at, started);
      out.bubbles_s += issued - at;
      out.submission_s += started - issued;
      at = started;
    }
    if (finished > at) {
      out.kernels_s += finished - at;
      at = finished;
    }
  }
  out.submission_s += traced.end - at;
  out.compile_s = std::min(traced.compile_s, out.bubbles_s);
  out.bubbles_s -= out.compile_s;
  const double wall = traced.end - traced.start;
  out.trace_slowdown = wall / untraced;
  for (double* part : {&out.kernels_s, &out.submission_s, &out.bubbles_s, &out.compile_s}) *part *= untraced / wall;
  return out;
}

const char* op_class(std::string_view op, runtime::Unit unit) {
  static constexpr std::array<std::string_view, 5> kMatmul = {"linear", "matmul", "bmm", "grouped_gemm", "expert_ffn"};
  if (std::find(kMatmul.begin(), kMatmul.end(), op) != kMatmul.end()) return "matmul";
  if (contains(op, "attention") || contains(op, "softmax")) return "attention";
  if (contains(op, "norm")) return "norm";
  switch (unit) {
    case runtime::Unit::matrix:
      return "matmul";
    case runtime::Unit::move:
      return "move";
    case runtime::Unit::vector:
    case runtime::Unit::conversion:
      return "elementwise";
    case runtime::Unit::reduction:
      break;
  }
  return op == "mean" ? "norm" : "other";  // what a norm is decomposed into
}

std::vector<OpTime> time_by_op(const TracedIteration& traced, double untraced) {
  const double scale = untraced / (traced.end - traced.start);
  std::map<std::string_view, OpTime> by_op;
  for (const TraceRecord& record : traced.records) {
    OpTime& row = by_op[record.op];
    if (row.launches++ == 0) {
      row.op = record.op;
      row.op_class = op_class(record.op, record.cost.unit);
    }
    row.seconds += scale * std::max(0.0, record.finished - record.started);
  }
  std::vector<OpTime> out;
  for (auto& [name, row] : by_op) out.push_back(std::move(row));
  std::stable_sort(out.begin(), out.end(), [](const OpTime& a, const OpTime& b) { return a.seconds > b.seconds; });
  return out;
}

std::vector<TimelineEntry> timeline(const TracedIteration& traced, double from, double to, std::size_t most,
                                    std::int64_t& cut) {
  std::vector<TimelineEntry> out;
  double issued = from;  // the host was at work on the next launch from here on
  int replay = -1;
  cut = 0;
  const auto add = [&](TimelineEntry entry) {
    if (out.size() < most)
      out.push_back(std::move(entry));
    else
      ++cut;
  };
  for (const TraceRecord& record : traced.records) {
    if (record.started < from || record.started >= to) continue;
    issued = std::max(issued, step_begin(traced, record.submitted));
    if (record.submitted > issued && (record.replay < 0 || record.replay != replay)) {
      add({.op = record.replay < 0 ? record.op : "replay",
           .path = record.replay < 0 ? record.path : "",
           .kernel = "",
           .on_host = true,
           .start_s = issued - from,
           .end_s = record.submitted - from,
           .submitted_s = record.submitted - from,
           .replay = record.replay});
      issued = record.submitted;
    }
    replay = record.replay;
    add({.op = record.op,
         .path = record.path,
         .kernel = record.kernel,
         .start_s = record.started - from,
         .end_s = record.finished - from,
         .submitted_s = record.submitted - from,
         .stream = record.stream,
         .replay = record.replay,
         .grid = record.grid,
         .bytes = record.cost.bytes_read + record.cost.bytes_written,
         .flops = record.cost.flops});
  }
  return out;
}

std::vector<TimelineEntry> step_timeline(const TracedIteration& traced, std::int64_t& cut) {
  // The step of median length: others may have been disturbed.
  const auto end_of = [&](std::size_t step) {
    return step + 1 < traced.steps.size() ? traced.steps[step + 1] : traced.end;
  };
  std::vector<std::size_t> order(traced.steps.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::nth_element(
      order.begin(), order.begin() + static_cast<std::ptrdiff_t>(order.size() / 2), order.end(),
      [&](std::size_t a, std::size_t b) { return end_of(a) - traced.steps[a] < end_of(b) - traced.steps[b]; });
  const std::size_t step = order[order.size() / 2];
  return timeline(traced, traced.steps[step], end_of(step), kMostEntries, cut);
}

std::vector<TimelineEntry> whole_timeline(const TracedIteration& traced) {
  std::int64_t cut = 0;
  return timeline(traced, traced.start, traced.end, std::numeric_limits<std::size_t>::max(), cut);
}

Difference difference(const ArmResult& from, const ArmResult& to) {
  const Split &a = *from.split, &b = *to.split;
  return {from.name,
          to.name,
          *from.median_s - *to.median_s,
          a.compile_s - b.compile_s,
          a.submission_s - b.submission_s,
          a.bubbles_s - b.bubbles_s,
          a.kernels_s - b.kernels_s};
}

}  // namespace tilewright::measure
