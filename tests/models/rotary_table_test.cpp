#include "nn/rotary_table.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tilewright::nn {
namespace {

DecoderConfig config(RopeType type) {
  DecoderConfig c;
  c.head_dim = 64;
  c.max_positions = 128;
  c.rope.type = type;
  c.rope.theta = 10000;
  c.rope.factor = 4;
  c.rope.original_positions = 8192;
  return c;
}

TEST(RotaryTable, FrequenciesFallFromOne) {
  for (const RopeType type : {RopeType::plain, RopeType::linear, RopeType::dynamic, RopeType::yarn, RopeType::llama3}) {
    const auto f = inverse_frequencies(config(type), 0);
    ASSERT_EQ(f.size(), 32u);
    EXPECT_FLOAT_EQ(f[0], type == RopeType::linear ? 0.25f : 1.0f);
    for (std::size_t i = 1; i < f.size(); ++i) EXPECT_LT(f[i], f[i - 1]) << rope_type_name(type) << " " << i;
  }
}

// Scaling leaves the fast channels alone and divides the slow ones by the factor.
TEST(RotaryTable, SmoothScalingsKeepFastAndDivideSlowChannels) {
  const auto plain = inverse_frequencies(config(RopeType::plain), 0);
  for (const RopeType type : {RopeType::yarn, RopeType::llama3}) {
    const auto f = inverse_frequencies(config(type), 0);
    EXPECT_FLOAT_EQ(f[1], plain[1]);
    EXPECT_FLOAT_EQ(f[31], plain[31] / 4);
    for (std::size_t i = 0; i < f.size(); ++i) {
      EXPECT_LE(f[i], plain[i] * 1.000001f);
      EXPECT_GE(f[i], plain[i] / 4 * 0.999999f);
    }
  }
}

TEST(RotaryTable, DynamicFollowsTheLengthOnlyBeyondTheContext) {
  const DecoderConfig c = config(RopeType::dynamic);
  const auto plain = inverse_frequencies(config(RopeType::plain), 0);
  EXPECT_EQ(inverse_frequencies(c, 128), plain);
  const auto beyond = inverse_frequencies(c, 129), further = inverse_frequencies(c, 400);
  EXPECT_LT(beyond[31], plain[31]);
  EXPECT_LT(further[31], beyond[31]);
}

TEST(RotaryTable, RowsAreCosinesOfPositionTimesFrequency) {
  DecoderConfig c = config(RopeType::plain);
  c.rope.attention_factor = 1.25;
  const auto f = inverse_frequencies(c, 0);
  const RotaryTable table = rotary_table(c, f, 3, 5, DType::f32);
  ASSERT_EQ(table.cos.shape, (Shape{5, 64}));
  for (std::int64_t row = 0; row < 5; ++row)
    for (std::int64_t i = 0; i < 32; ++i) {
      const double angle = static_cast<double>(static_cast<float>(3 + row) * f[static_cast<std::size_t>(i)]);
      EXPECT_NEAR(table.cos.at(row * 64 + i), 1.25 * std::cos(angle), 3e-7);
      EXPECT_NEAR(table.sin.at(row * 64 + i), 1.25 * std::sin(angle), 3e-7);
      EXPECT_EQ(table.cos.at(row * 64 + i), table.cos.at(row * 64 + 32 + i));
    }
  EXPECT_EQ(rotary_table(c, f, 0, 1, DType::bf16).cos.dtype, DType::bf16);
}

}  // namespace
}  // namespace tilewright::nn
