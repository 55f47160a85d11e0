#include "tensor/dtype.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tilewright {
namespace {

// Every 16-bit value survives float and back; NaN stays NaN.
TEST(DType, SixteenBitValuesRoundTrip) {
  for (std::uint32_t v = 0; v < 0x10000; ++v) {
    const auto bits = static_cast<std::uint16_t>(v);
    const float b = bf16_to_float(bits), h = f16_to_float(bits);
    if (std::isnan(b)) EXPECT_TRUE(std::isnan(bf16_to_float(float_to_bf16(b))));
    else EXPECT_EQ(float_to_bf16(b), bits);
    if (std::isnan(h)) EXPECT_TRUE(std::isnan(f16_to_float(float_to_f16(h))));
    else EXPECT_EQ(float_to_f16(h), bits);
  }
}

// The law of rounding: the result is the nearest of its two neighbours, ties go to the even one.
template <typename ToFloat, typename FromFloat>
void check_nearest_even(ToFloat to_float, FromFloat from_float, std::uint16_t largest) {
  for (std::uint32_t v = 0; v < largest; ++v) {
    const double low = to_float(static_cast<std::uint16_t>(v)), high = to_float(static_cast<std::uint16_t>(v + 1));
    const auto middle = static_cast<float>((low + high) / 2);
    EXPECT_EQ(from_float(middle), v & 1 ? v + 1 : v);
    EXPECT_EQ(from_float(std::nextafter(middle, 0.0f)), v);
    EXPECT_EQ(from_float(std::nextafter(middle, std::numeric_limits<float>::infinity())), v + 1);
  }
}
TEST(DType, RoundsToNearestEven) {
  check_nearest_even(bf16_to_float, float_to_bf16, 0x7f7f);
  check_nearest_even(f16_to_float, float_to_f16, 0x7bff);
}

TEST(DType, Float8KeepsNanAndSaturatesToNan) {
  for (int v = 0; v < 256; ++v) {
    const float f = f8e4m3_to_float(static_cast<std::uint8_t>(v));
    if (!std::isnan(f)) {
      EXPECT_EQ(float_to_f8e4m3(f), v);
    }
  }
  EXPECT_EQ(f8e4m3_to_float(0x7e), 448.0f);
  EXPECT_TRUE(std::isnan(f8e4m3_to_float(float_to_f8e4m3(500.0f))));
}

TEST(DType, StoringADoubleRoundsOnce) {
  std::uint16_t bits = 0;
  // Just above the middle of 1 and its bf16 neighbour: rounding to float first would land on the tie and go down.
  store_element(DType::bf16, &bits, 1.0 + 0x1p-8 + 0x1p-40);
  EXPECT_EQ(bits, 0x3f81);
}

}  // namespace
}  // namespace tilewright
