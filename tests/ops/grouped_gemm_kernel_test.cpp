// The grouped_gemm kernel on random calls against the reference: groups of no, few and many rows, rows outside groups.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "ops/core/case_runner.h"
#include "ops/ops_fixture.h"
#include "tile/binary/compiler.h"

namespace tilewright {
namespace {

using namespace ops;

TEST(GroupedGemmKernel, EqualsTheReferenceOnRandomCalls) {
  if (const std::string reason = tile::compiler_unavailable(); !reason.empty()) GTEST_SKIP() << reason;
  constexpr int kCalls = 300;
  test::Bench bench("host");
  Context context = bench.context();
  std::mt19937 random(4711);
  const auto between = [&](std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random() % static_cast<std::uint32_t>(high - low + 1));
  };
  int ran = 0;
  for (int i = 0; i < kCalls; ++i) {
    const std::int64_t experts = between(1, 6), rows = i % 10 == 0 ? between(150, 400) : between(0, 40);
    const std::int64_t columns = between(1, 150), inner = i % 7 == 0 ? between(250, 600) : between(1, 90);
    OpCase one;
    one.op = "grouped_gemm";
    one.id = fmt::format("random_{}", i);
    one.seed = static_cast<std::uint64_t>(i);
    const DType dtype = std::array{DType::f32, DType::f16, DType::bf16}[static_cast<std::size_t>(i % 3)];
    const std::int64_t gap = between(0, 9);
    one.inputs = {{.name = "x", .dtype = dtype, .shape = {rows, inner}, .strides = {inner + gap, 1}, .fill = "normal"},
                  {.name = "weights",
                   .dtype = dtype,
                   .shape = {experts, columns, inner},
                   .strides = {(columns + gap) * inner, inner, 1},
                   .fill = "normal"}};
    std::vector<double> offsets;
    for (std::int64_t e = 0; e <= experts; ++e) offsets.push_back(static_cast<double>(between(0, rows)));
    if (i % 2 == 0) {
      offsets.front() = 0;
      offsets.back() = static_cast<double>(rows);
    }
    std::sort(offsets.begin(), offsets.end());
    one.inputs.push_back({.name = "offsets", .dtype = DType::i32, .shape = {experts + 1}, .values = offsets});
    // f32 sums of products of size one in any order; then one rounding, which may fall on either side.
    one.atol = 3e-7 * static_cast<double>(inner + 8);
    one.rtol = dtype == DType::f32 ? 1e-6 : dtype == DType::f16 ? 0x1p-10 : 0x1p-7;
    one.reason = "random";
    for (const CaseResult& result : run_case(context, one)) {
      if (result.path == "decomposition") continue;
      ASSERT_EQ(result.refusal, "") << one.id;
      ++ran;
      ASSERT_TRUE(result.pass) << one.id << ": " << result.reason << " (worst error " << result.worst_error << " at "
                               << result.where << ") " << dtype_name(dtype) << " rows " << rows << " inner " << inner;
    }
  }
  EXPECT_EQ(ran, kCalls);
}

}  // namespace
}  // namespace tilewright
