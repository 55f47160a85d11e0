#include "measure/round_robin.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/error.h"

namespace tilewright::measure {
namespace {

// Contestants that write down when they ran; sample k of contestant c takes 10 · c + k "seconds".
struct Diary {
  std::vector<std::string> ran;
  std::vector<int> times = std::vector<int>(3);
  std::vector<Contestant> contestants() {
    std::vector<Contestant> out;
    for (int c = 0; c < 3; ++c)
      out.push_back({std::string(1, static_cast<char>('a' + c)), [this, c] {
                       ran.push_back(std::string(1, static_cast<char>('a' + c)));
                       return 10.0 * c + times[static_cast<std::size_t>(c)]++;
                     }});
    return out;
  }
  std::string text() const {
    std::string out;
    for (const std::string& each : ran) out += each;
    return out;
  }
};

TEST(RoundRobin, RotatesAndKeepsWarmUpsApart) {
  Diary diary;
  const auto contestants = diary.contestants();
  std::vector<int> hooks;
  RoundPlan plan{.warmup = 1, .rounds = 4};
  plan.before_round = [&](int round) { hooks.push_back(round); };
  const RoundTimes times = run_rounds(contestants, plan);
  EXPECT_EQ(diary.text(), "abcabcbcacababc");
  EXPECT_EQ(hooks, (std::vector<int>{0, 1, 2, 3, 4}));
  EXPECT_EQ(times.complete, 4);
  for (int c = 0; c < 3; ++c)
    EXPECT_EQ(times.seconds[static_cast<std::size_t>(c)],
              (std::vector<double>{10.0 * c + 1, 10.0 * c + 2, 10.0 * c + 3, 10.0 * c + 4}));
}

// Over n rounds each of n contestants is once at each place: nobody gains by what runs before it.
TEST(RoundRobin, EverybodyIsEverywhereEquallyOften) {
  Diary diary;
  run_rounds(diary.contestants(), {.warmup = 0, .rounds = 3});
  for (std::size_t place = 0; place < 3; ++place) {
    std::string at;
    for (std::size_t round = 0; round < 3; ++round) at += diary.ran[3 * round + place];
    std::sort(at.begin(), at.end());
    EXPECT_EQ(at, "abc");
  }
}

TEST(RoundRobin, OneThatThrowsDoesNotStopTheOthers) {
  Diary diary;
  auto contestants = diary.contestants();
  int calls = 0;
  contestants[1].sample = [&]() -> double {
    if (++calls == 3) fail({.what = "broken", .where = "here", .expected = "", .found = "", .fix = "mend it"});
    return 1;
  };
  const RoundTimes times = run_rounds(contestants, {.warmup = 1, .rounds = 5});
  ASSERT_TRUE(times.errors[1]);
  EXPECT_EQ(times.errors[1]->fix, "mend it");
  EXPECT_TRUE(times.seconds[1].empty());
  EXPECT_EQ(times.seconds[0].size(), 5u);
  EXPECT_EQ(times.seconds[2].size(), 5u);
  EXPECT_EQ(calls, 3);
}

TEST(RoundRobin, AnInterruptedRoundIsNotKept) {
  Diary diary;
  auto contestants = diary.contestants();
  contestants[2].sample = [n = 0]() mutable -> double {
    return ++n == 3 ? std::numeric_limits<double>::quiet_NaN() : 1;
  };
  const RoundTimes times = run_rounds(contestants, {.warmup = 0, .rounds = 9});
  EXPECT_TRUE(times.interrupted);
  EXPECT_EQ(times.complete, 2);
  for (const auto& seconds : times.seconds) EXPECT_EQ(seconds.size(), 2u);
}

}  // namespace
}  // namespace tilewright::measure
