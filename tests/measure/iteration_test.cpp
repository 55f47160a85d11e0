// What a timed iteration does beside the work itself: nothing but two readings of the clock.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "backends/null/null_device.h"
#include "engine/loaded_model.h"
#include "engine/program.h"
#include "measure/arm_run.h"
#include "measure/equality_gate.h"
#include "measure/pass.h"
#include "models/model_fixture.h"
#include "runtime/capture/capturing_stream.h"

namespace tilewright::test {
namespace {

using measure::Arm;
using measure::ArmRun;
using measure::Pass;
using measure::Regime;

// What happened on a device, in order.
struct Log {
  std::vector<std::string> lines;
  void add(std::string line) { lines.push_back(std::move(line)); }
};

class LoggingStream : public runtime::CapturingStream {
 public:
  LoggingStream(runtime::CapturingDevice& device, int number, Log& log)
      : CapturingStream(device), number_(number), log_(log) {}
  int number() const override { return number_; }
  runtime::MemoryStats memory_stats() const override { return {}; }
  void reset_peak() override {}

 protected:
  void do_submit(const runtime::Launch& launch) override { log_.add(std::string(launch.path) + " " + launch.op); }
  void do_record(runtime::CapturingEvent&) override { log_.add("event"); }
  void do_wait(runtime::CapturingEvent&) override { log_.add("wait"); }
  void do_copy_from_host(runtime::Memory&, std::size_t, const void*, std::size_t bytes, runtime::HostMemory) override {
    log_.add("from host " + std::to_string(bytes));
  }
  void do_copy_to_host(void* to, runtime::Memory&, std::size_t, std::size_t bytes, runtime::HostMemory) override {
    std::memset(to, 0, bytes);
    log_.add("to host " + std::to_string(bytes));
  }
  void do_synchronize() override { log_.add("synchronize"); }
  bool do_query() override {
    log_.add("query");
    return true;
  }
  void do_replay(runtime::PlannedExecutable&) override { log_.add("replay"); }

 private:
  int number_;
  Log& log_;
};

class LoggingDevice : public backends::null::NullDevice {
 public:
  explicit LoggingDevice(Log& log) : NullDevice({}), log_(log) {}
  std::unique_ptr<runtime::Stream> create_stream() override {
    return std::make_unique<LoggingStream>(*this, 1000 + streams_++, log_);
  }
  std::unique_ptr<runtime::Event> create_event() override {
    log_.add("create event");
    return NullDevice::create_event();
  }
  double now() override {
    log_.add("clock");
    return NullDevice::now();
  }

 private:
  Log& log_;
  int streams_ = 0;
};

class Iteration : public testing::TestWithParam<std::tuple<const char*, bool>> {
 protected:
  Iteration() {
    program_.devices.add(
        {.name = "logging",
         .summary = "",
         .devices = [] { return std::vector<std::string>{"logging"}; },
         .unavailable = [](const std::string&) { return std::string(); },
         .open = [this](const std::string&,
                        const runtime::DeviceOptions&) { return std::make_shared<LoggingDevice>(log_); }});
    options_ = options_for(bard());
    options_.device = "logging";
    options_.fuse = "all";
    loaded_ = std::make_shared<const engine::LoadedModel>(program_, options_);
    pass_.regime = std::get<0>(GetParam()) == std::string("prefill") ? Regime::prefill : Regime::decode;
    pass_.prompt = 8;
    pass_.steps = pass_.regime == Regime::decode ? 5 : 0;
    pass_.ids = measure::random_prompt(4096, 1, 8, 1);
  }

  Program program_;
  Log log_;
  engine::SessionOptions options_;
  std::shared_ptr<const engine::LoadedModel> loaded_;
  Pass pass_;
};

TEST_P(Iteration, AddsTwoReadingsOfTheClockAndNothingElse) {
  const Arm arm{.fused = true, .graph = std::get<1>(GetParam())};
  ArmRun run(loaded_, arm, options_);
  run.prepare(pass_);
  // The same loop as anybody would write it.
  engine::Runner& runner = run.runner();
  const auto loop = [&] {
    if (pass_.regime == Regime::prefill) {
      runner.prefill(pass_.ids);
      runner.read_token();
    }
    for (int i = 0; i < pass_.steps; ++i) {
      runner.step();
      runner.read_token();
    }
  };
  measure::begin_iteration(runner, pass_);
  log_.lines.clear();
  loop();
  const std::vector<std::string> plain = log_.lines;
  ASSERT_GT(plain.size(), 1u);

  log_.lines.clear();
  measure::time_iteration(runner, pass_);
  const auto first = std::find(log_.lines.begin(), log_.lines.end(), "clock");
  ASSERT_NE(first, log_.lines.end());
  const std::vector<std::string> timed(first, log_.lines.end());
  ASSERT_EQ(timed.size(), plain.size() + 2);
  EXPECT_EQ(timed.back(), "clock");
  EXPECT_EQ(std::vector<std::string>(timed.begin() + 1, timed.end() - 1), plain);
  if (arm.graph) {
    EXPECT_EQ(std::count(plain.begin(), plain.end(), "replay"), std::max<std::int64_t>(1, pass_.steps));
  }
  // And nobody watches, although the session's fallbacks are counted otherwise.
  EXPECT_NE(run.session().context().observer(), nullptr);
}

// Arms are compared on eager's tokens: one is written before each step but the first.
TEST_P(Iteration, TheGateForcesEveryToken) {
  const Arm arm{.fused = true, .graph = std::get<1>(GetParam())};
  ArmRun eager(loaded_, {}, options_), run(loaded_, arm, options_);
  run.prepare(pass_);
  const measure::EqualityGate gate(eager, pass_, loaded_, options_);
  const auto forced = [&](const std::function<void()>& work) {
    log_.lines.clear();
    work();
    return std::count(log_.lines.begin(), log_.lines.end(), "from host 8");
  };
  const auto without = forced([&] {
    run.runner().begin(1, pass_.length());
    run.runner().prefill(pass_.ids);
  });
  EXPECT_EQ(forced([&] { gate.judge(run, nullptr); }), without + pass_.steps);
}

INSTANTIATE_TEST_SUITE_P(All, Iteration, testing::Combine(testing::Values("prefill", "decode"), testing::Bool()));

TEST(RandomPrompt, IsSeededInsideTheVocabularyAndGrowsAtItsEnd) {
  const HostTensor a = measure::random_prompt(100, 2, 50, 3), b = measure::random_prompt(100, 2, 20, 3),
                   c = measure::random_prompt(100, 2, 50, 4);
  EXPECT_NE(a.bytes, c.bytes);
  for (std::int64_t i = 0; i < a.elements(); ++i) {
    EXPECT_GE(a.at(i), 0);
    EXPECT_LT(a.at(i), 100);
  }
  for (std::int64_t row = 0; row < 2; ++row)
    for (std::int64_t i = 0; i < 20; ++i) EXPECT_EQ(a.at(row * 50 + i), b.at(row * 20 + i));
  EXPECT_NE(a.at(0), a.at(50));
}

}  // namespace
}  // namespace tilewright::test
