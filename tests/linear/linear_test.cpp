#include "backends/host/linear/linear.h"

#include <gtest/gtest.h>

#include <numeric>

#include "backends/host/linear/panels.h"
#include "linear/reference_fixture.h"

namespace tilewright::backends::host {
namespace {

struct Types {
  DType x, w;
};
const Types kTypes[] = {{DType::f32, DType::f32},
                        {DType::f16, DType::f16},
                        {DType::bf16, DType::bf16},
                        {DType::f32, DType::f16},
                        {DType::f32, DType::bf16}};

Bytes packed(const Matrix& w) {
  Bytes out(packed_bytes(w.dtype, w.rows, w.columns));
  pack_panels(w.dtype, w.bytes.data(), w.stride, w.rows, w.columns, out.data(), 0, panel_count(w.rows));
  return out;
}

void run(LinearProblem problem, int threads, IsaLevel isa, std::mt19937& random) {
  const LinearPlan plan = plan_linear(problem.M, problem.N, problem.K, problem.x_dtype, problem.w_dtype, threads, isa);
  Bytes scratch(plan.scratch_bytes);
  problem.scratch = scratch.data();
  std::vector<std::uint32_t> order(plan.prepare_blocks);
  std::iota(order.begin(), order.end(), 0u);
  std::shuffle(order.begin(), order.end(), random);
  for (std::uint32_t block : order) linear_prepare(problem, plan, block, block + 1);
  order.resize(plan.blocks);
  std::iota(order.begin(), order.end(), 0u);
  std::shuffle(order.begin(), order.end(), random);
  for (std::uint32_t block : order) linear_run(problem, plan, block, block + 1);
}

LinearProblem problem_of(const Matrix& x, const Bytes& w, DType w_dtype, const Matrix* bias, Matrix& y) {
  return {.x = x.bytes.data(),
          .x_dtype = x.dtype,
          .x_row_stride = x.stride,
          .packed = w.data(),
          .w_dtype = w_dtype,
          .M = x.rows,
          .N = y.columns,
          .K = x.columns,
          .bias = bias ? bias->bytes.data() : nullptr,
          .bias_dtype = bias ? bias->dtype : DType::f32,
          .y = y.bytes.data(),
          .y_dtype = y.dtype,
          .y_row_stride = y.stride};
}

void check(Types types, long M, long N, long K, bool with_bias, int threads, IsaLevel isa) {
  SCOPED_TRACE(testing::Message() << dtype_name(types.x) << " x " << dtype_name(types.w) << " M" << M << " N" << N
                                  << " K" << K << " bias " << with_bias << " threads " << threads << " "
                                  << isa_name(isa));
  std::mt19937 random(static_cast<unsigned>(M * 7919 + N * 104729 + K));
  Matrix x(types.x, M, K, 3), w(types.w, N, K, 5), y(types.x, M, N, 7),
      bias(with_bias && K % 2 ? DType::f32 : types.w, 1, N);
  x.fill(random);
  w.fill(random);
  bias.fill(random);
  const Bytes weights = packed(w);
  run(problem_of(x, weights, types.w, with_bias ? &bias : nullptr, y), threads, isa, random);
  int wrong = 0;
  for (long m = 0; m < M; ++m) {
    for (long n = 0; n < N; ++n) {
      double exact = with_bias ? bias.get(0, n) : 0, magnitude = std::abs(exact);
      for (long k = 0; k < K; ++k) {
        exact += x.get(m, k) * w.get(n, k);
        magnitude += std::abs(x.get(m, k) * w.get(n, k));
      }
      const double error = std::abs(y.get(m, n) - exact);
      if (!(error <= tolerance(exact, magnitude, K, y.dtype)) && ++wrong < 4)
        ADD_FAILURE() << "[" << m << ", " << n << "] " << y.get(m, n) << " instead of " << exact;
    }
    for (long gap = N; gap < y.stride && m + 1 < M; ++gap)
      ASSERT_TRUE(std::isnan(y.get(m, gap))) << "wrote behind row " << m;
  }
}

TEST(Linear, EqualsTheProductInDouble) {
  for (IsaLevel isa : testable_levels())
    for (Types types : kTypes) {
      for (long M = 1; M <= 17; ++M) check(types, M, 45, 67, M % 2, 2, isa);
      for (long M : {33L, 100L})
        for (long N : {1L, 31L, 129L})
          for (long K : {1L, 2L, 127L}) check(types, M, N, K, true, 2, isa);
      for (long N : {1L, 32L, 33L, 65L})
        for (long K : {1L, 3L, 15L, 16L, 17L, 64L, 301L}) check(types, 3, N, K, N == 33, 1, isa);
      check(types, 7, 200, 1030, false, 4, isa);
    }
}

TEST(Linear, RowsBeyondOneBlock) {
  for (IsaLevel isa : testable_levels())
    for (Types types : {kTypes[0], kTypes[2]}) check(types, 1601, 40, 9, true, 3, isa);
}

TEST(Linear, EmptyProblems) {
  for (IsaLevel isa : testable_levels())
    for (Types types : kTypes) {
      check(types, 5, 37, 0, true, 2, isa);  // the bias alone
      check(types, 5, 37, 0, false, 2, isa);
      EXPECT_EQ(plan_linear(0, 8, 8, types.x, types.w, 2, isa).blocks, 0u);
      EXPECT_EQ(plan_linear(8, 0, 8, types.x, types.w, 2, isa).blocks, 0u);
    }
}

// An infinite activation times padding would be NaN; a NaN in one row or weight must stay in its row or column.
TEST(Linear, InfinitiesAndNansStayWhereTheyBelong) {
  const double inf = std::numeric_limits<double>::infinity();
  for (IsaLevel isa : testable_levels())
    for (Types types : kTypes)
      for (long M : {1L, 5L, 13L})
        for (long K : {1L, 7L, 35L}) {
          SCOPED_TRACE(testing::Message() << dtype_name(types.x) << " x " << dtype_name(types.w) << " M" << M << " K"
                                          << K << " " << isa_name(isa));
          std::mt19937 random(5);
          Matrix x(types.x, M, K, 1), w(types.w, 33, K), y(types.x, M, 33);
          for (long m = 0; m < M; ++m)
            for (long k = 0; k < K; ++k) x.set(m, k, 1);
          for (long n = 0; n < 33; ++n)
            for (long k = 0; k < K; ++k) w.set(n, k, n % 2 ? -2 : 1);
          x.set(0, K - 1, inf);
          if (M > 1) x.set(1, 0, std::nan(""));
          w.set(32, K - 1, std::nan(""));
          const Bytes weights = packed(w);
          run(problem_of(x, weights, types.w, nullptr, y), 2, isa, random);
          for (long m = 0; m < M; ++m)
            for (long n = 0; n < 33; ++n) {
              if (m == 1 || n == 32)
                EXPECT_TRUE(std::isnan(y.get(m, n))) << m << " " << n;
              else if (m == 0)
                EXPECT_EQ(y.get(m, n), n % 2 ? -inf : inf) << n;
              else
                EXPECT_EQ(y.get(m, n), static_cast<double>(n % 2 ? -2 * K : K)) << m << " " << n;
            }
        }
}

TEST(Linear, OutputsRoundToNearestEven) {
  for (IsaLevel isa : testable_levels())
    for (DType dtype : {DType::bf16, DType::f16})
      for (long M : {1L, 6L}) {
        // 1 + step·j/8 for eight j is exact in f32 and lies between two neighbours of the dtype.
        const double step = 2 * rounding_unit(dtype);
        Matrix x(dtype, M, 2), w(dtype, 64, 2), y(dtype, M, 64);
        for (long n = 0; n < 64; ++n) {
          w.set(n, 0, 1 + step * static_cast<double>(n / 8));
          w.set(n, 1, step * static_cast<double>(n % 8) / 8);
        }
        for (long m = 0; m < M; ++m) x.set(m, 0, 1), x.set(m, 1, 1);
        std::mt19937 random(1);
        const Bytes weights = packed(w);
        run(problem_of(x, weights, dtype, nullptr, y), 1, isa, random);
        for (long n = 0; n < 64; ++n) {
          const float exact = static_cast<float>(w.get(n, 0) + w.get(n, 1));
          const double rounded =
              dtype == DType::bf16 ? bf16_to_float(float_to_bf16(exact)) : f16_to_float(float_to_f16(exact));
          for (long m = 0; m < M; ++m)
            EXPECT_EQ(y.get(m, n), rounded) << isa_name(isa) << " " << dtype_name(dtype) << " " << n;
        }
      }
}

// A part of the rows on panel borders gives the same bits as the whole: merged q, k, v rely on it.
TEST(Linear, PartsOnPanelBordersAreProblemsOfTheirOwn) {
  for (IsaLevel isa : testable_levels()) {
    std::mt19937 random(3);
    Matrix x(DType::bf16, 9, 50), w(DType::bf16, 160, 50), y(DType::bf16, 9, 160), part(DType::bf16, 9, 64);
    x.fill(random);
    w.fill(random);
    const Bytes weights = packed(w);
    run(problem_of(x, weights, DType::bf16, nullptr, y), 2, isa, random);
    LinearProblem problem = problem_of(x, weights, DType::bf16, nullptr, part);
    problem.packed = weights.data() + 2 * panel_bytes(DType::bf16, 50);
    run(problem, 2, isa, random);
    for (long m = 0; m < 9; ++m)
      for (long n = 0; n < 64; ++n) EXPECT_EQ(part.get(m, n), y.get(m, 64 + n));
  }
}

TEST(Linear, PlanCoversTheWorkInABoundedNumberOfBlocks) {
  for (long N : {1024L, 4096L, 151936L}) {
    const LinearPlan decode = plan_linear(1, N, 1024, DType::bf16, DType::bf16, 2);
    EXPECT_EQ(decode.prepare_blocks, 0u);
    EXPECT_GE(decode.blocks, 8u);
  }
  EXPECT_FALSE(linear_supports(DType::f16, DType::bf16));
  EXPECT_FALSE(linear_supports(DType::bf16, DType::f32));
  EXPECT_FALSE(linear_supports(DType::i32, DType::i32));
}

}  // namespace
}  // namespace tilewright::backends::host
