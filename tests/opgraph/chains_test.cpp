// Chains are found where they may be fused, and a pass gives the same with them as without, whatever it does.
#include <gtest/gtest.h>

#include <random>

#include "backends/host/tile/interpreted_generator.h"
#include "base/error.h"
#include "opgraph/chain_file.h"
#include "opgraph/chain_finder.h"
#include "opgraph/chain_rewriter.h"
#include "tensor/host_tensor.h"

namespace tilewright {

void register_operators(ops::Registry& registry);
void register_backends(runtime::DeviceRegistry& devices, ops::Registry& registry);

namespace {

using namespace ops;
using namespace opgraph;
using runtime::to_device;
using runtime::to_host;

struct Machine {
  runtime::DeviceRegistry devices;
  Registry registry;
  std::shared_ptr<runtime::Device> device;
  Machine() {
    register_operators(registry);
    register_backends(devices, registry);
    registry.finish();
    registry.set_code_generator("host", backends::host::make_interpreted_generator());
    device = devices.open("host", {.threads = 1});
  }
  runtime::Stream& stream() { return device->default_stream(); }
  ~Machine() { device->synchronize(); }
};
Machine& machine() {
  static Machine one;
  return one;
}

Tensor random_tensor(const Shape& shape, std::uint64_t seed, DType dtype = DType::f32) {
  HostTensor host(dtype, shape);
  fill(host, "uniform", seed);
  return to_device(machine().stream(), host);
}

// A pass as a function, traced, and run with the chains that were found in it.
using Pass = std::function<std::vector<Tensor>(Context&)>;

OpGraph traced(const Pass& pass, const char* fuse = "none") {
  GraphTracer tracer;
  Context context(machine().registry, machine().stream(), Switches::parse(machine().registry, fuse), &tracer);
  pass(context);
  machine().device->synchronize();
  return tracer.graph();
}

std::vector<ChainTemplate> templates_in(const OpGraph& graph) {
  ChainFile file;
  for (const ChainPattern& pattern : find_chains(graph))
    if (pattern.reason.empty())
      for (const FoundChain& chain : pattern.instances)
        file.regimes["prefill"].push_back({.shape = template_of(graph, chain)});
  return file.to_use();
}

std::vector<HostTensor> values(const Pass& pass, Rewriter* rewriter) {
  Context context(machine().registry, machine().stream(), {}, nullptr, rewriter);
  const std::vector<Tensor> results = pass(context);
  context.flush();
  std::vector<HostTensor> out;
  for (const Tensor& t : results) out.push_back(to_host(machine().stream(), t));
  return out;
}

ChainRewriter::Counts expect_same(const Pass& pass, const std::vector<ChainTemplate>& templates,
                                  const std::string& what) {
  ChainRewriter rewriter(machine().registry, "host", templates);
  const std::vector<HostTensor> plain = values(pass, nullptr), rewritten = values(pass, &rewriter);
  EXPECT_EQ(plain.size(), rewritten.size());
  for (std::size_t i = 0; i < plain.size(); ++i) {
    // Sums in another order and other polynomials for exp and tanh, along at most some twenty calls.
    const auto c = compare(rewritten[i], plain[i], 2e-5, 2e-5);
    EXPECT_TRUE(c.equal) << what << ", result " << i << ": " << c.reason;
  }
  return rewriter.counts();
}

Tensor norm(Context& context, const char* path, const Tensor& x, const Tensor& weight) {
  const PathScope scope(context, path);
  const Tensor power = call(context, "pow", {x}, {{"exponent", 2.0}});
  const Tensor mean = call(context, "mean", {power}, {{"dim", std::int64_t{-1}}, {"keepdim", true}});
  const Tensor root = call(context, "rsqrt", {call(context, "add", {mean}, {{"other", 1e-6}})});
  return call(context, "mul", {weight, call(context, "mul", {x, root})});
}

struct Layers {
  Tensor x = random_tensor({4, 8}, 1), weight = random_tensor({8}, 2), matrix = random_tensor({8, 8}, 3);
  // Two layers: residual addition and norm, joined across a border of modules; the sum is used again later.
  std::vector<Tensor> operator()(Context& context) const {
    static const char* const kPaths[] = {"layers.0.norm", "layers.1.norm"};
    Tensor stream = x, branch = x;
    for (const char* path : kPaths) {
      {
        const PathScope scope(context, "residual");
        stream = call(context, "add", {branch, stream});
      }
      branch = call(context, "linear", {norm(context, path, stream, weight), matrix});
    }
    return {branch, stream};
  }
};

TEST(Graph, KnowsWhoMadeAndWhoReads) {
  const OpGraph graph = traced([](Context& context) -> std::vector<Tensor> {
    const Tensor x = random_tensor({2, 4}, 1);
    const Tensor y = call(context, "neg", {x});
    call(context, "add_", {y, x});
    const Tensor rows = context.empty(DType::f32, {4, 4});
    call_into(context, "exp", {y}, rows.slice(0, 2, 4));
    return {call(context, "rms_norm", {y.transpose(0, 1).slice(1, 0, 2), random_tensor({2}, 3)}, {{"eps", 1e-6}})};
  });
  ASSERT_GT(graph.nodes.size(), 5u);
  EXPECT_TRUE(graph.nodes[0].fresh);
  EXPECT_FALSE(graph.nodes[1].fresh);
  EXPECT_FALSE(graph.nodes[2].fresh);
  const Storage& y = graph.storages[static_cast<std::size_t>(graph.nodes[0].outputs[0].storage)];
  EXPECT_EQ(y.producer, 0);
  EXPECT_EQ(y.writers, std::vector<int>{1});
  EXPECT_GE(y.readers.size(), 3u);
  ASSERT_GE(graph.nodes[3].composite, 0);
  EXPECT_EQ(graph.composites[static_cast<std::size_t>(graph.nodes[3].composite)].op->schema.name, "rms_norm");
  EXPECT_EQ(graph.nodes[3].inputs[0].strides, (Strides{1, 4}));
}

TEST(Finder, JoinsAcrossModulesAndKeepsSideUses) {
  const OpGraph graph = traced(Layers{});
  const std::vector<ChainPattern> patterns = find_chains(graph);
  ASSERT_EQ(patterns.size(), 1u + 1u);  // the first layer reads x twice
  for (const ChainPattern& pattern : patterns) {
    EXPECT_EQ(ops_text(pattern.shape), "add · pow · mean · add · rsqrt · mul · mul");
    EXPECT_EQ(pattern.reason, "");
    EXPECT_EQ(pattern.launches_saved, 6);
    EXPECT_GT(pattern.bytes_saved, 0);
    EXPECT_EQ(pattern.shape.steps[1].path, "layers.*.norm");
    // The sum is read by the next layer; after the last one nobody in the pass reads it.
    const std::vector<bool> outputs{&pattern == &patterns[0], false, false, false, false, false, true};
    EXPECT_EQ(pattern.instances[0].outputs, outputs);
  }
}

TEST(Finder, GroupsEqualChainsAndNamesTheComposite) {
  const OpGraph graph = traced([](Context& context) -> std::vector<Tensor> {
    Tensor x = random_tensor({3, 16}, 1, DType::bf16);
    const Tensor w = random_tensor({16}, 2, DType::bf16), m = random_tensor({16, 16}, 3, DType::bf16);
    for (int i = 0; i < 3; ++i) x = call(context, "linear", {call(context, "rms_norm", {x, w}, {{"eps", 1e-6}}), m});
    return {x};
  });
  const std::vector<ChainPattern> patterns = find_chains(graph);
  ASSERT_EQ(patterns.size(), 1u);
  EXPECT_EQ(patterns[0].instances.size(), 3u);
  EXPECT_EQ(patterns[0].composite, "rms_norm");
}

TEST(Finder, LeavesWhatAnotherCallReadsMeanwhile) {
  const Pass pass = [](Context& context) -> std::vector<Tensor> {
    const Tensor x = random_tensor({4, 8}, 1), m = random_tensor({8, 8}, 3);
    const Tensor a = call(context, "neg", {x});
    const Tensor b = call(context, "linear", {a, m});
    const Tensor c = call(context, "add", {a, b});  // depends on both: the path through linear leaves and comes back
    return {call(context, "tanh", {c})};
  };
  const OpGraph graph = traced(pass);
  EXPECT_FALSE(can_wait_for_the_last(graph, {0, 2}));
  EXPECT_TRUE(can_wait_for_the_last(graph, {2, 3}));
  const std::vector<ChainPattern> patterns = find_chains(graph);
  ASSERT_EQ(patterns.size(), 1u);
  EXPECT_EQ(patterns[0].instances[0].nodes, (std::vector<int>{2, 3}));
}

TEST(Finder, SaysWhyCallsThatHangTogetherAreLeft) {
  const std::vector<ChainPattern> patterns = find_chains(traced([](Context& context) -> std::vector<Tensor> {
    const Tensor rows = call(context, "arange", {}, {{"start", 0.0}, {"end", 4.0}, {"dtype", DType::i32}});
    return {call(context, "add", {rows, rows})};
  }));
  ASSERT_EQ(patterns.size(), 1u);
  EXPECT_NE(patterns[0].reason, "");
}

TEST(Rewriter, RunsChainsOfLayersAsOneLaunchEach) {
  const Layers layers;
  const ChainRewriter::Counts counts = expect_same(layers, templates_in(traced(layers)), "layers");
  EXPECT_EQ(counts.fused, 2);
  EXPECT_EQ(counts.dropped, 12);
  EXPECT_TRUE(counts.unchanged.empty());
}

TEST(Rewriter, ServesOtherExtentsThanThoseTraced) {
  Layers layers;
  const std::vector<ChainTemplate> templates = templates_in(traced(layers));
  for (const std::int64_t rows : {1, 2, 33}) {
    layers.x = random_tensor({rows, 8}, 5);
    EXPECT_EQ(expect_same(layers, templates, "other rows").fused, 2) << rows;
  }
}

TEST(Rewriter, KeepsTwoChainsInFlightApart) {
  const Pass pass = [](Context& context) -> std::vector<Tensor> {
    const PathScope scope(context, "attention");
    const Tensor q = random_tensor({4, 8}, 1), k = random_tensor({2, 8}, 2);
    const Tensor a = call(context, "tanh", {q});
    const Tensor b = call(context, "tanh", {k});
    const Tensor c = call(context, "neg", {a});
    const Tensor d = call(context, "neg", {b});
    return {call(context, "exp", {c}), call(context, "exp", {d})};
  };
  const ChainRewriter::Counts counts = expect_same(pass, templates_in(traced(pass)), "interleaved");
  EXPECT_EQ(counts.fused, 2);
  EXPECT_EQ(counts.dropped, 4);
}

TEST(Rewriter, WithoutACompilerRunsEverythingUnchanged) {
  const Layers layers;
  const std::vector<ChainTemplate> templates = templates_in(traced(layers));
  ChainRewriter rewriter(machine().registry, "another family", templates);
  const std::vector<HostTensor> plain = values(layers, nullptr), rewritten = values(layers, &rewriter);
  for (std::size_t i = 0; i < plain.size(); ++i) EXPECT_EQ(plain[i].bytes, rewritten[i].bytes);
  EXPECT_EQ(rewriter.counts().fused, 0);
  ASSERT_EQ(rewriter.counts().unchanged.size(), 1u);
  EXPECT_NE(rewriter.counts().unchanged.begin()->first.find("no compiler"), std::string::npos);
}

// ---------------------------------------------------------------- random passes

struct Instruction {
  enum class Kind { unary, binary, mean, joined, matrix, in_place, rows } kind = Kind::unary;
  int op = 0;
  int a = 0, b = 0;
  bool kept = false;  // the pass gives it back, so that it can be reached to the end
};

// Calls on values [4, 8] and, after a mean, [4, 1]. An instruction refers to values by number modulo how many there
// are, so that any list of instructions is a pass.
struct RandomPass {
  std::vector<Instruction> instructions;
  Tensor x = random_tensor({4, 8}, 1), y = random_tensor({4, 8}, 2), matrix = random_tensor({8, 8}, 3);

