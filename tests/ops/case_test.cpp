// Every embedded case on every device that computes; the form of case files; a runner that finds faults.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "base/error.h"
#include "base/mapped_file.h"
#include "ops/case_fixture.h"
#include "ops/core/case_runner.h"
#include "ops/ops_fixture.h"

namespace tilewright {
namespace {

using namespace ops;

class CasesOn : public testing::TestWithParam<const char*> {};

TEST_P(CasesOn, EveryWayToRunAnOperatorEqualsItsReference) {
  test::Bench bench(GetParam());
  Context context = bench.context();
  std::set<std::string> ran;
  for (const OpCase& one : test::all_cases())
    for (const CaseResult& result : run_case(context, one)) {
      if (!result.refusal.empty()) continue;
      ran.insert(result.op + " " + result.path);
      EXPECT_TRUE(result.pass) << result.op << " " << result.id << ", " << result.path << ": " << result.reason
                               << " (worst error " << result.worst_error << " at " << result.where << ")";
    }
  for (const auto& op : test::program().registry.ops())
    EXPECT_TRUE(op->schema.kind == OpKind::small || ran.count(op->schema.name + " decomposition")) << op->schema.name;
}

INSTANTIATE_TEST_SUITE_P(Devices, CasesOn, testing::Values("host", "host:opaque"));

constexpr const char* kSmallCase = R"({"cases": [{"op": "silu_mul", "id": "a", "seed": 1, "input": {
  "gate": {"shape": [2, 3], "dtype": "f32", "fill": "normal"}, "up": {"shape": [2, 3], "dtype": "f32", "fill": "ones"}},
  "rtol": 1e-5, "atol": 1e-6, "reason": "f32"}]})";

TEST(CaseFile, SaysWhatDoesNotFit) {
  const auto message = [](const std::string& from, const std::string& to) {
    std::string text = kSmallCase;
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    try {
      parse_cases(test::program().registry, text, "my.json", "");
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  const std::tuple<const char*, const char*, const char*> faults[] = {
      {"silu_mul", "silu_mull", "no operator of that name"},
      {"\"rtol\": 1e-5", "\"rtoll\": 1e-5", "unknown key"},
      {"\"rtol\": 1e-5", "\"rtol\": -1", "negative tolerance"},
      {"\"up\"", "\"upp\"", "an input is missing"},
      {"[2, 3]", "[2, -3]", "not a shape"},
      {"[2, 3]", "[2, 99999999999]", "not a shape"},
      {"[2, 3]", "[100000000, 100000000]", "too large"},
      {"[2, 3]", "[1,1,1,1,1,1,1,1,1]", "not a shape"},
      {"[2, 3], \"dtype\"", "[2, 3], \"strides\": [1], \"dtype\"", "one stride for each dim"},
      {"[2, 3], \"dtype\"", "[2, 3], \"strides\": [200000000, 200000000], \"dtype\"", "too large"},
      {"\"ones\"", "\"onces\"", "unknown fill"},
      {"\"fill\": \"ones\"", "\"values\": [1, 2]", "one value for each element"},
      {"\"seed\": 1", "\"seed\": 1, \"attributes\": {\"eps\": 1}", "no such attribute"},
      {"}]}", "}", "my.json"},
  };
  for (const auto& [from, to, expected] : faults)
    EXPECT_NE(message(from, to).find(expected), std::string::npos) << to << " gave: " << message(from, to);
}

TEST(CaseFile, IsReadFromAUsersPathInTheSameForm) {
  const std::filesystem::path path = std::filesystem::path(testing::TempDir()) / "tilewright_cases.json";
  write_file_atomically(path, [](std::ostream& out) { out << kSmallCase; });
  const std::vector<OpCase> cases = read_case_file(test::program().registry, path);
  std::filesystem::remove(path);
  ASSERT_EQ(cases.size(), 1u);
  test::Bench bench("host");
  Context context = bench.context();
  for (const CaseResult& result : run_case(context, cases[0])) EXPECT_TRUE(result.pass) << result.reason;
}

TEST(CaseRunner, FailsAWrongKernelAndNamesThePlaceAndReportsRefusals) {
  Registry registry;
  OpSchema schema;
  schema.name = "twice";
  schema.inputs = {{"x"}};
  schema.infer = [](const OpCall& call) -> std::vector<OutputSpec> {
    return {{call.input(0).dtype(), call.input(0).shape()}};
  };
  registry.add(schema).reference = [](std::span<const HostTensor> in, const Attributes&) {
    HostTensor out(in[0].dtype, in[0].shape);
    for (std::int64_t i = 0; i < out.elements(); ++i) out.set(i, i == 4 ? 7 : 0);
    return std::vector<HostTensor>{out};
  };
  const auto store = [](double value) {
    return [value](Context& context, const OpCall& call) {
      HostTensor zeros(DType::f32, call.outputs[0].shape());
      for (std::int64_t i = 0; i < zeros.elements(); ++i) zeros.set(i, value);
      context.stream().copy_from_host(call.outputs[0].memory(), 0, zeros.bytes.data(), zeros.bytes.size());
    };
  };
  registry.add_candidate("twice", "host", {.name = "zeros", .run = store(0)});
  registry.add_candidate("twice", "host", {.name = "nan", .run = store(std::nan(""))});
  registry.add_candidate(
      "twice", "host",
      {.name = "shy", .refuse = [](Context&, const OpCall&) { return std::string("not today"); }, .run = store(0)});
  registry.finish();
  const OpCase one = parse_cases(registry, R"({"op": "twice", "cases": [{"id": "a", "seed": 1, "input": {
    "x": {"shape": [2, 3], "dtype": "f32", "fill": "zeros"}}, "rtol": 0, "atol": 1, "reason": "none"}]})",
                                 "test", "")[0];
  test::Bench bench("host");
  Context context(registry, *bench.stream);
  const std::vector<CaseResult> results = run_case(context, one);
  ASSERT_EQ(results.size(), 3u);
  EXPECT_FALSE(results[0].pass);
  EXPECT_EQ(results[0].worst_error, 7);
  EXPECT_EQ(results[0].where, "out [1, 1]");
  EXPECT_FALSE(results[1].pass);
  EXPECT_FALSE(results[1].reason.empty());
  EXPECT_EQ(results[2].refusal, "not today");
}

TEST(CaseRunner, ReadsOverlappingStridesAsTheDeviceDoes) {
  const OpCase one =
      parse_cases(test::program().registry, R"({"op": "silu_mul", "cases": [{"id": "a", "seed": 1, "input": {
    "gate": {"shape": [3, 4], "strides": [0, 1], "dtype": "f32", "fill": "normal"},
    "up": {"shape": [3, 4], "strides": [1, 3], "dtype": "f32", "fill": "normal"}},
    "rtol": 1e-5, "atol": 1e-6, "reason": "f32"}]})",
                  "test", "")[0];
  test::Bench bench("host");
  Context context = bench.context();
  HostTensor values;
  const Tensor gate = case_input(context, one, 0, values);
  const HostTensor back = to_host(*bench.stream, gate);
  EXPECT_EQ(values.bytes, back.bytes);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(values.at(i), values.at(i + 8));
}

}  // namespace
}  // namespace tilewright
