// Laws of planning, on random captures: every node once, every conflict and every order of events kept, no barrier
// without a reason, and no place shared by what lives at the same time.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "backends/host/host_device.h"
#include "backends/null/null_device.h"
#include "runtime/capture/graph.h"
#include "runtime/cts/cts_helpers.h"

namespace tilewright::runtime {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

// A random capture: up to three streams that fork and join, temporaries that come and go, views of them, and buffers
// from outside.
struct RandomCapture {
  backends::null::NullDevice device{DeviceOptions{}};
  std::vector<std::unique_ptr<Stream>> streams;
  std::vector<Tensor> outside, held;
  std::shared_ptr<Graph> graph;

  RandomCapture(unsigned seed, int nodes, int stream_count) {
    std::mt19937 random(seed);
    const auto pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
    for (int i = 0; i < stream_count; ++i) streams.push_back(device.create_stream());
    for (int i = 0; i < 4; ++i) outside.push_back(empty(*streams[0], DType::i32, {4096}));
    std::vector<Tensor> live;
    streams[0]->begin_capture();
    std::vector<std::unique_ptr<Event>> events;
    const auto order = [&](int from, int to) {
      events.push_back(device.create_event());
      streams[at(from)]->record(*events.back());
      streams[at(to)]->wait(*events.back());
    };
    for (int i = 1; i < stream_count; ++i) order(0, i);
    for (int n = 0; n < nodes; ++n) {
      Stream& stream = *streams[at(pick(stream_count))];
      if (stream_count > 1 && pick(8) == 0) {
        const int from = pick(stream_count);
        order(from, (from + 1) % stream_count);
      }
      if (live.size() < 3 || pick(3) == 0) live.push_back(empty(stream, DType::i32, {1 + pick(3000)}));
      if (live.size() > 8) live.erase(live.begin() + pick(8));
      const auto any = [&]() -> Tensor {
        const Tensor& t = pick(4) == 0 ? outside[at(pick(4))] : live[at(pick(static_cast<int>(live.size())))];
        const auto half = t.elements() / 2;
        return half == 0 || pick(3) ? t : pick(2) ? t.slice(0, 0, half) : t.slice(0, half, t.elements());
      };
      Launch launch;
      launch.kernel = device.find_kernel("any");
      launch.op = "op";
      for (int reads = pick(3); reads >= 0; --reads) launch.add_buffer(read_arg(any()));
      launch.add_buffer(pick(4) == 0 ? read_write_arg(any()) : write_arg(any()));
      if (pick(10) == 0)
        launch.device_extents = &(pick(2) ? outside[0] : live[at(pick(static_cast<int>(live.size())))]).memory();
      stream.submit(launch);
    }
    for (int i = 1; i < stream_count; ++i) order(i, 0);
    for (std::size_t i = 0; i < live.size(); i += 3) held.push_back(live[i]);
    live.clear();
    graph = streams[0]->end_capture();
  }
};

struct Access {
  const Memory* memory;
  std::uint64_t begin, end;
  bool write;
};

std::vector<Access> accesses(const GraphNode& node) {
  std::vector<Access> out;
  for (const BufferArg& b : node.launch.buffers()) out.push_back({b.memory, b.offset, b.offset + b.bytes, b.write});
  if (const Memory* m = node.launch.device_extents) out.push_back({m, 0, m->bytes(), false});
  return out;
}

bool conflict(const std::vector<Access>& a, const std::vector<Access>& b) {
  for (const Access& x : a)
    for (const Access& y : b)
      if (x.memory == y.memory && (x.write || y.write) && x.begin < y.end && y.begin < x.end) return true;
  return false;
}

std::vector<int> phase_of(const Graph& graph, const GraphPlan& plan) {
  std::vector<int> phase(graph.nodes.size(), -1);
  for (std::size_t p = 0; p < plan.phases.size(); ++p)
    for (const int node : plan.phases[p].nodes) {
      EXPECT_EQ(phase[at(node)], -1) << "node " << node << " twice";
      phase[at(node)] = static_cast<int>(p);
    }
  EXPECT_EQ(std::count(phase.begin(), phase.end(), -1), 0);
  return phase;
}

// must[i][j]: i comes before j by events, alone or together with the order within streams.
std::vector<std::vector<char>> event_orders(const Graph& graph) {
  const std::size_t n = graph.nodes.size();
  std::vector<std::vector<char>> before(n, std::vector<char>(n)), must = before;
  for (std::size_t j = 0; j < n; ++j)
    for (const int p : graph.nodes[j].after) {
      const bool event = graph.nodes[at(p)].stream != graph.nodes[j].stream;
      for (std::size_t i = 0; i < n; ++i) {
        const bool reaches = i == at(p) || before[i][at(p)];
        before[i][j] = static_cast<char>(before[i][j] || reaches);
        must[i][j] = static_cast<char>(must[i][j] || (event && reaches) || must[i][at(p)]);
      }
    }
  return must;
}

class Plans : public testing::TestWithParam<int> {};

TEST_P(Plans, KeepWhatMustBeKeptAndNothingElse) {
  const RandomCapture capture(static_cast<unsigned>(GetParam()), 120, 1 + GetParam() % 3);
  const Graph& graph = *capture.graph;
  const GraphPlan plan = plan_graph(graph);
  const std::vector<int> phase = phase_of(graph, plan);
  EXPECT_EQ(plan.barriers_removed, static_cast<long>(graph.nodes.size() - plan.phases.size()));
  const auto must = event_orders(graph);
  std::vector<std::vector<Access>> touched;
  for (const GraphNode& node : graph.nodes) touched.push_back(accesses(node));
  for (std::size_t j = 0; j < graph.nodes.size(); ++j) {
    bool reason = phase[j] == 0;
    for (std::size_t i = 0; i < j; ++i) {
      if (!must[i][j] && !conflict(touched[i], touched[j])) continue;
      EXPECT_LT(phase[i], phase[j]) << "nodes " << i << " and " << j;
      reason |= phase[i] + 1 == phase[j];
    }
    EXPECT_TRUE(reason) << "node " << j << " could run a phase earlier";
  }
}

TEST_P(Plans, ShareNoPlaceAmongBlocksThatLiveTogether) {
  const RandomCapture capture(static_cast<unsigned>(GetParam()) + 1000, 150, 1 + GetParam() % 3);
  const Graph& graph = *capture.graph;
  const GraphPlan plan = plan_graph(graph);
  const std::vector<int> phase = phase_of(graph, plan);
  ASSERT_EQ(plan.offsets.size(), graph.planned.size());
  EXPECT_LE(plan.arena_bytes, plan.planned_bytes);
  const auto life = [&](const Graph::Planned& planned) {
    int first = 1 << 30, last = -1;
    for (std::size_t n = 0; n < graph.nodes.size(); ++n)
      for (const Access& a : accesses(graph.nodes[n]))
        if (a.memory == planned.memory.get()) {
          first = std::min(first, phase[n]);
          last = std::max(last, phase[n]);
        }
    const bool held = std::any_of(capture.held.begin(), capture.held.end(),
                                  [&](const Tensor& t) { return &t.memory() == planned.memory.get(); });
    EXPECT_EQ(held, planned.last_use < 0);
    return held ? std::pair{-1, 1 << 30} : std::pair{first, last};
  };
  std::size_t held = 0;
  for (std::size_t i = 0; i < graph.planned.size(); ++i) {
    const auto a = life(graph.planned[i]);
    held += a.first == -1;
    if (a.second < 0) continue;  // never used
    EXPECT_EQ(plan.offsets[i] % 64, 0u);
    EXPECT_LE(plan.offsets[i] + graph.planned[i].memory->bytes(), plan.arena_bytes);
    for (std::size_t j = 0; j < i; ++j) {
      const auto b = life(graph.planned[j]);
      if (b.second < 0 || a.second < b.first || b.second < a.first) continue;
      EXPECT_TRUE(plan.offsets[i] + graph.planned[i].memory->bytes() <= plan.offsets[j] ||
                  plan.offsets[j] + graph.planned[j].memory->bytes() <= plan.offsets[i])
          << "blocks " << j << " and " << i;
    }
  }
  EXPECT_GT(held, 0u);
}

INSTANTIATE_TEST_SUITE_P(Random, Plans, testing::Range(0, 24));

// The same random program, eagerly and as a graph, on the device that computes: equal bytes, replay after replay.
TEST(RandomPrograms, ReplayLikeEager) {
  for (unsigned seed = 0; seed < 12; ++seed) {
    backends::host::HostDevice device(false, {.threads = 1 + static_cast<int>(seed) % 4});
    const auto stream = device.create_stream();
    std::vector<Tensor> state[2];
    for (auto& s : state)
      for (int i = 0; i < 4; ++i) s.push_back(cts::ints(*stream, 5000, 100 * i));
    const auto run = [&](std::vector<Tensor>& kept) {
      std::mt19937 random(seed);
      const auto pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
      std::vector<Tensor> live = {empty(*stream, DType::i32, {5000})};
      cts::add_value(*stream, kept[0], live[0], 1);
      for (int n = 0; n < 200; ++n) {
        const Tensor from = pick(3) ? live[at(pick(static_cast<int>(live.size())))] : kept[at(pick(4))];
        if (pick(3) == 0) {
          cts::add_value(*stream, from, kept[at(pick(4))], n);
          continue;
        }
        if (live.size() > 6) live.erase(live.begin() + pick(6));
        live.push_back(empty(*stream, DType::i32, {5000}));
        const std::int64_t cut = 1 + pick(4998);  // parts of one block, written by two launches
        cts::add_value(*stream, from.slice(0, 0, cut), live.back().slice(0, 0, cut), n);
        cts::add_value(*stream, from.slice(0, cut, 5000), live.back().slice(0, cut, 5000), -n);
      }
    };
    stream->begin_capture();
    run(state[1]);
    const auto graph = device.instantiate(stream->end_capture());
    EXPECT_GT(graph->plan().barriers_removed, 50);
    for (int replay = 0; replay < 3; ++replay) {
      run(state[0]);
      stream->replay(*graph);
      for (int i = 0; i < 4; ++i)
        ASSERT_EQ(to_host(*stream, state[0][at(i)]).bytes, to_host(*stream, state[1][at(i)]).bytes)
            << "seed " << seed << " replay " << replay << " tensor " << i;
    }
  }
}

TEST(GraphDump, SaysWhatThePlanSays) {
  const RandomCapture capture(7, 40, 2);
  capture.graph->nodes[3].launch.path = "a \"quoted\" \\ path";
  const GraphPlan plan = plan_graph(*capture.graph);
  const Json json = parse_json(graph_json(*capture.graph, plan).dump(), "dump");
  ASSERT_EQ(json["nodes"].size(), capture.graph->nodes.size());
  EXPECT_EQ(json["arena"], plan.arena_bytes);
  EXPECT_EQ(json["phases"].size(), plan.phases.size());
  for (std::size_t p = 0; p < plan.phases.size(); ++p)
    for (const int n : plan.phases[p].nodes) EXPECT_EQ(json["nodes"][at(n)]["phase"], p);
  for (const char* key : {"op", "path", "kernel", "grid", "stream", "phase", "reads", "writes", "flops", "bytes"})
    EXPECT_TRUE(json["nodes"][0].contains(key)) << key;
  const std::string dot = graph_dot(*capture.graph, plan);
  std::size_t clusters = 0, quotes = 0;
  for (std::size_t i = dot.find("subgraph"); i != std::string::npos; i = dot.find("subgraph", i + 1)) ++clusters;
  for (std::size_t i = 0; i < dot.size(); ++i) quotes += dot[i] == '"' && (i == 0 || dot[i - 1] != '\\');
  EXPECT_EQ(clusters, plan.phases.size());
  EXPECT_EQ(quotes % 2, 0u);
}

}  // namespace
}  // namespace tilewright::runtime