  std::vector<Tensor> operator()(Context& context) const {
    static const char* const kUnary[] = {"neg", "tanh", "sigmoid", "abs"};
    static const char* const kBinary[] = {"add", "mul", "sub", "maximum"};
    static const char* const kPaths[] = {"a", "b"};
    // In-place calls change what they are given: each run begins with copies.
    std::vector<Tensor> all{call(context, "neg", {x}), call(context, "neg", {y})};
    std::vector<Tensor> out;
    std::size_t number = 0;
    const auto value = [&](int which) { return all[static_cast<std::size_t>(which) % all.size()]; };
    const auto full = [&](int which) {
      for (std::size_t i = 0; i < all.size(); ++i)
        if (const Tensor t = value(which + static_cast<int>(i)); t.dim(1) == 8) return t;
      return x;
    };
    for (const Instruction& one : instructions) {
      const PathScope scope(context, kPaths[number++ / 3 % 2]);
      Tensor result;
      switch (one.kind) {
        case Instruction::Kind::unary:
          result = call(context, kUnary[one.op % 4], {value(one.a)});
          break;
        case Instruction::Kind::binary:
          result = call(context, "tanh", {call(context, kBinary[one.op % 4], {full(one.a), value(one.b)})});
          break;
        case Instruction::Kind::mean:
          result = call(context, "mean", {full(one.a)}, {{"dim", std::int64_t{-1}}, {"keepdim", true}});
          break;
        case Instruction::Kind::joined: {
          const Tensor from = full(one.a);
          const Tensor halves[] = {call(context, "neg", {from.slice(1, 4, 8)}), from.slice(1, 0, 4)};
          result = call_all(context, "cat", halves, {{"dim", std::int64_t{-1}}})[0];
          break;
        }
        case Instruction::Kind::matrix:
          result = call(context, "tanh", {call(context, "linear", {full(one.a), matrix})});
          break;
        case Instruction::Kind::in_place:
          result = value(one.a);
          call(context, "add_", {result}, {{"other", 0.25}});
          break;
        case Instruction::Kind::rows: {
          const Tensor from = full(one.a);
          result = context.empty(DType::f32, {4, 8});
          for (int half = 0; half < 2; ++half)
            call_into(context, "neg", {from.slice(0, 2 * half, 2 * half + 2)}, result.slice(0, 2 * half, 2 * half + 2));
          break;
        }
      }
      if (one.kept) out.push_back(result);
      all.push_back(result);
      if (all.size() > 6) all.erase(all.begin());  // the rest can no longer be reached
    }
    out.insert(out.end(), all.begin(), all.end());
    return out;
  }
};

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  int below(int n) { return static_cast<int>(engine_() % static_cast<std::uint64_t>(n)); }
  Instruction instruction() {
    static const Instruction::Kind kKinds[] = {
        Instruction::Kind::unary,  Instruction::Kind::unary,    Instruction::Kind::unary, Instruction::Kind::binary,
        Instruction::Kind::binary, Instruction::Kind::binary,   Instruction::Kind::mean,  Instruction::Kind::joined,
        Instruction::Kind::matrix, Instruction::Kind::in_place, Instruction::Kind::rows};
    return {kKinds[below(11)], below(4), below(6), below(6), below(5) == 0};
  }

