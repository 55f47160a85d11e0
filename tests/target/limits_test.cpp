#include "target/limits.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <fstream>

#include "base/error.h"
#include "target/probes.h"

namespace tilewright::target {
namespace {

TEST(LimitSeconds, IsTheLargerOfTheTwoTimes) {
  EXPECT_EQ(limit_seconds(100, 10, 50, 10), 2);
  EXPECT_EQ(limit_seconds(10, 100, 50, 10), 10);
  EXPECT_EQ(limit_seconds(0, 0, 0, 0), 0);
  EXPECT_TRUE(std::isinf(limit_seconds(1, 0, 0, 10)));  // work and nothing to do it with
  MachineLimits limits{.f32_flops = 10, .bf16_dot_flops = 40, .read_bytes = 5};
  EXPECT_EQ(limits.f32_seconds(80, 10), 8);
  EXPECT_EQ(limits.bf16_seconds(80, 5), 2);
  limits.bf16_dot_flops = 0;
  EXPECT_EQ(limits.bf16_seconds(80, 5), 8);
}

// Orders of magnitude only: tests never time.
TEST(MeasureLimits, FindsPlausibleNumbers) {
  const MachineLimits limits = measure_limits(1, Effort::quick);
  EXPECT_EQ(limits.isa, active_isa());
  EXPECT_GT(limits.f32_flops, 1e8);
  EXPECT_LT(limits.f32_flops, 1e13);
  EXPECT_EQ(limits.bf16_dot_flops > 0, active_isa() == IsaLevel::avx512_bf16);
  EXPECT_GT(limits.read_bytes, 1e8);
  EXPECT_GT(limits.copy_bytes, 1e8);
  EXPECT_GT(limits.clock_hz, 1e8);
  EXPECT_LT(limits.fork_join_seconds, 1e-3);
}

TEST(PeakProbeTest, EveryLevelRuns) {
  SpinTeam team(2);
  for (IsaLevel isa : {IsaLevel::generic, IsaLevel::avx2, IsaLevel::avx512, IsaLevel::avx512_bf16}) {
    if (isa > active_isa() || (active_isa() == IsaLevel::neon && isa != IsaLevel::generic)) continue;
    const PeakProbe peak(team, isa);
    EXPECT_GT(peak.f32_fma(), 1e8) << isa_name(isa);
    EXPECT_EQ(peak.has_bf16_dot(), isa == IsaLevel::avx512_bf16);
    EXPECT_EQ(peak.bf16_dot() > 0, peak.has_bf16_dot());
  }
}

class StoredLimits : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) / ("limits-" + std::to_string(getpid()));
    setenv("XDG_CACHE_HOME", folder_.c_str(), 1);
  }
  void TearDown() override {
    unsetenv("XDG_CACHE_HOME");
    std::filesystem::remove_all(folder_);
  }
  MachineLimits some() const {
    return {.cpu = cpu_info().model,
            .isa = active_isa(),
            .threads = 3,
            .clock_hz = 3.1e9,
            .f32_flops = 1.0 / 3,
            .read_bytes = 5,
            .l3_bytes = 7};
  }
  std::filesystem::path folder_;
};

TEST_F(StoredLimits, ComeBackAsTheyWere) {
  EXPECT_FALSE(load_stored_limits(3).has_value());
  store_limits(some());
  EXPECT_EQ(load_stored_limits(3), some());
  EXPECT_FALSE(load_stored_limits(2).has_value());
  EXPECT_TRUE(stored_limits_path("A/B c", IsaLevel::avx2, 2).native().ends_with("tilewright/limits-A_B_c-avx2-2.json"));
}

TEST_F(StoredLimits, DamagedOrForeignCopiesCountAsNone) {
  store_limits(some());
  const auto path = stored_limits_path(some().cpu, some().isa, 3);
  for (const char* text : {"", "{", "[]", "{\"schema\":\"other\"}"}) {
    std::ofstream(path) << text;
    EXPECT_FALSE(load_stored_limits(3).has_value()) << text;
  }
  Json json = limits_to_json(some());
  json["cpu"] = "another one";
  std::ofstream(path) << json.dump();
  EXPECT_FALSE(load_stored_limits(3).has_value());
  json = limits_to_json(some());
  json.erase("read_bytes");
  EXPECT_THROW(limits_from_json(json, "x"), Error);
}

TEST(SpinTeamTest, EveryMemberAndEveryBlockOnce) {
  SpinTeam team(3);
  for (int round = 0; round < 100; ++round) {
    std::atomic<int> members{0};
    team.run([&](int member) { members.fetch_add(1 << (8 * member)); });
    EXPECT_EQ(members.load(), 0x010101);
    std::vector<std::atomic<int>> blocks(50);
    team.run_blocks(50, [&](unsigned block) { blocks[block].fetch_add(1); });
    for (const auto& block : blocks) EXPECT_EQ(block.load(), 1);
  }
}

}  // namespace
}  // namespace tilewright::target
