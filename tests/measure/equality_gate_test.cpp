// What the gate says of outputs, on outputs made for it.
#include "measure/equality_gate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tilewright::measure {
namespace {

using Position = EqualityGate::Position;
using Positions = EqualityGate::Positions;

Position position(std::int64_t place, const std::vector<float>& logits) {
  HostTensor all(DType::f32, {1, 1, static_cast<std::int64_t>(logits.size())});
  std::copy(logits.begin(), logits.end(), all.data<float>());
  Position out = EqualityGate::prompt_row(all, 0);
  out.place = place;
  return out;
}

TEST(EqualityGate, ARowHasItsBestTokenAndTheGapToTheSecond) {
  HostTensor all(DType::f32, {2, 2, 4});  // batch, rows, vocabulary
  const float values[] = {1, 5, 3, 2, 9, 0, 9, 1, -3, -2, -1, -7, 4, 4.5f, 0, 2};
  std::copy(std::begin(values), std::end(values), all.data<float>());
  const Position first = EqualityGate::prompt_row(all, 0), second = EqualityGate::prompt_row(all, 1);
  EXPECT_EQ(first.tokens, (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(first.gaps, (std::vector<double>{2, 1}));
  EXPECT_EQ(second.tokens, (std::vector<std::int64_t>{0, 1}));  // the first of equal ones
  EXPECT_EQ(second.gaps, (std::vector<double>{0, 0.5}));
}

TEST(EqualityGate, TheLargestDifferenceIsFoundWhereverItIs) {
  for (std::size_t at = 0; at < 5; ++at)
    for (std::size_t k = 0; k < 3; ++k) {
      Positions a, b;
      for (std::int64_t i = 0; i < 5; ++i) {
        a.push_back(position(10 + i, {1, 2, 3}));
        b.push_back(position(10 + i, {1, 2.125f, 3}));
      }
      b[at].logits.data<float>()[k] -= 2;
      const EqualityGate::Worst worst = EqualityGate::worst(a, b);
      EXPECT_EQ(worst.difference, k == 1 ? 1.875 : 2);
      EXPECT_EQ(worst.place, 10 + static_cast<std::int64_t>(at));
      b[at].logits.data<float>()[k] = std::numeric_limits<float>::quiet_NaN();
      EXPECT_TRUE(std::isinf(EqualityGate::worst(a, b).difference));
    }
}

// Another token is wrong exactly where eager's choice was clearer than the bound; else it is a near-tie, and said so.
TEST(EqualityGate, AnotherTokenIsWrongOrANearTieByTheGap) {
  const Positions reference = {position(7, {0, 5, 1}), position(8, {2, 1.75f, 0}), position(9, {0, 1, 4})};
  Positions own = reference;
  const auto judged = [&](double bound) {
    Equality out;
    out.bound = bound;
    EqualityGate::compare_tokens(own, reference, out);
    EXPECT_EQ(out.tokens_compared, 3);
    return out;
  };
  EXPECT_EQ(judged(0.5).verdict, Verdict::equal);
  EXPECT_EQ(judged(0.5).tokens_equal, 3);
  EXPECT_FALSE(judged(0.5).near_tie);

  own[1].tokens = {1};
  for (const double bound : {0.25, 0.5}) {
    const Equality tie = judged(bound);
    EXPECT_EQ(tie.verdict, Verdict::near_tie);
    EXPECT_EQ(tie.tokens_equal, 2);
    ASSERT_TRUE(tie.near_tie);
    EXPECT_EQ(tie.near_tie->position, 8);
    EXPECT_EQ(tie.near_tie->gap, 0.25);
  }
  const Equality clear = judged(0.24);
  EXPECT_EQ(clear.verdict, Verdict::wrong);
  EXPECT_NE(clear.why.find("the token at position 8 is 1 where eager's is 0"), std::string::npos) << clear.why;

  own[2].tokens = {0};  // a near-tie and a wrong one
  EXPECT_EQ(judged(0.5).verdict, Verdict::wrong);
  Equality before;
  before.bound = 10;
  before.verdict = Verdict::wrong;
  EqualityGate::compare_tokens(own, reference, before);
  EXPECT_EQ(before.verdict, Verdict::wrong);
}

// Eager's own error is on one side, the kernel's on the other: what is near neither of the two runs is wrong.
TEST(EqualityGate, ALogitIsJudgedByTheRunThatItIsNearerTo) {
  const Positions eager = {position(0, {4, 0, 0}), position(1, {4, 0, 0})};
  const Positions exact = {position(0, {5, 0, 0}), position(1, {5, 0, 0})};
  const auto judged = [&](float logit, const Positions& more_exact) {
    Equality out;
    out.bound = 1.5;
    EqualityGate::compare_logits({eager[0], position(1, {logit, 0, 0})}, eager, more_exact, out);
    EXPECT_EQ(out.worst, std::abs(logit - 4));
    EXPECT_EQ(out.worst_position, logit == 4 ? -1 : 1);
    EXPECT_EQ(out.why.empty(), out.verdict != Verdict::wrong);
    // What was not within the bound of eager, and is right, says by what.
    EXPECT_EQ(out.bound_source.empty(), out.worst <= out.bound || out.verdict == Verdict::wrong);
    return out.verdict;
  };
  for (const float logit : {2.5f, 3.5f, 4.f, 5.5f}) {
    EXPECT_EQ(judged(logit, exact), Verdict::equal) << logit;
    EXPECT_EQ(judged(logit, {}), Verdict::equal) << logit;
  }
  EXPECT_EQ(judged(6.5f, exact), Verdict::equal);
  EXPECT_EQ(judged(6.5f, {}), Verdict::wrong);
  for (const float logit : {2.4f, 6.6f, -4.f}) EXPECT_EQ(judged(logit, exact), Verdict::wrong) << logit;
}

TEST(EqualityGate, TheBoundOfNarrowTypesIsNoFinerThanTheirNumbers) {
  EXPECT_EQ(EqualityGate::narrow_bound(0.5, 20, DType::bf16), 0.75);
  EXPECT_EQ(EqualityGate::narrow_bound(0.0625, 20, DType::bf16), 0.125);  // bf16 near 20: 8 bits of 16 … 32
  EXPECT_EQ(EqualityGate::narrow_bound(0, 1, DType::bf16), 0x1p-7);
  EXPECT_EQ(EqualityGate::narrow_bound(0, 20, DType::f16), 0x1p-6);
}

TEST(EqualityGate, GraphsEqualTheirLaunchesInEveryBit) {
  const Positions own = {position(0, {0, 5, 1}), position(1, {2, 1, 0})};
  const auto judged = [&](const Positions& apart) {
    Equality out;
    out.bound = 1;
    EqualityGate::compare_bits(own, apart, "eager", out);
    EXPECT_EQ(out.bitwise, out.verdict != Verdict::wrong);
    return out.bitwise;
  };
  EXPECT_EQ(judged(own), true);
  EXPECT_EQ(judged({own[0]}), true);
  for (std::size_t at = 0; at < 2; ++at)
    for (std::size_t k = 0; k < 3; ++k) {
      Positions apart = own;
      float& value = apart[at].logits.data<float>()[k];
      value = value == 0 ? -0.0f : std::nextafter(value, 10.0f);
      EXPECT_EQ(judged(apart), false);
    }
  Positions apart = own;
  apart[1].tokens = {2};
  EXPECT_EQ(judged(apart), false);
}

}  // namespace
}  // namespace tilewright::measure