 private:
  std::mt19937_64 engine_;
};

TEST(Rewriter, RandomPassesGiveTheSame) {
  ChainRewriter::Counts all;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    Random random(seed);
    RandomPass pass;
    for (int i = 3 + random.below(12); i > 0; --i) pass.instructions.push_back(random.instruction());
    const ChainRewriter::Counts counts = expect_same(pass, templates_in(traced(pass)), "seed " + std::to_string(seed));
    all.fused += counts.fused;
    all.remade += counts.remade;
    if (testing::Test::HasFailure()) break;
  }
  EXPECT_GT(all.fused, 150);
}

// The pass differs from the one that was traced: one instruction more, fewer or other, at every position.
TEST(Rewriter, OtherPassesThanTheTracedOneGiveTheSame) {
  ChainRewriter::Counts all;
  for (std::uint64_t seed = 1; seed <= 25 && !testing::Test::HasFailure(); ++seed) {
    Random random(1000 + seed);
    RandomPass pass;
    for (int i = 4 + random.below(6); i > 0; --i) pass.instructions.push_back(random.instruction());
    const std::vector<ChainTemplate> templates = templates_in(traced(pass));
    for (std::size_t at = 0; at < pass.instructions.size(); ++at)
      for (int change = 0; change < 3; ++change) {
        RandomPass other = pass;
        const auto place = other.instructions.begin() + static_cast<std::ptrdiff_t>(at);
        if (change == 0)
          other.instructions.erase(place);
        else if (change == 1)
          other.instructions.insert(place, random.instruction());
        else
          *place = random.instruction();
        const ChainRewriter::Counts counts =
            expect_same(other, templates, "seed " + std::to_string(seed) + ", position " + std::to_string(at));
        all.fused += counts.fused;
        all.remade += counts.remade;
        for (const auto& [reason, count] : counts.unchanged) all.unchanged[reason] += count;
      }
  }
  EXPECT_GT(all.fused, 0);
  EXPECT_GT(all.remade, 0);
  EXPECT_GE(all.unchanged.size(), 2u);
}

