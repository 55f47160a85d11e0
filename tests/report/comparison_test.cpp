#include "report/compare/comparison.h"

#include <gtest/gtest.h>

#include "report/report_fixture.h"
#include "report/table.h"

namespace tilewright::report {
namespace {

using test::fixture_report;

std::string tables(const Json& a, const Json& b) {
  const BenchReport x = bench_report(a), y = bench_report(b);
  const std::string text = comparison_tables({"a.json", x}, {"b.json", y});
  for (const std::string& line : test::lines_of(text)) EXPECT_LE(display_width(line), 100) << line;
  EXPECT_TRUE(comparison_page({"a.json", x}, {"b.json", y}).ends_with("</html>\n"));
  return text;
}

// A run in which one arm is `factor` times as fast as in the fixture, on a machine `speed` times as fast.
Json changed(double factor, double speed = 1) {
  Json report = fixture_report();
  for (Json& arm : report["result"]["cases"][0]["arms"]) {
    const double f = arm["name"] == "graph" ? factor : 1;
    arm["rate_median"] = arm["rate_median"].get<double>() * f * speed;
    if (arm["ratio"].is_null()) continue;
    for (const char* name : {"value", "low", "high"}) arm["ratio"][name] = arm["ratio"][name].get<double>() * f;
  }
  return report;
}

TEST(Comparison, GoesByEachRunsOwnRatios) {
  const BenchReport a = bench_report(changed(1)), b = bench_report(changed(1.2, 3));
  const Comparison c = compare(a, b);
  ASSERT_EQ(c.cases.size(), 3u);
  for (const ArmPair& arm : c.cases[0].arms) {
    if (arm.name == "eager") {
      EXPECT_FALSE(arm.change);
    } else {
      EXPECT_NEAR(*arm.change, arm.name == "graph" ? 1.2 : 1.0, 1e-9) << arm.name;  // the machine's speed cancels
      EXPECT_EQ(arm.claimed, arm.name == "graph") << arm.name;  // intervals of 1 % and a change of 20 %
    }
  }
  for (const ArmPair& arm : c.cases[1].arms) EXPECT_FALSE(arm.change) << arm.name;  // failed, wrong, refused
}

TEST(Comparison, ClaimsNothingWhereIntervalsTouch) {
  const BenchReport a = bench_report(changed(1)), b = bench_report(changed(1.001));
  for (const ArmPair& arm : compare(a, b).cases[0].arms) EXPECT_FALSE(arm.claimed) << arm.name;
}

TEST(Comparison, ShowsAbsoluteNumbersOnlyOfOneMachine) {
  EXPECT_NE(tables(fixture_report(), fixture_report()).find("A tok/s"), std::string::npos);
  for (const auto& [field, value] :
       {std::pair<const char*, Json>{"cpu", "Other CPU"}, {"isa", "avx2"}, {"threads", 4}, {"system", "Linux 5"}}) {
    Json other = fixture_report();
    other["result"]["fingerprint"][field] = value;
    const std::string text = tables(fixture_report(), other);
    EXPECT_EQ(text.find("A tok/s"), std::string::npos) << field;
    EXPECT_NE(text.find("absolute numbers are not compared: the "), std::string::npos) << text;
    EXPECT_NE(text.find("B / A"), std::string::npos) << "ratios still are";
  }
  Json unknown = fixture_report();
  unknown["result"]["fingerprint"] = nullptr;
  EXPECT_EQ(tables(unknown, unknown).find("A tok/s"), std::string::npos) << "two unknown machines are not the same one";
}

TEST(Comparison, NeverPutsTwoRegimesSideBySide) {
  Json prefill = fixture_report();
  prefill["result"]["regime"] = "prefill";
  const std::string text = tables(fixture_report(), prefill);
  EXPECT_NE(text.find("not put side by side: the regime is decode in A, prefill in B"), std::string::npos)
      << text.substr(0, 600);
  EXPECT_EQ(text.find("B / A"), std::string::npos);
}

TEST(Comparison, SaysWhatElseDiffersAndWhatOnlyOneHas) {
  Json other = fixture_report();
  other["tool"]["commit"] = "ba9876543210";
  other["result"]["settings"]["rounds"] = 20;
  other["result"]["cases"][2]["label"] = "decode 16 after 4000, batch 1";
  const std::string text = tables(fixture_report(), other);
  for (const char* part : {"commit is 0123456789ab in A, ba9876543210 in B", "setting rounds is 9 in A, 20 in B",
                           "only in A: decode 16 after 2000, batch 1", "only in B: decode 16 after 4000, batch 1"})
    EXPECT_NE(text.find(part), std::string::npos) << part;
}

TEST(Comparison, TakesAPortAgainstABenchmark) {
  EXPECT_NE(tables(test::port_report(), fixture_report()).find("B / A"), std::string::npos);
}

}  // namespace
}  // namespace tilewright::report
