// The vector loops of every instruction set of this processor against double arithmetic: the stated errors in units of
// the last place, special values, conversions bit for bit.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "backends/host/small/vector_choice.h"
#include "ops/core/scalar_expression.h"
#include "tensor/dtype.h"

namespace tilewright::backends::host {
namespace {

using ops::ScalarOp;

std::vector<const VectorTable*> tables() {
  std::vector<const VectorTable*> out = {&kGenericTable};
#if defined(__x86_64__)
  if (active_isa() >= IsaLevel::avx2) out.push_back(&kAvx2Table);
  if (active_isa() >= IsaLevel::avx512) out.push_back(&kAvx512Table);
#endif
  return out;
}

double last_place(double value) {
  const int exponent = value == 0 ? -126 : std::max(std::ilogb(value), -126);
  return std::ldexp(1.0, exponent - 23);
}

// Every 4099th bit pattern, all integers to ±2000, powers of two, multiples of π/2, and a fine grid around zero.
std::vector<float> sweep() {
  std::vector<float> out;
  for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << 32); bits += 4099)
    if (const auto x = std::bit_cast<float>(static_cast<std::uint32_t>(bits)); std::isfinite(x)) out.push_back(x);
  for (int i = -2000; i <= 2000; ++i) {
    out.push_back(static_cast<float>(i));
    out.push_back(static_cast<float>(i) * 0.005f);
    out.push_back(static_cast<float>(i * 1.5707963267948966));
    out.push_back(static_cast<float>(i * 523));
  }
  for (int i = -149; i <= 127; ++i) out.push_back(std::ldexp(1.0f, i));
  return out;
}

// The largest error that the header allows, in units of the last place of what `scale` returns.
double allowed(ScalarOp op) {
  switch (op) {
    case ScalarOp::neg:
    case ScalarOp::abs:
    case ScalarOp::relu:
    case ScalarOp::square:
    case ScalarOp::sqrt:
    case ScalarOp::reciprocal:
    case ScalarOp::logical_not:
      return 0.5000001;
    case ScalarOp::gelu:
      return kGeluUlp;
    case ScalarOp::erf:
      return kErfUlp;
    default:
      return kVectorUlp;
  }
}

TEST(VectorMath, UnaryErrorsStayWithinTheStatedUnitsOfTheLastPlace) {
  const std::vector<float> x = sweep();
  std::vector<float> y(x.size());
  for (const VectorTable* table : tables())
    for (int code = 0; code < ops::kUnaryCount; ++code) {
      const auto op = static_cast<ScalarOp>(ops::kFirstUnary + code);
      table->unary[kF32][code](x.data(), y.data(), static_cast<std::int64_t>(x.size()), kOneRow);
      double worst = 0;
      float where = 0;
      for (std::size_t i = 0; i < x.size(); ++i) {
        const double exact = ops::apply(op, x[i]);
        if (std::isnan(exact) || std::isnan(y[i])) {
          // A formula in double may survive where one in f32 meets 0 · ∞; never the other way round.
          EXPECT_TRUE(std::isnan(exact) && std::isnan(y[i])) << scalar_op_name(op) << "(" << x[i] << ") is " << y[i];
          continue;
        }
        const double rounded = static_cast<double>(static_cast<float>(exact));
        if (std::isinf(rounded) || std::isinf(y[i])) {
          EXPECT_TRUE(rounded == y[i] || std::fabs(exact) > 3.4028e38)
              << scalar_op_name(op) << "(" << x[i] << ") is " << y[i];
          continue;
        }
        const bool cancels = op == ScalarOp::gelu || op == ScalarOp::gelu_tanh;
        // Below e^-88 the reciprocal of 1 + e^-x goes to zero where the exact value is subnormal.
        const bool vanishes = (op == ScalarOp::sigmoid || op == ScalarOp::silu) && x[i] < -87;
        if (vanishes && std::fabs(y[i] - exact) < 2e-36) continue;
        const double error = std::fabs(y[i] - exact) / last_place(cancels ? x[i] / 2.0 : exact);
        if (error > worst) {
          worst = error;
          where = x[i];
        }
      }
      EXPECT_LE(worst, allowed(op)) << table->name << " " << scalar_op_name(op) << "(" << where << ")";
      RecordProperty(std::string(table->name) + "_" + std::string(scalar_op_name(op)), std::to_string(worst));
    }
}

