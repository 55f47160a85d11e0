#include "measure/split.h"

#include <gtest/gtest.h>

#include <random>

namespace tilewright::measure {
namespace {

runtime::TraceRecord record(double submitted, double started, double finished, const char* op = "mul") {
  runtime::TraceRecord out;
  out.op = op;
  out.path = "layers.0.mlp";
  out.submitted = submitted;
  out.started = started;
  out.finished = finished;
  return out;
}

double sum(const Split& s) { return s.kernels_s + s.submission_s + s.bubbles_s + s.compile_s; }

// Worked out on paper: [0,1] the host has not issued the first launch, [1,2] it was issued but has not begun, [2,5] two
// kernels that overlap, [5,6] bubble, [6,6.5] submission, [6.5,8] a kernel, [8,9] until the host knows.
TEST(Split, NamesEachStretchOfTime) {
  const TracedIteration traced{
      .start = 0, .end = 9, .steps = {0}, .records = {record(1, 2, 4), record(1.5, 3, 5), record(6, 6.5, 8)}};
  const Split split = split_of(traced, 9);
  EXPECT_DOUBLE_EQ(split.kernels_s, 4.5);
  EXPECT_DOUBLE_EQ(split.bubbles_s, 2);
  EXPECT_DOUBLE_EQ(split.submission_s, 2.5);
  EXPECT_DOUBLE_EQ(split.trace_slowdown, 1);
}

TEST(Split, CompilingIsNoBubble) {
  const TracedIteration traced{.start = 0, .end = 4, .compile_s = 1.5, .steps = {0}, .records = {record(2, 2, 4)}};
  const Split split = split_of(traced, 2);  // the trace made it twice as slow
  EXPECT_DOUBLE_EQ(split.compile_s, 0.75);
  EXPECT_DOUBLE_EQ(split.bubbles_s, 0.25);
  EXPECT_DOUBLE_EQ(split.kernels_s, 1);
  EXPECT_DOUBLE_EQ(split.trace_slowdown, 2);
}

// The law: whatever the records, no part is negative and the four sum to the untraced time; the differences of two arms
// sum to the difference of their medians.
TEST(Split, PartsSumToTheWhole) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> unit(0, 1);
  ArmResult before;
  for (int i = 0; i < 300; ++i) {
    TracedIteration traced{.start = 10, .steps = {10}};
    double at = 10;
    for (int n = static_cast<int>(20 * unit(random)); n > 0; --n) {
      const double started = at + unit(random) - 0.3, submitted = started - unit(random);
      traced.records.push_back(record(submitted, started, started + unit(random)));
      at = started + 0.5 * unit(random);
    }
    std::sort(traced.records.begin(), traced.records.end(),
              [](const auto& a, const auto& b) { return a.started < b.started; });
    traced.end = at + 2;
    traced.compile_s = unit(random);
    const double untraced = 1 + unit(random);
    ArmResult arm;
    arm.median_s = untraced;
    arm.split = split_of(traced, untraced);
    for (const double part :
         {arm.split->kernels_s, arm.split->submission_s, arm.split->bubbles_s, arm.split->compile_s})
      EXPECT_GE(part, 0);
    EXPECT_NEAR(sum(*arm.split), untraced, 1e-12);
    if (before.split) {
      const Difference d = difference(before, arm);
      EXPECT_NEAR(d.kernels_s + d.submission_s + d.bubbles_s + d.compile_s, d.whole_s, 1e-12);
    }
    before = arm;
  }
}

TEST(Split, OpsAreSummedAndClassed) {
  const TracedIteration traced{
      .start = 0, .end = 10, .steps = {0}, .records = {record(0, 0, 1), record(0, 1, 5, "linear"), record(0, 5, 6)}};
  const std::vector<OpTime> ops = time_by_op(traced, 10);
  ASSERT_EQ(ops.size(), 2u);
  EXPECT_EQ(ops[0].op, "linear");
  EXPECT_EQ(ops[0].op_class, "matmul");
  EXPECT_EQ(ops[1].launches, 2);
  EXPECT_DOUBLE_EQ(ops[1].seconds, 2);
  EXPECT_STREQ(op_class("qk_norm_rope", runtime::Unit::vector), "norm");
  EXPECT_STREQ(op_class("scaled_masked_softmax", runtime::Unit::vector), "attention");
  EXPECT_STREQ(op_class("argmax", runtime::Unit::reduction), "other");
}

TEST(Timeline, OfAStepHasBothLanesAndSaysWhatIsCut) {
  TracedIteration traced{.start = 0, .end = 30, .steps = {0, 10, 20}};
  for (int step = 0; step < 3; ++step)
    for (int i = 0; i < 4; ++i)
      traced.records.push_back(record(10 * step + i + 0.5, 10 * step + i + 1, 10 * step + i + 2));
  std::int64_t cut = -1;
  const std::vector<TimelineEntry> all = step_timeline(traced, cut);
  EXPECT_EQ(cut, 0);
  ASSERT_EQ(all.size(), 8u);
  EXPECT_TRUE(all[0].on_host);
  EXPECT_DOUBLE_EQ(all[0].start_s, 0);  // of the step, in which the host waits for nothing
  EXPECT_DOUBLE_EQ(all[0].end_s, 0.5);
  EXPECT_FALSE(all[1].on_host);
  EXPECT_DOUBLE_EQ(all[1].start_s, 1);
  EXPECT_EQ(timeline(traced, 10, 20, 3, cut).size(), 3u);
  EXPECT_EQ(cut, 5);
  // A replay is submitted once.
  for (runtime::TraceRecord& r : traced.records)
    r.replay = static_cast<int>(r.started) / 10, r.submitted = 10 * r.replay + 0.5;
  const std::vector<TimelineEntry> replayed = step_timeline(traced, cut);
  EXPECT_EQ(std::count_if(replayed.begin(), replayed.end(), [](const TimelineEntry& e) { return e.on_host; }), 1);
}

// A step that was disturbed says nothing about the others: the one of median length is shown, wherever it stands.
TEST(Timeline, ShowsTheStepOfMedianLength) {
  std::vector<double> lengths = {1, 2, 30};
  do {
    TracedIteration traced{.start = 0};
    double at = 0;
    for (const double length : lengths) {
      traced.steps.push_back(at);
      traced.records.push_back(record(at, at, at + length, length == 2 ? "wanted" : "other"));
      at += length;
    }
    traced.end = at;
    std::int64_t cut = 0;
    const std::vector<TimelineEntry> shown = step_timeline(traced, cut);
    ASSERT_EQ(shown.size(), 1u);
    EXPECT_EQ(shown[0].op, "wanted");
    EXPECT_EQ(shown[0].end_s, 2);
  } while (std::next_permutation(lengths.begin(), lengths.end()));
}

}  // namespace
}  // namespace tilewright::measure
