#include "port/arms_progress.h"

#include <gtest/gtest.h>

namespace tilewright::port {
namespace {

// Walks through the stages of `cases` cases as a benchmark does; returns every state.
std::vector<ArmsProgress::State> walk(const measure::BenchOptions& options, int cases) {
  ArmsProgress progress(options);
  std::vector<ArmsProgress::State> out;
  for (const char* stage : {"load", "limits"}) out.push_back(progress.advance({.stage = stage}));
  for (int c = 0; c < cases; ++c) {
    const std::string label = "case " + std::to_string(c);
    for (const char* stage : {"prepare", "compare", "warm up", "measure", "latency", "trace"})
      for (std::uint64_t done = 0; done <= 4; ++done)
        out.push_back(progress.advance({.stage = stage, .of_case = label, .arm = "graph", .done = done, .total = 4}));
  }
  return out;
}

TEST(ArmsProgress, NeverGoesBackAndEndsAtTheEnd) {
  measure::BenchOptions options;
  options.gen = {16, 128};
  options.batch = {1, 2};
  const auto states = walk(options, 4);
  for (std::size_t i = 1; i < states.size(); ++i) EXPECT_GE(states[i].done, states[i - 1].done);
  EXPECT_EQ(states.front().done, 0u);
  EXPECT_GE(states.back().done, states.back().total * 99 / 100);
  EXPECT_LE(states.back().done, states.back().total);
}

TEST(ArmsProgress, MoreCasesThanExpectedDoNoHarm) {
  for (const auto& state : walk({}, 3)) EXPECT_LE(state.done, state.total);
}

TEST(ArmsProgress, SaysWhatIsDone) {
  ArmsProgress progress(measure::BenchOptions{});
  EXPECT_EQ(progress.advance({.stage = "limits"}).doing, "limits");
  EXPECT_EQ(
      progress.advance({.stage = "measure", .of_case = "decode 128", .arm = "fused", .done = 2, .total = 6}).doing,
      "decode 128: measure fused 2/6");
}

TEST(ArmsProgress, AnUnknownStageStandsStill) {
  ArmsProgress progress(measure::BenchOptions{});
  progress.advance({.stage = "measure", .of_case = "a", .done = 1, .total = 2});
  const auto before = progress.advance({.stage = "measure", .of_case = "a", .done = 1, .total = 2}).done;
  EXPECT_GT(before, 0u);
  EXPECT_EQ(progress.advance({.stage = "polish", .of_case = "a", .done = 1, .total = 2}).done, before);
}

}  // namespace
}  // namespace tilewright::port