TEST(VectorMath, SpecialValuesComeOutAsInDouble) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> x = {inf, -inf, nan, 0.0f, -0.0f, 1e-45f, -1e-45f, 3e38f, -3e38f, 1e30f, 1.0f};
  for (const VectorTable* table : tables()) {
    for (int code = 0; code < ops::kUnaryCount; ++code) {
      const auto op = static_cast<ScalarOp>(ops::kFirstUnary + code);
      for (std::size_t n = 1; n <= x.size(); ++n) {  // also as the last, partial vector
        std::vector<float> y(n + 1, 77.0f);
        table->unary[kF32][code](x.data(), y.data(), static_cast<std::int64_t>(n), kOneRow);
        EXPECT_EQ(y[n], 77.0f) << scalar_op_name(op) << " writes behind its output";
        for (std::size_t i = 0; i < n; ++i) {
          const double exact = ops::apply(op, x[i]);
          if (std::isnan(exact)) {
            EXPECT_TRUE(std::isnan(y[i])) << table->name << " " << scalar_op_name(op) << "(" << x[i] << ") is " << y[i];
          } else if (std::isinf(exact) || exact == 0) {
            EXPECT_EQ(y[i], exact) << table->name << " " << scalar_op_name(op) << "(" << x[i] << ")";
          }
        }
      }
    }
    for (int code = 0; code < ops::kBinaryCount; ++code) {
      const auto op = static_cast<ScalarOp>(ops::kFirstBinary + code);
      for (const float a : x)
        for (const float b : x)
          for (const BinaryMode mode : {kBothVectors, kSecondScalar, kFirstScalar}) {
            const float as[3] = {a, a, a}, bs[3] = {b, b, b};
            float y[3];
            table->binary[kF32][code][mode](as, bs, y, 3, kOneRow);
            const double exact = ops::apply(op, a, b);
            const auto rounded = static_cast<float>(exact);
            for (const float got : y)
              EXPECT_TRUE(std::isnan(rounded) ? std::isnan(got) : got == rounded)
                  << table->name << " " << scalar_op_name(op) << "(" << a << ", " << b << ") is " << got << ", exactly "
                  << exact;
          }
    }
  }
}

TEST(VectorMath, ConversionsEqualTheScalarOnesBitForBit) {
  std::vector<std::uint16_t> halves(65536);
  for (std::size_t i = 0; i < halves.size(); ++i) halves[i] = static_cast<std::uint16_t>(i);
  const std::vector<float> x = [] {
    std::vector<float> out = sweep();
    for (std::uint32_t high = 0; high < 65536; ++high)  // ties and their neighbours for both half types
      for (const std::uint32_t low : {0u, 0x7fffu, 0x8000u, 0x8001u, 0x1000u, 0x0fffu})
        out.push_back(std::bit_cast<float>(high << 16 | low));
    return out;
  }();
  for (const VectorTable* table : tables()) {
    std::vector<float> wide(halves.size());
    for (const Storage s : {kStoreF16, kStoreBf16}) {
      table->load[s](halves.data(), wide.data(), 65536);
      int wrong = 0;
      for (std::size_t i = 0; i < wide.size(); ++i) {
        const float exact = s == kStoreF16 ? f16_to_float(halves[i]) : bf16_to_float(halves[i]);
        wrong += !(std::isnan(exact) ? std::isnan(wide[i])
                                     : std::bit_cast<std::uint32_t>(exact) == std::bit_cast<std::uint32_t>(wide[i]));
      }
      EXPECT_EQ(wrong, 0) << table->name << " load " << s;
      std::vector<std::uint16_t> narrow(x.size());
      table->store[s](x.data(), narrow.data(), static_cast<std::int64_t>(x.size()));
      wrong = 0;
      for (std::size_t i = 0; i < x.size(); ++i) {
        const std::uint16_t exact = s == kStoreF16 ? float_to_f16(x[i]) : float_to_bf16(x[i]);
        const bool nan = std::isnan(x[i]);
        const float back = s == kStoreF16 ? f16_to_float(narrow[i]) : bf16_to_float(narrow[i]);
        wrong += nan ? !std::isnan(back) : narrow[i] != exact;
      }
      EXPECT_EQ(wrong, 0) << table->name << " store " << s;
    }
  }
}

TEST(VectorMath, FoldsSeeEveryElementOnceAtAnyLength) {
  for (const VectorTable* table : tables())
    for (int n = 1; n < 300; ++n) {
      std::vector<float> x(static_cast<std::size_t>(n) + 1, std::numeric_limits<float>::quiet_NaN()), e(x);
      double sum = 0;
      for (int i = 0; i < n; ++i) sum += x[static_cast<std::size_t>(i)] = static_cast<float>((i * 37) % 101) - 50.0f;
      EXPECT_EQ(table->sum(x.data(), n), sum);  // small integers add exactly
      for (int top = 0; top < n; top += 7) {
        std::vector<float> y(x);
        y[static_cast<std::size_t>(top)] = 99;
        EXPECT_EQ(table->max(y.data(), n), 99.0f);
        y[static_cast<std::size_t>(top)] = std::numeric_limits<float>::quiet_NaN();
        EXPECT_TRUE(std::isnan(table->max(y.data(), n)));
      }
      double exact = 0;
      for (int i = 0; i < n; ++i) exact += std::exp(x[static_cast<std::size_t>(i)] - 30.0);
      EXPECT_NEAR(table->exp_sum(x.data(), 30.0f, e.data(), n, nullptr), exact, exact * 1e-6);
      EXPECT_TRUE(std::isnan(e[static_cast<std::size_t>(n)]));
    }
}

}  // namespace
}  // namespace tilewright::backends::host
