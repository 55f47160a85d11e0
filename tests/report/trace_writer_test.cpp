#include "report/trace_writer.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <sstream>

#include "base/json.h"

namespace tilewright::report {
namespace {

std::vector<TraceArm> two_arms() {
  TraceArm eager{"eager", {}}, graph{"graph \"quoted\" <&>", {}};
  for (int i = 0; i < 5; ++i) {
    const double at = 1e6 + i * 1e-4;  // a device that has run for days
    eager.events.push_back({.op = "linear",
                            .path = "layers.0.mlp",
                            .kernel = "bf16",
                            .stream = i % 2,
                            .submitted = at,
                            .started = at + 2e-6,
                            .finished = at + 5.5e-6,
                            .grid = 8,
                            .bytes = 1e9,
                            .flops = 2e9});
    graph.events.push_back(
        {.op = "linear\x01\xff", .path = "", .submitted = at, .started = at, .finished = at + 1e-6, .replay = i});
  }
  eager.events.push_back({.op = "submit", .lane = "host", .started = 1e6, .finished = 1e6 + 1e-3});
  return {eager, graph};
}

Json written(const std::vector<TraceArm>& arms) {
  std::ostringstream out;
  write_trace(out, arms);
  return Json::parse(out.str());
}

TEST(TraceWriter, WritesABareArrayWithTimesAsDecimalText) {
  const Json trace = written(two_arms());
  ASSERT_TRUE(trace.is_array());
  for (const Json& e : trace) {
    EXPECT_TRUE(std::set<std::string>({"M", "X", "s", "f"}).contains(e["ph"])) << e;
    if (e["ph"] == "M") continue;
    ASSERT_TRUE(e["ts"].is_string()) << e;
    const std::string ts = e["ts"];
    EXPECT_EQ(ts.find_first_not_of("0123456789."), ts.npos) << ts;
    EXPECT_LT(std::stod(ts), 1e6) << "time 0 is the arm's own beginning";
    if (e["ph"] == "X") {
      EXPECT_GE(e["dur"].get<double>(), 0) << e;
    }
  }
}

TEST(TraceWriter, JoinsEachSubmissionToItsLaunch) {
  const Json trace = written(two_arms());
  std::map<std::string, Json> begins, ends;
  std::map<std::int64_t, Json> device;
  for (const Json& e : trace) {
    if (e["ph"] == "s") begins[e["id"]] = e;
    if (e["ph"] == "f") ends[e["id"]] = e;
    if (e["ph"] == "X" && e["args"].contains("Task Type")) device[e["args"]["connection_id"]] = e;
  }
  EXPECT_EQ(begins.size(), 10u);
  ASSERT_EQ(ends.size(), 10u);
  ASSERT_EQ(device.size(), 10u);
  for (const auto& [id, end] : ends) {
    const Json& launch = device.at(std::stoll(id));
    EXPECT_EQ(begins.at(id)["cat"], "HostToDevice");
    EXPECT_EQ(end["pid"], launch["pid"]);
    EXPECT_EQ(end["tid"], launch["tid"]);
    EXPECT_EQ(end["ts"], launch["ts"]);
    EXPECT_NE(begins.at(id)["pid"], end["pid"]);
    EXPECT_LE(std::stod(begins.at(id)["ts"].get<std::string>()), std::stod(end["ts"].get<std::string>()));
  }
}

TEST(TraceWriter, GivesEachArmProcessesInTheOrderOfItsLayers) {
  const Json trace = written(two_arms());
  std::map<int, std::string> names;
  std::map<int, int> order;
  std::set<int> used;
  for (const Json& e : trace) {
    if (e["name"] == "process_name") names[e["pid"]] = e["args"]["name"];
    if (e["name"] == "process_sort_index") order[e["pid"]] = e["args"]["sort_index"];
    if (e["ph"] == "X") used.insert(e["pid"].get<int>());
  }
  ASSERT_EQ(names.size(), 5u);  // eager has host work of its own
  std::vector<std::pair<int, std::string>> sorted;
  for (const auto& [pid, name] : names) {
    EXPECT_TRUE(used.contains(pid)) << name;
    sorted.emplace_back(order.at(pid), name);
    const int layer = pid >> 5 & 31;
    EXPECT_TRUE(layer == 6 || layer == 7 || layer == 14) << pid;
  }
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(sorted[0].second, "eager: Host");
  EXPECT_EQ(sorted[1].second, "eager: Submission");
  EXPECT_EQ(sorted[2].second, "eager: Device");
  EXPECT_EQ(sorted[4].second, "graph \"quoted\" <&>: Device");
}

TEST(TraceWriter, KeepsTimesAndFacts) {
  for (const Json& e : written(two_arms())) {
    if (e["ph"] != "X" || e["name"] != "linear" || !e["args"].contains("Task Type")) continue;
    EXPECT_NEAR(e["dur"].get<double>(), 3.5, 1e-3);
    EXPECT_EQ(e["args"]["path"], "layers.0.mlp");
    EXPECT_EQ(e["args"]["Block Num"], 8);
    EXPECT_EQ(e["args"]["bytes"], 1e9);
    EXPECT_EQ(e["args"]["Wait Time(us)"].get<double>(), 2.0);
    EXPECT_EQ(e["args"]["Task Type"], "KERNEL");
  }
  EXPECT_EQ(written({}), Json::array());
  TraceEvent odd{.op = "x", .submitted = NAN, .started = INFINITY, .finished = -1, .bytes = NAN};
  EXPECT_GT(written({{"a", {odd}}}).size(), 3u);
}

}  // namespace
}  // namespace tilewright::report
