// Regimes and arms: what is chosen, what is refused and how.
#include <gtest/gtest.h>

#include "measure/arm.h"
#include "measure/regime.h"
#include "measure/work.h"
#include "models/model_fixture.h"

namespace tilewright::test {
namespace {

using measure::Arm;
using measure::choose_regime;
using measure::parse_arms;
using measure::Regime;
using measure::RegimeFacts;

TEST(Regime, AutoFollowsTheWorkflowAndSaysWhy) {
  const RegimeFacts plain{.model = "m", .weight_bytes = 10, .memory_bytes = 20};
  EXPECT_EQ(choose_regime("auto", plain).regime, Regime::decode);
  EXPECT_NE(choose_regime("auto", plain).reason.find("autoregressive"), std::string::npos);
  RegimeFacts large = plain;
  large.weight_bytes = 21;
  EXPECT_EQ(choose_regime("auto", large).regime, Regime::prefill);
  EXPECT_NE(choose_regime("auto", large).reason.find("too large"), std::string::npos);
  RegimeFacts streamed = plain;
  streamed.streamed = true;
  EXPECT_EQ(choose_regime("auto", streamed).regime, Regime::prefill);
  RegimeFacts blocks = plain;
  blocks.block_diffusion = true;
  EXPECT_EQ(choose_regime("auto", blocks).regime, Regime::diffusion);
  blocks.weight_bytes = 21;  // what cannot be held is not generated with
  EXPECT_EQ(choose_regime("auto", blocks).regime, Regime::prefill);
}

TEST(Regime, WhatIsAskedIsTakenOrRefused) {
  const RegimeFacts plain{.model = "m", .weight_bytes = 21, .memory_bytes = 20};
  EXPECT_EQ(choose_regime("decode", plain).regime, Regime::decode);
  EXPECT_EQ(choose_regime("prefill", plain).regime, Regime::prefill);
  expect_message("does not generate by diffusion", [&] { choose_regime("diffusion", plain); });
  expect_message("did you mean \"decode\"", [&] { choose_regime("decod", plain); });
  expect_message("auto, prefill, decode or diffusion", [&] { choose_regime("training", plain); });
}

TEST(Arms, AreParsedInOrderAndRefusedWithTheNearest) {
  const std::vector<std::string> names = {"fused+graph", "eager", "graph", "fused"};
  const std::vector<Arm> arms = parse_arms(names);
  ASSERT_EQ(arms.size(), 4u);
  for (std::size_t i = 0; i < arms.size(); ++i) EXPECT_EQ(arms[i].name(), names[i]);
  EXPECT_EQ(arms[0].ungraphed(), arms[3]);
  expect_message("did you mean \"eager\"", [] { parse_arms(std::vector<std::string>{"eagr"}); });
  expect_message("--arms", [] { parse_arms(std::vector<std::string>{"compiled"}); });
  expect_message("named twice", [] { parse_arms(std::vector<std::string>{"graph+fused", "fused+graph"}); });
  expect_message("no arm", [] { parse_arms({}); });
}

TEST(Arms, OnlyFusedOnesFuse) {
  EXPECT_EQ(fuse_list(Arm{false, true}, "all"), "none");
  EXPECT_EQ(fuse_list(Arm{true, false}, "none"), "all");
  EXPECT_EQ(fuse_list(Arm{true, true}, "rms_norm"), "rms_norm");
}

// Counted by hand from the shape's numbers: 28 layers of Qwen3-0.6B have 440,467,456 parameters, norms included.
TEST(Work, CountsWhatAPassReads) {
  const measure::Work work(program().families, "Qwen3-0.6B");
  const double head = 151936.0 * 1024;
  EXPECT_EQ(work.weight_bytes(), 2 * (440467456 + head));
  EXPECT_EQ(work.decode_bytes(0), work.weight_bytes());
  EXPECT_EQ(work.decode_bytes(10) - work.decode_bytes(0), 2.0 * 2 * 10 * 28 * 1024);
  EXPECT_EQ(work.decode_bytes(10, 4) - work.decode_bytes(0, 4), 4 * (work.decode_bytes(10) - work.decode_bytes(0)));
  EXPECT_EQ(work.prefill_flops(7, 3), 3 * work.prefill_flops(7));
  const measure::Work cut(program().families, "Qwen3-0.6B", DType::f32, 1);
  EXPECT_EQ(cut.published_layers, 28);
  EXPECT_EQ(cut.config.layers, 1);
  EXPECT_LT(cut.weight_bytes(), 2 * work.weight_bytes());
}

}  // namespace
}  // namespace tilewright::test
