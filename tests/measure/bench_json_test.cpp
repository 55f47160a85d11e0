// What a benchmark writes is what docs/report.md states and what report/ reads.
#include "measure/bench_json.h"

#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <regex>
#include <set>
#include <sstream>

#include "models/model_fixture.h"
#include "report/bench/bench_report.h"
#include "report/envelope.h"

namespace tilewright::test {
namespace {

using namespace measure;

// A result in which nothing is absent.
BenchResult full() {
  ArmResult arm{.name = "fused+graph", .status = ArmStatus::measured, .reason = "none"};
  arm.error = ErrorText{
      .what = "w", .where = "layers.0", .expected = "e", .found = "f", .fix = "x", .code = 107027, .name = "ACL"};
  arm.equality = Equality{.bound = 0.5,
                          .worst = 0.25,
                          .worst_position = 3,
                          .bound_source = "s",
                          .bitwise = true,
                          .tokens_compared = 9,
                          .tokens_equal = 8,
                          .verdict = Verdict::near_tie,
                          .near_tie = Equality::NearTie{4, 0.125}};
  arm.seconds = {1, 2, 3};
  arm.median_s = 2, arm.best_s = 1, arm.spread_low = 1.5, arm.spread_high = 2.5;
  arm.rate_median = 4, arm.rate_best = 8, arm.limit_share = 0.5;
  arm.ratio = Ratio{.against = "eager", .value = 2, .low = 1.5, .high = 2.5, .claimed = true, .best_of = 2.25};
  arm.latency = Latency{1, 2, 3, 4, 5};
  arm.once = OnceCosts{1, 2, 3, 4, 5, 6};
  arm.launches_per_token = 7, arm.launch_cost_s = 0.5;
  arm.memory = ArmMemory{1, 2, 3, true};
  arm.split = Split{1, 0.5, 0.25, 0.25, 1.125};
  arm.by_op = {{"linear", "matmul", 3, 1.5}};
  arm.timeline = {{.op = "linear", .path = "lm_head", .kernel = "", .on_host = true, .start_s = 1, .end_s = 2}};
  arm.timeline_cut = 5;
  arm.graph = GraphFacts{1, 2, 3, 4, 5};
  arm.fused = {{"rms_norm", "tile", "", 4}};
  arm.fallbacks = {{"rope", "tile", "because", 2}};
  CaseResult of_case{.label = "decode 8 after 8, batch 1",
                     .tokens = 8,
                     .padded_tokens = 16,
                     .limit_s = 0.5,
                     .limit_kind = "read bandwidth"};
  of_case.arms = {arm};
  of_case.differences = {{"eager", "fused", 1, 0, 0.5, 0.25, 0.25}};
  of_case.coverage = {{"layers.*.mlp", "silu_mul", 2, 1, "why"}};
  BenchResult out{.regime = "decode", .regime_reason = "as asked"};
  out.model = {"n", "f", "d", "bf16", 4, true, true, 99};
  out.settings = {{"iters", 3}};
  out.fingerprint = {"cpu", "avx2", 2, "performance", {0.5, 0.25, 0.125}, 1000, "Linux"};
  out.limits = BenchLimits{1, 2, 3, 4, 5};
  out.smoke = engine::SmokeResult{};
  out.smoke->checks = {{.name = "text", .value = 1, .bound = 2, .note = "fine"}};
  out.cases = {of_case};
  out.incomplete = "interrupted after round 3";
  out.warnings = {"a warning"};
  return out;
}

void paths_of(const Json& json, const std::string& path, std::set<std::string>& out) {
  if (json.is_object() && path != "settings")
    for (const auto& [key, value] : json.items()) paths_of(value, path.empty() ? key : path + "." + key, out);
  else if (json.is_array() && !json.empty() && json[0].is_object())
    for (const Json& item : json) paths_of(item, path + "[]", out);
  if (!path.empty() && !path.ends_with("[]")) out.insert(path);
}

TEST(BenchJson, WritesWhatThePageStatesAndNothingElse) {
  std::ifstream file(source_dir() / "docs/report.md");
  std::stringstream text;
  text << file.rdbuf();
  std::set<std::string> stated;
  std::string prefix;
  for (std::string line; std::getline(text, line);) {
    if (line.starts_with("## "))
      prefix = line.find("result.cases[].arms[]") != std::string::npos ? "cases[].arms[]."
               : line.find("result.cases[]") != std::string::npos      ? "cases[]."
               : line.find("A benchmark") != std::string::npos         ? ""
                                                                       : "-";
    if (prefix == "-" || !line.starts_with("| `")) continue;
    const std::string cell = line.substr(0, line.find(" | "));
    static const std::regex kName("`([a-z_0-9.\\[\\]]+)`");
    for (std::sregex_iterator at(cell.begin(), cell.end(), kName), end; at != end; ++at)
      stated.insert(prefix + (*at)[1].str());
  }
  stated.erase("gate.smoke.skipped");  // only where it did not run
  std::set<std::string> written;
  paths_of(bench_json(full()), "", written);
  EXPECT_GT(stated.size(), 100u);
  for (const std::string& path : written) EXPECT_TRUE(stated.contains(path)) << "written, but not stated: " << path;
  for (const std::string& path : stated) EXPECT_TRUE(written.contains(path)) << "stated, but not written: " << path;
}

TEST(BenchJson, IsReadBackByTheReport) {
  const BenchResult from = full();
  const report::BenchReport to =
      report::bench_report(report::envelope({.kind = "bench", .seeds = {}, .result = bench_json(from)}));
  ASSERT_EQ(to.cases.size(), 1u);
  ASSERT_EQ(to.cases[0].arms.size(), 1u);
  const report::Arm& arm = to.cases[0].arms[0];
  EXPECT_EQ(to.incomplete, from.incomplete);
  EXPECT_EQ(to.model.weights, "dummy");
  EXPECT_EQ(arm.status, "measured");
  EXPECT_EQ(arm.equality->verdict, "near-tie");
  EXPECT_EQ(arm.equality->near_tie->position, 4);
  EXPECT_EQ(arm.seconds, from.cases[0].arms[0].seconds);
  EXPECT_EQ(arm.spread_high, 2.5);
  EXPECT_EQ(arm.ratio->low, 1.5);
  EXPECT_EQ(arm.error->code, 107027);
  EXPECT_EQ(arm.timeline[0].lane, "host");
  EXPECT_EQ(arm.graph->barriers_removed, 3);
  EXPECT_EQ(to.cases[0].differences[0].whole_s, 1);
  EXPECT_EQ(to.cases[0].coverage[0].small, 1);
}

// What is absent or not finite is null, never a number that JSON cannot hold.
TEST(BenchJson, AbsentIsNull) {
  BenchResult result{.regime = "decode"};
  CaseResult of_case{.label = "x"};
  of_case.arms = {{.name = "eager", .status = ArmStatus::wrong, .reason = "r"}};
  of_case.arms[0].equality = Equality{.worst = std::numeric_limits<double>::infinity(), .verdict = Verdict::wrong};
  result.cases = {of_case};
  const Json json = parse_json(bench_json(result).dump(), "text");
  EXPECT_EQ(json["incomplete"], false);
  const Json& arm = json["cases"][0]["arms"][0];
  for (const char* key : {"median_s", "spread", "ratio", "latency", "memory", "split", "graph", "error"})
    EXPECT_TRUE(arm.at(key).is_null()) << key;
  EXPECT_TRUE(arm["equality"]["worst"].is_null());
  EXPECT_NO_THROW(report::bench_report(report::envelope({.kind = "bench", .seeds = {}, .result = json})));
}

}  // namespace
}  // namespace tilewright::test
