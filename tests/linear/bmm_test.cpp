#include "backends/host/linear/bmm.h"

#include <gtest/gtest.h>

#include <numeric>

#include "linear/reference_fixture.h"

namespace tilewright::backends::host {
namespace {

enum class Side { keys, values, strided };

void check(DType dtype, DType y_dtype, Side side, long M, long N, long K, IsaLevel isa, float scale = 1) {
  SCOPED_TRACE(testing::Message() << dtype_name(dtype) << " side " << int(side) << " M" << M << " N" << N << " K" << K
                                  << " " << isa_name(isa));
  std::mt19937 random(static_cast<unsigned>(M * 31 + N * 17 + K));
  const long outer = 2,
             inner = 3;  // b changes with the outer dimension and repeats over the inner one, as grouped heads do
  Matrix x(dtype, outer * inner * M, K, 2), y(y_dtype, outer * inner * M, N, 3);
  Matrix b(dtype, outer * (side == Side::values ? K : N),
           (side == Side::values ? N : K) * (side == Side::strided ? 2 : 1), 5);
  x.fill(random);
  b.fill(random);
  BmmProblem problem;
  problem.dtype = dtype;
  problem.y_dtype = y_dtype;
  problem.batch[0] = outer;
  problem.batch[1] = inner;
  problem.M = M, problem.N = N, problem.K = K;
  problem.x = x.bytes.data();
  problem.x_row_stride = x.stride;
  problem.x_batch_stride[0] = inner * M * x.stride;
  problem.x_batch_stride[1] = M * x.stride;
  problem.b = b.bytes.data();
  problem.b_n_stride = side == Side::values ? 1 : b.stride;
  problem.b_k_stride = side == Side::values ? b.stride : side == Side::strided ? 2 : 1;
  problem.b_batch_stride[0] = (side == Side::values ? K : N) * b.stride;
  problem.y = y.bytes.data();
  problem.y_row_stride = y.stride;
  problem.y_batch_stride[0] = inner * M * y.stride;
  problem.y_batch_stride[1] = M * y.stride;
  problem.scale = scale;
  const BmmPlan plan = plan_bmm(problem, 2, isa);
  std::vector<std::uint32_t> order(plan.blocks);
  std::iota(order.begin(), order.end(), 0u);
  std::shuffle(order.begin(), order.end(), random);
  for (std::uint32_t block : order) bmm_run(problem, plan, block, block + 1);
  int wrong = 0;
  for (long o = 0; o < outer; ++o)
    for (long i = 0; i < inner; ++i)
      for (long m = 0; m < M; ++m) {
        const long row = (o * inner + i) * M + m;
        for (long n = 0; n < N; ++n) {
          double exact = 0, magnitude = 0;
          for (long k = 0; k < K; ++k) {
            const double w = side == Side::values ? b.get(o * K + k, n) : b.get(o * N + n, k * problem.b_k_stride);
            exact += x.get(row, k) * w * scale;
            magnitude += std::abs(x.get(row, k) * w * scale);
          }
          if (!(std::abs(y.get(row, n) - exact) <= tolerance(exact, magnitude, K, y_dtype)) && ++wrong < 4)
            ADD_FAILURE() << "[" << o << ", " << i << ", " << m << ", " << n << "] " << y.get(row, n) << " instead of "
                          << exact;
        }
        for (long gap = N; gap < y.stride; ++gap)
          ASSERT_TRUE(std::isnan(y.get(row, gap))) << "wrote behind row " << row;
      }
}

TEST(Bmm, EqualsTheProductInDouble) {
  for (IsaLevel isa : testable_levels())
    for (DType dtype : {DType::f32, DType::f16, DType::bf16})
      for (Side side : {Side::keys, Side::values, Side::strided}) {
        for (long M : {1L, 2L, 3L, 4L, 7L, 13L, 40L}) check(dtype, dtype, side, M, 37, 29, isa);
        for (long N : {1L, 32L, 64L, 100L})
          for (long K : {0L, 1L, 2L, 16L, 63L}) {
            check(dtype, dtype, side, 1, N, K, isa);
            check(dtype, dtype, side, 5, N, K, isa);
          }
        for (long M : {1L, 2L, 3L, 4L, 5L}) check(dtype, dtype, side, M, 170, 150, isa);
        check(dtype, DType::f32, side, 3, 48, 128, isa, 0.125f);
        check(dtype, DType::f32, side, 1, 130, 257, isa, 0.125f);
      }
}

TEST(Bmm, EmptyProblemsHaveNoBlocks) {
  BmmProblem problem;
  problem.N = 4;
  EXPECT_EQ(plan_bmm(problem, 2).blocks, 0u);
  problem.M = 4, problem.N = 0;
  EXPECT_EQ(plan_bmm(problem, 2).blocks, 0u);
}

// A masked probability of zero times an infinite value is NaN by the formula; zero columns beyond N must not add any.
TEST(Bmm, InfinityMeetsNoPadding) {
  for (IsaLevel isa : testable_levels())
    for (DType dtype : {DType::f32, DType::f16, DType::bf16})
      for (long M : {1L, 6L}) {
        Matrix x(dtype, M, 3), b(dtype, 3, 5), y(dtype, M, 5);
        for (long m = 0; m < M; ++m)
          for (long k = 0; k < 3; ++k) x.set(m, k, k == 2 ? std::numeric_limits<double>::infinity() : 1);
        for (long k = 0; k < 3; ++k)
          for (long n = 0; n < 5; ++n) b.set(k, n, 1);
        BmmProblem problem;
        problem.dtype = problem.y_dtype = dtype;
        problem.M = M, problem.N = 5, problem.K = 3;
        problem.x = x.bytes.data(), problem.x_row_stride = 3;
        problem.b = b.bytes.data(), problem.b_n_stride = 1, problem.b_k_stride = 5;
        problem.y = y.bytes.data(), problem.y_row_stride = 5;
        const BmmPlan plan = plan_bmm(problem, 1, isa);
        bmm_run(problem, plan, 0, plan.blocks);
        for (long m = 0; m < M; ++m)
          for (long n = 0; n < 5; ++n) EXPECT_EQ(y.get(m, n), std::numeric_limits<double>::infinity());
      }
}

}  // namespace
}  // namespace tilewright::backends::host
