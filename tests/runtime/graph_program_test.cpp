// Laws of a replay, over random programs: each block runs once, after all blocks of earlier phases and before those of
// later ones. Counters are plain memory on purpose: ThreadSanitizer then checks the orders that the laws imply.
#include "backends/host/graph_program.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "backends/host/executor.h"
#include "backends/host/host_device.h"
#include "base/error.h"

namespace tilewright::backends::host {
namespace {

struct Checked;

struct NodeParameters {
  Checked* program;
  int node;
  bool ordered;
  int unused[7];  // so that records differ in size
};

// A random program whose blocks check what they see.
struct Checked {
  struct State {
    int phase = 0;
    std::vector<int> counts;  // how often each block ran
    std::uint64_t canary = 0;
  };
  std::vector<State> states;
  std::vector<std::vector<int>> phases;
  std::vector<GraphProgram::Node> nodes;
  std::deque<std::string> names;  // of nodes: their numbers
  std::atomic<int> wrong{0};
  std::shared_ptr<GraphProgram> program;
  int replays = 0;

  void check(bool holds) {
    if (!holds) wrong.fetch_add(1);
  }
  void check_phase(int phase, int count) {
    if (phase < 0 || phase >= static_cast<int>(phases.size())) return;
    for (int node : phases[static_cast<std::size_t>(phase)])
      for (int ran : states[static_cast<std::size_t>(node)].counts) check(ran == count);
  }
  void expect_all(int count) {
    EXPECT_EQ(wrong.load(), 0);
    for (const State& state : states)
      for (int ran : state.counts) ASSERT_EQ(ran, count);
  }
};

void run_checked(const HostCall& call) {
  const auto& p = parameters_of<NodeParameters>(call);
  Checked& checked = *p.program;
  Checked::State& state = checked.states[static_cast<std::size_t>(p.node)];
  checked.check(call.end > call.begin && call.end <= call.grid && call.grid == state.counts.size());
  checked.check(call.buffers[0] == &state && reinterpret_cast<std::uintptr_t>(call.parameters) % 16 == 0);
  const int before = state.counts[call.begin];
  checked.check_phase(state.phase - 1, before + 1);
  checked.check_phase(state.phase + 1, before);
  checked.check_phase(state.phase + 3, before);
  for (std::uint32_t block = call.begin; block < call.end; ++block) {
    if (p.ordered)  // every lower block, which has been started, is waited for
      while (call.phase->load(std::memory_order_acquire) < block) std::this_thread::yield();
    checked.check(state.counts[block]++ == before);
    const std::uint32_t others = call.phase->fetch_add(1, std::memory_order_acq_rel);
    checked.check(others < call.grid);
    if (p.ordered) checked.check(others == block);
  }
}

std::unique_ptr<Checked> random_program(std::mt19937& random, int threads) {
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  auto checked = std::make_unique<Checked>();
  const int phases = 1 + below(12);
  for (int phase = 0; phase < phases; ++phase) {
    checked->phases.emplace_back();
    const int nodes = below(3) ? 1 : 1 + below(6);
    for (int i = 0; i < nodes; ++i) {
      const int number = static_cast<int>(checked->states.size());
      checked->phases.back().push_back(number);
      const int grid = below(2) ? 1 : below(8) ? 1 + below(9) : 1 + below(300);
      checked->states.push_back({.phase = phase, .counts = std::vector<int>(static_cast<std::size_t>(grid), 0)});
    }
  }
  for (int i = 0; i < static_cast<int>(checked->states.size()); ++i) {
    auto& state = checked->states[static_cast<std::size_t>(i)];
    GraphProgram::Node node;
    node.function = &run_checked;
    node.grid = static_cast<std::uint32_t>(state.counts.size());
    node.ordered = below(4) == 0;
    node.addresses.assign(static_cast<std::size_t>(1 + below(runtime::kMaxBufferArgs)), &state);
    const NodeParameters p{.program = checked.get(), .node = i, .ordered = node.ordered, .unused = {}};
    const auto* bytes = reinterpret_cast<const std::byte*>(&p);
    node.parameters.assign(bytes, bytes + sizeof p);
    node.parameters.resize(sizeof p + static_cast<std::size_t>(below(400)));
    node.op = checked->names.emplace_back(std::to_string(i)).c_str();
    // Unknown, next to nothing (run by one worker), small, large: they are handed out in different portions.
    const double costs[] = {0, 20, 2e4, 2e6};
    node.cost.bytes_read = costs[below(4)];
    checked->nodes.push_back(std::move(node));
  }
  checked->program = std::make_shared<GraphProgram>(checked->nodes, checked->phases, threads);
  return checked;
}

class Replays : public testing::TestWithParam<int> {
 protected:
  HostDevice device_{false, {.threads = 1}};
  Executor executor_{device_, GetParam(), {}, {}};
  std::mt19937 random_{static_cast<unsigned>(GetParam())};
};

TEST_P(Replays, EveryBlockRunsOnceAfterThePhasesBeforeIt) {
  StreamCore& stream = executor_.create_stream();
  for (int round = 0; round < 60; ++round) {
    const auto checked = random_program(random_, GetParam());
    EXPECT_FALSE(checked->program->running());
    int replays = 0;
    for (const int queued : {1, 1, 2, 1, 17}) {  // several may wait in the queue
      for (int i = 0; i < queued; ++i) executor_.publish_graph(stream, checked->program);
      replays += queued;
      executor_.finish(stream);
      EXPECT_FALSE(checked->program->running());
      checked->expect_all(replays);
    }
    EXPECT_EQ(checked->program.use_count(), 1);  // the stream has let go of it
  }
  executor_.destroy_stream(stream);
}

TEST_P(Replays, ThousandsOfTheSameProgram) {
  StreamCore& stream = executor_.create_stream();
  const auto checked = random_program(random_, GetParam());
  constexpr int kReplays = 3000;
  for (int i = 0; i < kReplays; ++i) {
    executor_.publish_graph(stream, checked->program);
    if (i % 3 == 0) executor_.finish(stream);
  }
  executor_.finish(stream);
  checked->expect_all(kReplays);
  executor_.destroy_stream(stream);
}

TEST_P(Replays, NoWorkerIsWaitedForThatDoesNotCome) {
  if (GetParam() == 1) GTEST_SKIP() << "one thread works only when it waits";
  StreamCore& stream = executor_.create_stream();
  for (int round = 0; round < 20; ++round) {
    const auto checked = random_program(random_, GetParam());
    for (int i = 0; i < 3; ++i) executor_.publish_graph(stream, checked->program);
    if (round % 2) std::this_thread::sleep_for(std::chrono::milliseconds(1));  // some fall asleep meanwhile
    while (!stream.finished(stream.submitted())) std::this_thread::sleep_for(std::chrono::microseconds(100));
    checked->expect_all(3);
  }
  executor_.destroy_stream(stream);
}

TEST_P(Replays, JoiningLateAndLeaving) {
  StreamCore& stream = executor_.create_stream();
  for (int round = 0; round < 30; ++round) {
    const auto checked = random_program(random_, GetParam());
    for (int i = 0; i < 20; ++i) executor_.publish_graph(stream, checked->program);
    std::this_thread::sleep_for(std::chrono::microseconds(random_() % 50));
    int looks = 0;  // the caller comes and goes
    while (!stream.finished(stream.submitted())) executor_.work_until([&] { return ++looks % 3 == 0; });
    checked->expect_all(20);
  }
  executor_.destroy_stream(stream);
}

TEST_P(Replays, TwoStreamsSideBySide) {
  const auto work = [&](unsigned seed) {
    std::mt19937 random(seed);
    StreamCore& stream = executor_.create_stream();
    for (int round = 0; round < 10; ++round) {
      const auto checked = random_program(random, GetParam());
      for (int i = 0; i < 40; ++i) {
        executor_.publish_graph(stream, checked->program);
        if (random() % 8 == 0) executor_.finish(stream);
      }
      executor_.finish(stream);
      checked->expect_all(40);
    }
    executor_.destroy_stream(stream);
  };
  std::thread other(work, 7);
  work(8);
  other.join();
}

void report_fault(const HostCall& call) { call.fault(call, "planted", call.begin); }

TEST_P(Replays, AFaultOfANodeIsKept) {
  StreamCore& stream = executor_.create_stream();
  const auto checked = random_program(random_, GetParam());
  GraphProgram::Node node;
  node.function = &report_fault;
  checked->nodes.push_back(node);
  auto phases = checked->phases;
  phases.push_back({static_cast<int>(checked->nodes.size()) - 1});
  executor_.raise_fault();
  executor_.publish_graph(stream, std::make_shared<GraphProgram>(checked->nodes, phases, GetParam()));
  executor_.finish(stream);
  EXPECT_THROW(executor_.raise_fault(), Error);
  checked->expect_all(1);
  executor_.destroy_stream(stream);
}

TEST_P(Replays, EmptyProgramsPass) {
  StreamCore& stream = executor_.create_stream();
  GraphProgram::Node nothing;
  nothing.function = &report_fault;
  nothing.grid = 0;
  executor_.publish_graph(stream, std::make_shared<GraphProgram>(std::vector<GraphProgram::Node>{},
                                                                 std::vector<std::vector<int>>{}, GetParam()));
  executor_.publish_graph(
      stream, std::make_shared<GraphProgram>(std::vector{nothing}, std::vector<std::vector<int>>{{0}, {}}, GetParam()));
  executor_.finish(stream);
  executor_.raise_fault();
  executor_.destroy_stream(stream);
}

TEST_P(Replays, ManyNodesInOnePhaseAndLargeGrids) {
  StreamCore& stream = executor_.create_stream();
  std::atomic<std::uint64_t> blocks{0};
  GraphProgram::Node node;
  node.function = [](const HostCall& call) {
    static_cast<std::atomic<std::uint64_t>*>(call.buffers[0])->fetch_add(call.end - call.begin);
  };
  node.addresses = {&blocks};
  std::vector<GraphProgram::Node> nodes(40000, node);
  std::vector<int> wide(nodes.size());
  for (std::size_t i = 0; i < wide.size(); ++i) wide[i] = static_cast<int>(i);
  node.grid = kMaxGrid;
  nodes.push_back(node);
  const auto program = std::make_shared<GraphProgram>(nodes, std::vector<std::vector<int>>{wide, {40000}}, GetParam());
  for (int i = 0; i < 3; ++i) executor_.publish_graph(stream, program);
  executor_.finish(stream);
  EXPECT_EQ(blocks.load(), 3u * (40000u + kMaxGrid));
  executor_.destroy_stream(stream);
}

void submit_launch(Executor& executor, StreamCore& stream, const TraceLabel& label, std::uint32_t grid) {
  Slot& slot = executor.next_slot(stream);
  slot.kind = Slot::Kind::launch;
  slot.grid = grid;
  slot.ordered = false;
  slot.function = [](const HostCall&) {};
  executor.publish(stream, slot, label);
}

TEST_P(Replays, ATraceHasEveryLaunchAndNodeInTheirOrder) {
  StreamCore& stream = executor_.create_stream();
  const runtime::Cost cost{.flops = 7};
  for (int round = 0; round < 10; ++round) {
    const auto checked = random_program(random_, GetParam());
    constexpr int kReplays = 4;
    executor_.publish_graph(stream, checked->program);  // before the trace
    executor_.start_trace();
    const double begin = ExecutionTrace::seconds_now();
    submit_launch(executor_, stream, {.op = "first", .path = "a", .kernel = "k", .cost = &cost}, 5);
    for (int i = 0; i < kReplays; ++i) executor_.publish_graph(stream, checked->program);
    submit_launch(executor_, stream, {.op = "last"}, 1);
    const std::vector<runtime::TraceRecord> records = executor_.stop_trace();
    const double end = ExecutionTrace::seconds_now();
    submit_launch(executor_, stream, {.op = "after"}, 1);
    executor_.publish_graph(stream, checked->program);
    executor_.finish(stream);
    checked->expect_all(kReplays + 2);

    ASSERT_EQ(records.size(), 2 + kReplays * checked->nodes.size());
    EXPECT_STREQ(records.front().op, "first");
    EXPECT_STREQ(records.front().path, "a");
    EXPECT_STREQ(records.front().kernel, "k");
    EXPECT_EQ(records.front().cost.flops, 7);
    EXPECT_EQ(records.front().grid, 5u);
    EXPECT_EQ(records.front().replay, -1);
    EXPECT_STREQ(records.back().op, "last");
    double seen = begin;
    for (const auto& record : records) {
      EXPECT_GE(record.started, seen);
      seen = record.started;
      EXPECT_LE(begin, record.submitted);
      EXPECT_LE(record.submitted, record.started);
      EXPECT_LE(record.started, record.finished);
      EXPECT_LE(record.finished, end);
      EXPECT_EQ(record.stream, stream.number());
    }
    // Of each replay, each node once, none before the phases before it have ended.
    double before = records.front().finished;
    for (int replay = 0; replay < kReplays; ++replay) {
      std::vector<double> first(checked->phases.size(), end), last(checked->phases.size(), 0);
      std::vector<int> count(checked->nodes.size(), 0);
      for (const auto& record : records) {
        if (record.replay != replay) continue;
        const auto node = static_cast<std::size_t>(std::stoi(record.op));
        const auto phase = static_cast<std::size_t>(checked->states[node].phase);
        ++count[node];
        EXPECT_EQ(record.grid, checked->nodes[node].grid);
        EXPECT_EQ(record.cost.bytes_read, checked->nodes[node].cost.bytes_read);
        first[phase] = std::min(first[phase], record.started);
        last[phase] = std::max(last[phase], record.finished);
      }
      for (int c : count) EXPECT_EQ(c, 1);
      for (std::size_t phase = 0; phase < first.size(); ++phase) {
        EXPECT_LE(before, first[phase]);
        before = last[phase];
      }
    }
  }
  executor_.start_trace();
  EXPECT_TRUE(executor_.stop_trace().empty());
  executor_.destroy_stream(stream);
}

INSTANTIATE_TEST_SUITE_P(Threads, Replays, testing::Values(1, 2, 3, 4, 8), testing::PrintToStringParamName());

}  // namespace
}  // namespace tilewright::backends::host
