// Every operation against formulas written here, on ordinary and on edge values.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "base/error.h"
#include "matrix.h"

namespace tilewright::tile {
namespace {

const std::vector<double> kEdges = {0.0,        -0.0, 1.0,   -1.0, 0.5,   -2.75, 3.0e38, -3.0e38, kDenormal,
                                    -kDenormal, kInf, -kInf, kNaN, 1e-30, 88.0,  -88.0,  1e5,     20.5};

bool same(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
}
double f32(double x) { return static_cast<double>(static_cast<float>(x)); }

struct Unary {
  OpCode op;
  std::function<long double(long double)> formula;
};
class UnaryOperations : public testing::TestWithParam<Unary> {};

TEST_P(UnaryOperations, RoundTheFormulaOnce) {
  const auto got = map_row(DType::f32, DType::f32, kEdges, [&](Builder&, Tile x) { return unary(GetParam().op, x); });
  for (std::size_t i = 0; i < got.size(); ++i) {
    const long double x = static_cast<float>(kEdges[i]);
    const auto expected = static_cast<double>(static_cast<float>(GetParam().formula(x)));
    // long double against double arithmetic, both then rounded to f32: at most one step apart.
    const bool close =
        std::isfinite(expected) && std::fabs(got[i] - expected) <= std::fabs(expected) * 0x1p-23 + 0x1p-149;
    EXPECT_TRUE(same(got[i], expected) || close)
        << opcode_name(GetParam().op) << "(" << kEdges[i] << ") = " << got[i] << ", expected " << expected;
  }
}
INSTANTIATE_TEST_SUITE_P(
    All, UnaryOperations,
    testing::Values(Unary{OpCode::neg, [](long double x) { return -x; }},
                    Unary{OpCode::abs, [](long double x) { return x < 0 || std::signbit(x) ? -x : x; }},
                    Unary{OpCode::exp, [](long double x) { return std::exp(x); }},
                    Unary{OpCode::log, [](long double x) { return std::log(x); }},
                    Unary{OpCode::sqrt, [](long double x) { return std::sqrt(x); }},
                    Unary{OpCode::rsqrt, [](long double x) { return 1 / std::sqrt(x); }},
                    Unary{OpCode::reciprocal, [](long double x) { return 1 / x; }},
                    Unary{OpCode::sin, [](long double x) { return std::sin(x); }},
                    Unary{OpCode::cos, [](long double x) { return std::cos(x); }},
                    Unary{OpCode::tanh, [](long double x) { return std::tanh(x); }},
                    Unary{OpCode::erf, [](long double x) { return std::erf(x); }},
                    Unary{OpCode::sigmoid, [](long double x) { return 1 / (1 + std::exp(-x)); }},
                    Unary{OpCode::silu, [](long double x) { return x / (1 + std::exp(-x)); }},
                    Unary{OpCode::gelu, [](long double x) { return x / 2 * std::erfc(-x / std::sqrt(2.0L)); }},
                    Unary{OpCode::gelu_tanh,
                          [](long double x) {
                            const long double y = std::sqrt(2 / 3.14159265358979323846L) * (x + 0.044715L * x * x * x);
                            return x / (1 + std::exp(-2 * y));
                          }}),
    [](const auto& info) { return std::string(opcode_name(info.param.op)); });

std::vector<double> pairs(DType from, DType to, const std::function<Tile(Tile, Tile)>& body) {
  const auto n = static_cast<std::int64_t>(kEdges.size());
  Builder b("pairs");
  const auto x = b.input("x", from, {n, 1}), z = b.input("z", from, {1, n});
  const auto y = b.output("y", to, {n, n});
  once(b, [&] {
    b.assemble(
        body(broadcast(b.view(x, {0, 0}, {{n}, {1}}), {n}, {n}), broadcast(b.view(z, {0, 0}, {{1}, {n}}), {n}, {n})), y,
        {0, 0});
  });
  const Program program = b.finish();
  Matrix left(from, n, 1, kEdges), right(from, 1, n, kEdges), out(to, n, n);
  interpret_on(program, {&left, &right, &out});
  return out.values();
}

TEST(BinaryOperations, AreTheOnesOfFloat) {
  const std::vector<std::pair<OpCode, std::function<float(float, float)>>> arithmetic = {
      {OpCode::add, [](float a, float b) { return a + b; }},
      {OpCode::sub, [](float a, float b) { return a - b; }},
      {OpCode::mul, [](float a, float b) { return a * b; }},
      {OpCode::div, [](float a, float b) { return a / b; }}};
  for (const auto& [op, formula] : arithmetic) {
    const auto got = pairs(DType::f32, DType::f32, [op = op](Tile a, Tile b) { return binary(op, a, b); });
    for (std::size_t i = 0; i < got.size(); ++i) {
      const auto a = static_cast<float>(kEdges[i / kEdges.size()]), b = static_cast<float>(kEdges[i % kEdges.size()]);
      EXPECT_TRUE(same(got[i], static_cast<double>(formula(a, b)))) << opcode_name(op) << " " << a << ", " << b;
    }
  }
}

TEST(BinaryOperations, MinimumAndMaximumAreNaNIfEitherIs) {
  for (const OpCode op : {OpCode::minimum, OpCode::maximum}) {
    const auto got = pairs(DType::f32, DType::f32, [op](Tile a, Tile b) { return binary(op, a, b); });
    for (std::size_t i = 0; i < got.size(); ++i) {
      const double a = f32(kEdges[i / kEdges.size()]), b = f32(kEdges[i % kEdges.size()]);
      if (std::isnan(a) || std::isnan(b)) {
        EXPECT_TRUE(std::isnan(got[i]));
      } else {
        EXPECT_EQ(got[i], op == OpCode::minimum ? std::fmin(a, b) : std::fmax(a, b));
      }
    }
  }
}

TEST(Comparisons, AreFalseForNaNExceptUnequal) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    const std::vector<std::pair<OpCode, std::function<bool(double, double)>>> all = {
        {OpCode::eq, [](double a, double b) { return a == b; }},
        {OpCode::ne, [](double a, double b) { return a != b; }},
        {OpCode::lt, [](double a, double b) { return a < b; }},
        {OpCode::le, [](double a, double b) { return a <= b; }},
        {OpCode::gt, [](double a, double b) { return a > b; }},
        {OpCode::ge, [](double a, double b) { return a >= b; }}};
    for (const auto& [op, formula] : all) {
      const auto got = pairs(dtype, DType::b8, [op = op](Tile a, Tile b) { return binary(op, a, b); });
      for (std::size_t i = 0; i < got.size(); ++i) {
        const auto stored = [&](std::size_t k) {
          std::uint32_t bits = 0;
          store_element(dtype, &bits, kEdges[k]);
          return load_element(dtype, &bits);
        };
        EXPECT_EQ(got[i] != 0, formula(stored(i / kEdges.size()), stored(i % kEdges.size()))) << opcode_name(op);
      }
    }
  }
}