// ---------------------------------------------------------------- what is kept

TEST(ChainFile, ComesBackAsItWas) {
  const OpGraph graph = traced(Layers{});
  for (const ChainPattern& pattern : find_chains(graph))
    EXPECT_TRUE(chain_from_json(to_json(pattern.shape), machine().registry, "here") == pattern.shape);
}

TEST(ChainFile, RefusesWhatIsNoChain) {
  const OpGraph graph = traced(Layers{});
  const Json good = to_json(find_chains(graph)[0].shape);
  const auto refused = [&](const std::function<void(Json&)>& spoil) {
    Json bad = good;
    spoil(bad);
    try {
      chain_from_json(bad, machine().registry, "here");
      return false;
    } catch (const Error&) {
      return true;
    }
  };
  EXPECT_FALSE(refused([](Json&) {}));
  EXPECT_TRUE(refused([](Json& j) { j = nullptr; }));
  EXPECT_TRUE(refused([](Json& j) { j[0]["op"] = "no such op"; }));
  EXPECT_TRUE(refused([](Json& j) { j[0]["op"] = "rms_norm"; }));
  EXPECT_TRUE(refused([](Json& j) { j[1]["inputs"][0] = 5; }));
  EXPECT_TRUE(refused([](Json& j) { j[1]["inputs"][0] = -7; }));
  EXPECT_TRUE(refused([](Json& j) { j[1]["inputs"] = "all"; }));
  EXPECT_TRUE(refused([](Json& j) { j[1].erase("output"); }));
  EXPECT_TRUE(refused([](Json& j) { j[1]["attributes"]["exponent"] = nullptr; }));
  EXPECT_TRUE(refused([](Json& j) { j[1]["dtype"] = "f99"; }));
  EXPECT_TRUE(refused([](Json& j) { j[1] = 3; }));
}

TEST(Paths, AreKnownByForm) {
  EXPECT_EQ(path_form("layers.3.mlp"), "layers.*.mlp");
  EXPECT_EQ(path_form("layers.27.experts.12"), "layers.*.experts.*");
  EXPECT_EQ(path_form("conv2d.x1.2b"), "conv2d.x1.2b");
  EXPECT_EQ(path_form("7"), "*");
  EXPECT_EQ(path_form(""), "");
}

}  // namespace
}  // namespace tilewright
