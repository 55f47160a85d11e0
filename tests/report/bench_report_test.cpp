#include "report/bench/bench_report.h"

#include <gtest/gtest.h>

#include "report/bench/bench_tables.h"
#include "report/page/bench_page.h"
#include "report/report_fixture.h"
#include "report/table.h"

namespace tilewright::report {
namespace {

using test::fixture_report;

ErrorText refusal(const Json& envelope) {
  try {
    bench_report(envelope, "r.json");
  } catch (const Error& error) {
    return error.text();
  }
  ADD_FAILURE() << "was read";
  return {};
}

TEST(BenchReport, ReadsTheFixture) {
  const BenchReport r = bench_report(fixture_report());
  EXPECT_EQ(r.regime, "decode");
  EXPECT_EQ(r.tool_commit, "0123456789ab");
  ASSERT_EQ(r.cases.size(), 3u);
  ASSERT_EQ(r.cases[1].arms.size(), 4u);
  EXPECT_EQ(r.cases[1].arms[1].error->code, 107027);
  EXPECT_TRUE(r.cases[1].arms[2].is_wrong());
  EXPECT_EQ(r.cases[0].arms[2].equality->near_tie->position, 19);
  EXPECT_EQ(r.incomplete, "interrupted after round 4 of case 3");
}

TEST(BenchReport, ReadsAPortWithItsBenchmark) {
  const BenchReport r = bench_report(test::port_report());
  ASSERT_EQ(r.steps.size(), 3u);
  EXPECT_EQ(r.steps[1].status, "skipped");
  EXPECT_FALSE(r.steps[1].seconds);
  EXPECT_EQ(r.cases.size(), 3u);
  Json stopped = test::port_report();
  stopped["result"]["bench"] = nullptr;
  EXPECT_FALSE(bench_report(stopped).has_bench);
  EXPECT_NE(bench_tables(stopped).find("resolve"), std::string::npos);
}

TEST(BenchReport, RefusesOtherVersionsKindsAndFiles) {
  Json other = fixture_report();
  other["version"] = 2;
  EXPECT_EQ(refusal(other).what, "a report of another version");
  EXPECT_EQ(refusal(other).expected, "version 1");
  EXPECT_EQ(refusal(other).found, "version 2");
  EXPECT_NE(refusal(other).fix.find("0.1.0"), std::string::npos);
  other = fixture_report();
  other["kind"] = "limits";
  EXPECT_EQ(refusal(other).found, "\"limits\"");
  other = fixture_report();
  other.erase("schema");
  EXPECT_EQ(refusal(other).what, "not a report of this program");
  for (const char* text : {"[]", "3", "null", "{}", "\"tilewright-report\"", "{\"schema\": 3}"})
    EXPECT_EQ(refusal(Json::parse(text)).what, "not a report of this program") << text;
}

TEST(BenchReport, NamesTheFieldOfAWrongType) {
  Json report = fixture_report();
  report["result"]["cases"][0]["arms"][1]["rate_median"] = "fast";
  EXPECT_EQ(refusal(report).where, "r.json: result.cases[0].arms[1].rate_median");
  EXPECT_EQ(refusal(report).expected, "a number");
  EXPECT_EQ(refusal(report).found, "string fast");
  report = fixture_report();
  report["result"]["cases"][0]["arms"][1]["status"] = "quick";
  EXPECT_EQ(refusal(report).where, "r.json: result.cases[0].arms[1].status");
}

// Any value in any place is refused with an Error or rendered; nothing else happens.
TEST(BenchReport, RendersOrRefusesWhateverStandsInAField) {
  const Json base = test::small_fixture_report();
  std::vector<Json::json_pointer> places;
  test::for_each_value(base, [&](const Json::json_pointer& at, const Json&) { places.push_back(at); });
  ASSERT_GT(places.size(), 500u);
  const Json values[] = {nullptr, true, "x", -1, 1e300, Json::array(), Json::object(), Json::array({1, "x", nullptr})};
  std::size_t rendered = 0, refused = 0;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const Json& value = values[i % std::size(values)];  // every place has one of them, every kind of place each of them
    Json report = base;
    report[places[i]] = value;
    try {
      const BenchReport read = bench_report(report);
      for (const std::string& line : test::lines_of(bench_tables(read)))
        ASSERT_LE(display_width(line), 100) << places[i] << " = " << value << "\n" << line;
      ASSERT_TRUE(bench_page(read).ends_with("</html>\n"));
      ++rendered;
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(rendered, 100u);
  EXPECT_GT(refused, 100u);
}

}  // namespace
}  // namespace tilewright::report