TEST(Integers, WrapAround) {
  const std::vector<double> x = {2147483647, -2147483648.0, 5, -7, 65536};
  const auto make = [&](const std::function<Tile(Builder&, Tile)>& f) { return map_row(DType::i32, DType::i32, x, f); };
  EXPECT_EQ(make([](Builder&, Tile a) { return a + a; }), (std::vector<double>{-2, 0, 10, -14, 131072}));
  EXPECT_EQ(make([](Builder&, Tile a) { return a * a; }), (std::vector<double>{1, 0, 25, 49, 0}));
  EXPECT_EQ(make([](Builder&, Tile a) { return -a; }),
            (std::vector<double>{-2147483647, -2147483648.0, -5, 7, -65536}));
  EXPECT_EQ(make([](Builder&, Tile a) { return abs(a); }),
            (std::vector<double>{2147483647, -2147483648.0, 5, 7, 65536}));
  EXPECT_EQ(make([](Builder& b, Tile a) { return a - b.constant(1, {1}, {1}, DType::i32); }),
            (std::vector<double>{2147483646, 2147483647, 4, -8, 65535}));
  EXPECT_EQ(make([](Builder& b, Tile a) { return maximum(a, minimum(b.constant(6, {1}, {1}, DType::i32), a)); }), x);
}

TEST(Logic, FollowsItsTables) {
  const std::vector<double> x = {0, 1};
  EXPECT_EQ(map_row(DType::b8, DType::b8, x, [](Builder&, Tile a) { return logical_not(a); }),
            (std::vector<double>{1, 0}));
  EXPECT_EQ(map_row(DType::b8, DType::b8, x,
                    [](Builder& b, Tile a) { return logical_and(a, b.constant(1, {1}, {1}, DType::b8)); }),
            x);
  EXPECT_EQ(map_row(DType::b8, DType::b8, x,
                    [](Builder& b, Tile a) { return logical_or(a, b.constant(1, {1}, {1}, DType::b8)); }),
            (std::vector<double>{1, 1}));
}

TEST(Where, TakesTheFirstWhereTrue) {
  EXPECT_EQ(map_row(DType::f32, DType::f32, {1, 2, kNaN, 4},
                    [](Builder& b, Tile x) { return where(less(x, b.constant(3)), x, -x); })[3],
            -4);
}

TEST(Casts, RoundToNearestEvenAndTruncateToIntegers) {
  const auto bf16 = [](const std::vector<double>& x) {
    return map_row(DType::f32, DType::bf16, x, [](Builder&, Tile a) { return cast(a, DType::bf16); });
  };
  // Half-way between neighbours (spacing 2^-7 at 1) goes to the even one; above the largest goes to infinity.
  EXPECT_EQ(bf16({1 + 0x1p-8, 1 + 0x3p-8, 3.4e38, -kInf}), (std::vector<double>{1, 1 + 0x1p-6, kInf, -kInf}));
  const auto f16 = map_row(DType::f32, DType::f16, {65504, 65520, 0x1p-25, 0x1.8p-25, 0x1p-24},
                           [](Builder&, Tile a) { return cast(a, DType::f16); });
  EXPECT_EQ(f16, (std::vector<double>{65504, kInf, 0, 0x1p-24, 0x1p-24}));
  EXPECT_EQ(map_row(DType::f32, DType::i32, {2.9, -2.9, -0.5, 2147483520.0},
                    [](Builder&, Tile a) { return cast(a, DType::i32); }),
            (std::vector<double>{2, -2, 0, 2147483520}));
  EXPECT_EQ(
      map_row(DType::i32, DType::f32, {16777217, 16777219, -3}, [](Builder&, Tile a) { return cast(a, DType::f32); }),
      (std::vector<double>{16777216, 16777220, -3}));
  EXPECT_EQ(
      map_row(DType::f32, DType::b8, {0, -0.0, kDenormal, kNaN}, [](Builder&, Tile a) { return cast(a, DType::b8); }),
      (std::vector<double>{0, 0, 1, 1}));
}

TEST(Casts, OutOfRangeOfI32HaveNoValue) {
  for (const double x : {2147483648.0, -2147483904.0, kInf, kNaN})
    EXPECT_THROW(map_row(DType::f32, DType::i32, {x}, [](Builder&, Tile a) { return cast(a, DType::i32); }), Error);
}

}  // namespace
}  // namespace tilewright::tile
