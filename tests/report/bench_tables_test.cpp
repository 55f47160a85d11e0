#include "report/bench/bench_tables.h"

#include <gtest/gtest.h>

#include <regex>

#include "report/report_fixture.h"
#include "report/table.h"

namespace tilewright::report {
namespace {

using test::fixture_report;
using test::lines_of;

// The lines between a case's title and the next empty line.
std::vector<std::string> main_table(const std::string& text, const std::string& label) {
  std::vector<std::string> out;
  bool inside = false;
  for (const std::string& line : lines_of(text)) {
    if (line == label) inside = true;
    if (inside && line.empty()) return out;
    if (inside) out.push_back(line);
  }
  return out;
}

std::string row_of(const std::vector<std::string>& table, const std::string& arm) {
  for (const std::string& line : table)
    if (line.starts_with(arm + " ")) return line;
  return {};
}

void expect_fits(const Json& report, int width = 100) {
  for (const std::string& line : lines_of(bench_tables(report, {.width = width}))) {
    ASSERT_LE(display_width(line), width) << line;
    for (const char c : line) ASSERT_FALSE(static_cast<unsigned char>(c) < 0x20 || c == 0x7f) << line;
  }
}

TEST(BenchTables, FitAHundredColumnsWhateverTheReportHolds) {
  expect_fits(fixture_report());
  expect_fits(fixture_report(), 90);
  expect_fits(test::port_report());
  const std::string texts[] = {
      "",
      std::string(5000, 'w'),
      "many words " + std::string(300, 'x') + " and more of them, again and again and again",
      "漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字",
      "\x1b[31mred\x1b[0m\r\n\tnext\x07",
      "e\u0301\u0301\u0301 \u202e turned"};
  for (const std::string& text : texts) expect_fits(test::with_texts(fixture_report(), text));
  for (const double number : {0.0, 1e300, -1e300, 1e-300, -123456.789, 99999.5, 999.9999})
    expect_fits(test::with_numbers(fixture_report(), number));
  expect_fits(test::with_numbers(test::with_texts(fixture_report(), std::string(200, 'y')), -1e300));
}

TEST(BenchTables, ColourIsAroundTheTextAndChangesNothingElse) {
  const std::string plain = bench_tables(fixture_report());
  const std::string coloured = bench_tables(fixture_report(), {.colour = true});
  EXPECT_EQ(plain.find('\x1b'), std::string::npos);
  EXPECT_NE(coloured, plain);
  EXPECT_EQ(std::regex_replace(coloured, std::regex("\x1b\\[[0-9;]*m"), ""), plain);
}

TEST(BenchTables, AWrongArmHasNoRatio) {
  Json report = fixture_report();
  Json& arm = report["result"]["cases"][0]["arms"][3];
  arm["ratio"]["value"] = 7.654;
  const std::string label = report["result"]["cases"][0]["label"];
  EXPECT_NE(row_of(main_table(bench_tables(report), label), "fused+graph").find("7.654"), std::string::npos);
  for (const char* how : {"status", "verdict"}) {
    Json wrong = report;
    Json& one = wrong["result"]["cases"][0]["arms"][3];
    if (std::string(how) == "status")
      one["status"] = "wrong";
    else
      one["equality"]["verdict"] = "wrong";
    const std::string text = bench_tables(wrong);
    EXPECT_EQ(text.find("7.654"), std::string::npos);
    EXPECT_NE(row_of(main_table(text, label), "fused+graph").find("wrong"), std::string::npos);
    EXPECT_NE(text.find("fused+graph: wrong"), std::string::npos);
    EXPECT_EQ(text.find("→ fused+graph"), std::string::npos) << "its times are no savings";
  }
}

TEST(BenchTables, ClaimOnlyWhatTheIntervalAllows) {
  const auto cell = [](const std::vector<double>& seconds, double low, double high, bool claimed) {
    Json report = fixture_report();
    Json& one = report["result"]["cases"][0];
    for (Json& arm : one["arms"]) arm["seconds"] = seconds;
    one["arms"][1]["ratio"] = {{"against", "eager"}, {"value", 1.5},       {"low", low},
                               {"high", high},       {"claimed", claimed}, {"best_of", 1.5}};
    std::string text;  // the ratio may be folded onto a second line
    for (const std::string& line : main_table(bench_tables(report), one["label"])) text += line + "\n";
    const std::size_t begin = text.find("\ngraph "), end = text.find("\nfused ");
    return text.substr(begin, end - begin);
  };
  const std::vector<double> six(6, 1.0), five(5, 1.0);
  EXPECT_NE(cell(six, 1.4, 1.6, true).find("1.500 [1.400, 1.600]"), std::string::npos);
  EXPECT_EQ(cell(six, 1.4, 1.6, true).find("claim"), std::string::npos);
  EXPECT_NE(cell(six, 0.9, 1.6, true).find("no claim"), std::string::npos);   // 1 lies within
  EXPECT_NE(cell(six, 1.4, 1.6, false).find("no claim"), std::string::npos);  // the report does not claim it
  EXPECT_NE(cell(five, 1.4, 1.6, true).find("no claim"), std::string::npos);  // too few rounds
  EXPECT_EQ(cell(five, 1.4, 1.6, true).find('['), std::string::npos);         // nor an interval
}

TEST(BenchTables, SayWhyAnArmHasNoNumbers) {
  const std::string text = bench_tables(fixture_report());
  for (const char* part : {"graph: failed", "107027 ACL_ERROR_RT_STREAM_CAPTURED", "layers.0.self_attn, bmm, launch 12",
                           "fix       move the call out", "fused+graph: refused: its ungraphed arm, fused, is wrong",
                           "fused: skipped: --skip fused", "near-tie at position 19, gap 0.003100",
                           "INCOMPLETE  interrupted", "the load average was 1.4"})
    EXPECT_NE(text.find(part), std::string::npos) << part;
}

TEST(BenchTables, PrintThePaddingOfAPrefill) {
  Json report = fixture_report();
  report["result"]["cases"][0]["tokens"] = 96;
  EXPECT_NE(bench_tables(report).find("96 tokens, padded to 128 (25.0 % of the work is padding)"), std::string::npos);
}

TEST(BenchTables, ShowAPortsSteps) {
  const std::string text = bench_tables(test::port_report());
  EXPECT_NE(text.find("bench    failed    12.50 s  one arm failed"), std::string::npos) << text.substr(0, 3000);
}

}  // namespace
}  // namespace tilewright::report
