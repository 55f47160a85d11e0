#include "port/steps.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace tilewright::port {
namespace {

Step step(const std::string& name, std::vector<std::string>& ran, StepOutcome outcome = {}) {
  return {.name = name, .run = [name, &ran, outcome] {
            ran.push_back(name);
            return outcome;
          }};
}

TEST(Steps, WhatEndsTheOthersLeavesThoseThatAlwaysRun) {
  std::vector<std::string> ran;
  std::vector<Step> steps = {step("a", ran), step("b", ran, {StepStatus::failed, "why", true}), step("c", ran),
                             step("d", ran)};
  steps[3].always = true;
  Progress progress({.style = Progress::Style::off});
  std::vector<StepRecord> records;
  run_steps(steps, progress, records);
  EXPECT_EQ(ran, (std::vector<std::string>{"a", "b", "d"}));
  EXPECT_EQ(records[1].detail, "why");
  const StepStatus expected[] = {StepStatus::done, StepStatus::failed, StepStatus::not_run, StepStatus::done};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(records[i].status, expected[i]) << i;
}

TEST(Steps, AFailureThatEndsNothingGoesOn) {
  std::vector<std::string> ran;
  Progress progress({.style = Progress::Style::off});
  std::vector<StepRecord> records;
  run_steps({step("a", ran, {StepStatus::failed, "one arm", false}), step("b", ran)}, progress, records);
  EXPECT_EQ(ran.size(), 2u);
}

TEST(Steps, ASkippedStepIsNotRunAndSaysWhy) {
  std::vector<std::string> ran;
  std::vector<Step> steps = {step("a", ran), step("b", ran)};
  steps[0].skip = "--skip a";
  Progress progress({.style = Progress::Style::off});
  std::vector<StepRecord> records;
  run_steps(steps, progress, records);
  EXPECT_EQ(ran, std::vector<std::string>{"b"});
  EXPECT_EQ(steps_json(records)[0],
            Json({{"name", "a"}, {"status", "skipped"}, {"detail", "--skip a"}, {"seconds", 0.0}}));
}

TEST(Steps, AnErrorIsAFailureInOneLine) {
  Progress progress({.style = Progress::Style::off});
  std::vector<StepRecord> records;
  run_steps({{.name = "a",
              .run = []() -> StepOutcome {
                fail({.what = "it broke", .where = "x.json", .expected = "2", .found = "3", .fix = "mend it"});
              }},
             {.name = "b", .run = [] { return StepOutcome{}; }}},
            progress, records);
  EXPECT_EQ(records[0].status, StepStatus::failed);
  EXPECT_EQ(records[1].status, StepStatus::not_run);
  EXPECT_EQ(records[0].detail.find('\n'), std::string::npos);
  for (const char* part : {"it broke", "x.json", "expected 2", "mend it"})
    EXPECT_NE(records[0].detail.find(part), std::string::npos) << records[0].detail;
}

TEST(Steps, RecordsAreKeptUpToDateWhileStepsRun) {
  Progress progress({.style = Progress::Style::off});
  std::vector<StepRecord> records;
  int calls = 0;
  const auto look = [&] {
    EXPECT_EQ(records[0].status, StepStatus::done);
    return StepOutcome{};
  };
  run_steps(
      {{.name = "a", .run = [] { return StepOutcome{}; }}, {.name = "b", .skip = "no"}, {.name = "c", .run = look}},
      progress, records, [&] { ++calls; });
  EXPECT_EQ(calls, 2);  // not for the one that was skipped
}

TEST(Steps, OneLine) {
  EXPECT_EQ(in_one_line("a\n  b\nc"), "a; b; c");
  EXPECT_EQ(in_one_line("a\n"), "a; ");
  EXPECT_EQ(in_one_line(""), "");
}

}  // namespace
}  // namespace tilewright::port
