// Laws of the operators of sparse layers that single cases do not show.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/error.h"
#include "ops/expert_ffn/expert_ffn.h"
#include "ops/grouped_gemm/grouped_gemm.h"
#include "ops/moe_gate_top_k/moe_gate_top_k.h"
#include "ops/ops_fixture.h"

namespace tilewright {
namespace {

using namespace ops;
using Names = std::vector<std::string>;

HostTensor random(DType dtype, const Shape& shape, std::uint64_t seed, double scale = 1) {
  HostTensor out(dtype, shape);
  fill(out, "normal", seed);
  for (std::int64_t i = 0; i < out.elements(); ++i) out.set(i, scale * out.at(i));
  return out;
}

HostTensor integers(const std::vector<int>& values, const Shape& shape) {
  HostTensor out(DType::i32, shape);
  for (std::size_t i = 0; i < values.size(); ++i) out.set(static_cast<std::int64_t>(i), values[i]);
  return out;
}

struct Launches : Observer {
  Names names;
  double flops = 0;
  void launched(const runtime::Launch& launch) override {
    names.emplace_back(launch.op);
    flops += launch.cost.flops;
  }
};

std::string error_of(const std::function<void()>& run) {
  try {
    run();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

// ---- moe_gate_top_k

Names gate_launches(DType dtype, bool bias, const GateOptions& options) {
  test::Bench bench("host");
  Launches seen;
  Context context = bench.context({}, &seen);
  const Tensor logits = to_device(*bench.stream, random(dtype, {3, 16}, 1));
  const Tensor added = bias ? to_device(*bench.stream, random(DType::f32, {16}, 2)) : Tensor();
  moe_gate_top_k(context, logits, added, options);
  bench.stream->synchronize();
  return seen.names;
}

TEST(Gate, LaunchesWhatTheReferenceImplementationsRoutersLaunch) {
  EXPECT_EQ(gate_launches(DType::bf16, false, {.experts_per_token = 4, .dtype = DType::bf16}),
            (Names{"to", "softmax", "topk", "sum", "div", "to", "to"}));
  EXPECT_EQ(gate_launches(DType::f32, true, {.experts_per_token = 4, .score = "sigmoid"}),
            (Names{"sigmoid", "add", "topk", "gather", "sum", "div", "to"}));
  EXPECT_EQ(gate_launches(DType::f32, true,
                          {.experts_per_token = 4,
                           .score = "sigmoid",
                           .groups = 4,
                           .kept_groups = 2,
                           .renormalise_eps = 1e-20,
                           .scale = 2.5}),
            (Names{"sigmoid", "add", "topk", "sum", "topk", "full", "scatter_", "masked_fill", "topk", "gather", "sum",
                   "add", "div", "mul", "to"}));
}

TEST(Gate, ChoosesDistinctExpertsOfTheKeptGroupsWhateverTheBias) {
  test::Bench bench("host");
  Context context = bench.context();
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    HostTensor bias = random(DType::f32, {32}, seed + 100, 0.2);
    for (int e = 0; e < 32; ++e) bias.set(e, bias.at(e) - (seed % 2 ? 3.0 : 0.0));  // all biased scores negative
    const Gate gate = moe_gate_top_k(context, to_device(*bench.stream, random(DType::f32, {33, 32}, seed)),
                                     to_device(*bench.stream, bias),
                                     {.experts_per_token = 6, .score = "sigmoid", .groups = 8, .kept_groups = 3});
    const HostTensor indices = to_host(*bench.stream, gate.indices), weights = to_host(*bench.stream, gate.weights);
    for (std::int64_t token = 0; token < 33; ++token) {
      std::map<int, int> groups, experts;
      double sum = 0;
      for (std::int64_t i = token * 6; i < (token + 1) * 6; ++i) {
        ++groups[static_cast<int>(indices.at(i)) / 4];
        ++experts[static_cast<int>(indices.at(i))];
        sum += weights.at(i);
      }
      EXPECT_LE(groups.size(), 3u) << seed;
      EXPECT_EQ(experts.size(), 6u) << seed;
      EXPECT_NEAR(sum, 1, 1e-6) << seed;  // six f32 quotients
    }
  }
}

TEST(Gate, SaysWhatDoesNotFit) {
  test::Bench bench("host");
  Context context = bench.context();
  const Tensor logits = context.empty(DType::f32, {3, 12}), bias = context.empty(DType::f32, {11});
  const auto message = [&](const Tensor& added, const GateOptions& options) {
    return error_of([&] { moe_gate_top_k(context, logits, added, options); });
  };
  const std::pair<std::string, const char*> faults[] = {
      {message(bias, {}), "shape [12]"},
      {message({}, {.experts_per_token = 13}), "1 … 12"},
      {message({}, {.experts_per_token = 0}), "1 … 12"},
      {message({}, {.score = "relu"}), "softmax or sigmoid"},
      {message({}, {.groups = 5}), "divisor of 12"},
      {message({}, {.groups = 0}), "divisor of 12"},
      {message({}, {.groups = 12}), "two experts"},
      {message({}, {.groups = 3, .kept_groups = 4}), "1 … 3"},
      {message({}, {.experts_per_token = 5, .groups = 3, .kept_groups = 1}), "1 … 4"},
      {message({}, {.dtype = DType::i32}), "f32, f16 or bf16"},
  };
  for (const auto& [text, expected] : faults) {
    EXPECT_NE(text.find("moe_gate_top_k"), std::string::npos) << text;
    EXPECT_NE(text.find(expected), std::string::npos) << text;
  }
}

// ---- grouped_gemm

struct Groups {
  HostTensor x, weights, offsets;
};
Groups some_groups(DType dtype) {
  return {random(dtype, {9, 40}, 1), random(dtype, {5, 33, 40}, 2), integers({0, 4, 4, 5, 9, 9}, {6})};
}

TEST(GroupedGemm, LaunchesOneLinearForEachGroupThatHasRows) {
  test::Bench bench("host");
  Launches seen;
  Context context = bench.context({}, &seen);
  const Groups g = some_groups(DType::f32);
  grouped_gemm(context, to_device(*bench.stream, g.x), to_device(*bench.stream, g.weights),
               to_device(*bench.stream, g.offsets));
  EXPECT_EQ(seen.names, (Names{"linear", "linear", "linear"}));
  EXPECT_EQ(seen.flops, 2.0 * 9 * 40 * 33);
  bench.stream->synchronize();
}

TEST(GroupedGemm, EqualsALinearLayerOnEachGroupsRowsBitForBit) {
  test::Bench bench("host");
  Context context = bench.context();
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    const Groups g = some_groups(dtype);
    const Tensor x = to_device(*bench.stream, g.x), weights = to_device(*bench.stream, g.weights);
    const Tensor y = grouped_gemm(context, x, weights, to_device(*bench.stream, g.offsets));
    for (int e = 0; e < 5; ++e) {
      const auto begin = static_cast<std::int64_t>(g.offsets.at(e)),
                 end = static_cast<std::int64_t>(g.offsets.at(e + 1));
      const Tensor alone = call(context, "linear", {x.slice(0, begin, end), weights.select(0, e)});
      EXPECT_EQ(to_host(*bench.stream, y.slice(0, begin, end)).bytes, to_host(*bench.stream, alone).bytes) << e;
    }
  }
}

TEST(GroupedGemm, TakesPackedExperts) {
  test::Bench bench("host");
  Context context = bench.context();
  const WeightPacker* packer = test::program().registry.weight_packer("host");
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    const Groups g = some_groups(dtype);
    const std::size_t each = packer->packed_bytes(dtype, 33, 40);
    const runtime::MemoryRef memory = bench.device->allocate(*bench.stream, 5 * each + 128);
    const Tensor weights = to_device(*bench.stream, g.weights);
    const Tensor packed = packed_experts(*packer, memory, 128, dtype, 5, 33, 40);
    for (int e = 0; e < 5; ++e) packer->pack(context, weights.select(0, e), expert_matrix(packed, e));
    const Tensor x = to_device(*bench.stream, g.x), offsets = to_device(*bench.stream, g.offsets);
    EXPECT_EQ(to_host(*bench.stream, grouped_gemm(context, x, packed, offsets)).bytes,
              to_host(*bench.stream, grouped_gemm(context, x, weights, offsets)).bytes);
  }
}

TEST(GroupedGemm, BadOffsetsAreErrorsThatNameOpPlaceAndValue) {
  test::Bench bench("host");
  Context context = bench.context();
  const Groups g = some_groups(DType::f32);
  const std::tuple<std::vector<int>, const char*, const char*> faults[] = {
      {{-1, 4, 4, 5, 9, 9}, "offsets[0]", "-1"},
      {{0, 4, 3, 5, 9, 9}, "offsets[2]", "3"},
      {{0, 4, 4, 5, 9, 10}, "offsets[5]", "10"},
      {{2000000000, 4, 4, 5, 9, 9}, "offsets[0]", "2000000000"},
  };
  for (const auto& [values, place, found] : faults) {
    const HostTensor offsets = integers(values, {6});
    const std::string device = error_of([&] {
      grouped_gemm(context, to_device(*bench.stream, g.x), to_device(*bench.stream, g.weights),
                   to_device(*bench.stream, offsets));
    });
    const std::string host = error_of([&, place = place] {
      test::program().registry.get("grouped_gemm").reference(std::vector<HostTensor>{g.x, g.weights, offsets}, {});
    });
    EXPECT_EQ(device, host);
    for (const char* part : {"grouped_gemm", place, found}) EXPECT_NE(device.find(part), std::string::npos) << device;
  }
  bench.stream->synchronize();
}

TEST(GroupedGemm, SpreadsRowsEvenlyWhereNothingIsComputed) {
  test::Bench bench("null");
  Launches seen;
  Context context = bench.context({}, &seen);
  const auto launches = [&](std::int64_t rows) {
    seen.names.clear();
    const Tensor y = grouped_gemm(context, context.empty(DType::bf16, {rows, 16}),
                                  context.empty(DType::bf16, {8, 4, 16}), context.empty(DType::i32, {9}));
    EXPECT_EQ(y.shape(), (Shape{rows, 4}));
    return seen.names;
  };
  EXPECT_EQ(launches(100), Names(8, "linear"));
  EXPECT_EQ(launches(3), Names(3, "linear"));
  EXPECT_EQ(launches(0), Names());
}

// Holds launches back until it is told to pass them on, then none any more (scratch memory would not outlive it).
struct Holding : Rewriter {
  bool holds = true;
  std::vector<runtime::Launch> held;
  bool hold(Context&, const OpCall&, const Candidate&, bool) override { return false; }
  void submit(Context& context, const runtime::Launch& launch) override {
    if (holds)
      held.push_back(launch);
    else
      context.submit_now(launch);
  }
  void flush(Context& context) override {
    holds = false;
    for (const runtime::Launch& launch : held) context.submit_now(launch);
    held.clear();
  }
};

TEST(GroupedGemm, ReadsOffsetsThatARewriterHeldBack) {
  test::Bench bench("host");
  Holding holding;
  Context context(test::program().registry, *bench.stream, {}, nullptr, &holding);
  const Groups g = some_groups(DType::f32);
  const Tensor x = to_device(*bench.stream, g.x), weights = to_device(*bench.stream, g.weights);
  const Tensor half = to_device(*bench.stream, integers({0, 2, 2, 3, 4, 4}, {6}));
  const Tensor offsets = call(context, "add", {half, half});
  EXPECT_EQ(holding.held.size(), 1u);
  const Tensor y = grouped_gemm(context, x, weights, offsets);
  const HostTensor expected =
      test::program()
          .registry.get("grouped_gemm")
          .reference(std::vector<HostTensor>{g.x, g.weights, integers({0, 4, 4, 6, 8, 8}, {6})}, {})[0];
  EXPECT_TRUE(compare(to_host(*bench.stream, y), expected, 2e-6, 2e-5).equal);  // f32 sums of 40 products
}

// ---- expert_ffn

struct Layer {
  HostTensor x, weights, indices, gate_up, down;
};
Layer some_layer(DType dtype, DType weight_dtype) {
  HostTensor weights(weight_dtype, {33, 2});
  fill(weights, "uniform", 2);
  HostTensor indices(DType::i32, {33, 2});
  for (int i = 0; i < 33; ++i) {
    indices.set(2 * i, i * 5 % 7);
    indices.set(2 * i + 1, (i * 5 + 1 + i % 3) % 7);
  }
  return {random(dtype, {33, 24}, 1), weights, indices, random(dtype, {7, 32, 24}, 3, 0.2),
          random(dtype, {7, 24, 16}, 4, 0.25)};
}

HostTensor run_layer(test::Bench& bench, const Layer& l, Observer* observer = nullptr) {
  Context context = bench.context({}, observer);
  const auto there = [&](const HostTensor& t) { return to_device(*bench.stream, t); };
  return to_host(*bench.stream,
                 expert_ffn(context, there(l.x), there(l.weights), there(l.indices), there(l.gate_up), there(l.down)));
}

TEST(ExpertFfn, LaunchesWhatTheReferenceImplementationsDefaultPathDoes) {
  const auto others = [](DType dtype, DType weight_dtype) {
    test::Bench bench("host");
    Launches seen;
    run_layer(bench, some_layer(dtype, weight_dtype), &seen);
    EXPECT_EQ(std::count(seen.names.begin(), seen.names.end(), "linear"), 14);
    std::erase(seen.names, "linear");
    return seen.names;
  };
  EXPECT_EQ(others(DType::bf16, DType::bf16),
            (Names{"sort", "arange", "searchsorted", "floor_divide", "index_select", "silu", "mul", "index_select",
                   "mul", "arange", "index_copy", "index_select", "sum"}));
  EXPECT_EQ(others(DType::bf16, DType::f32),
            (Names{"sort", "arange", "searchsorted", "floor_divide", "index_select", "silu", "mul", "index_select",
                   "to", "mul", "arange", "index_copy", "index_select", "sum", "to"}));
}

TEST(ExpertFfn, IsRepeatableOnAnyNumberOfThreads) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    const Layer layer = some_layer(dtype, DType::f32);
    test::Bench first("host", 1);
    const HostTensor expected = run_layer(first, layer);
    for (const int threads : {1, 2, 3})
      for (int round = 0; round < 5; ++round) {
        test::Bench bench("host", threads);
        EXPECT_EQ(run_layer(bench, layer).bytes, expected.bytes);
      }
  }
}

TEST(ExpertFfn, ATokensResultDoesNotDependOnTheExpertsNumbers) {
  // The experts renamed by a rotation: each still gets the same rows in the same order.
  test::Bench bench("host");
  const Layer layer = some_layer(DType::bf16, DType::f32);
  Layer renamed = layer;
  for (std::int64_t i = 0; i < 66; ++i)
    renamed.indices.set(i, static_cast<double>((static_cast<int>(layer.indices.at(i)) + 3) % 7));
  const auto rotate = [](HostTensor& matrices) {
    const auto one = static_cast<std::ptrdiff_t>(matrices.bytes.size() / 7);
    std::rotate(matrices.bytes.begin(), matrices.bytes.begin() + 4 * one, matrices.bytes.end());
  };
  rotate(renamed.gate_up);
  rotate(renamed.down);
  EXPECT_EQ(run_layer(bench, renamed).bytes, run_layer(bench, layer).bytes);
}

TEST(ExpertFfn, SaysWhatDoesNotFit) {
  test::Bench bench("host");
  Context context = bench.context();
  const auto t = [&](DType dtype, const Shape& shape) { return context.empty(dtype, shape); };
  const DType f32 = DType::f32, bf16 = DType::bf16, i32 = DType::i32;
  const Tensor x = t(bf16, {5, 24}), w = t(f32, {5, 2}), i = t(i32, {5, 2}), g = t(bf16, {4, 32, 24}),
               d = t(bf16, {4, 24, 16});
  const std::pair<std::string, const char*> faults[] = {
      {error_of([&] {
         expert_ffn(context, x, t(DType::f16, {5, 2}), i, g, d);
       }),
       "weights"},
      {error_of([&] {
         expert_ffn(context, x, t(f32, {4, 2}), i, g, d);
       }),
       "weights"},
      {error_of([&] {
         expert_ffn(context, x, w, t(DType::i64, {5, 2}), g, d);
       }),
       "indices"},
      {error_of([&] {
         expert_ffn(context, x, w, t(i32, {5, 3}), g, d);
       }),
       "indices"},
      {error_of([&] {
         expert_ffn(context, x, w, i, t(bf16, {4, 16, 24}), d);
       }),
       "gate_up"},
      {error_of([&] {
         expert_ffn(context, x, w, i, t(f32, {4, 32, 24}), d);
       }),
       "gate_up"},
      {error_of([&] {
         expert_ffn(context, x, w, i, g, d, t(bf16, {4, 16, 24}));
       }),
       "gate_up"},
      {error_of([&] {
         expert_ffn(context, x, w, i, t(bf16, {4, 16, 24}), d, t(bf16, {4, 16, 25}));
       }),
       "up"},
      {error_of([&] {
         expert_ffn(context, x, w, i, g, t(bf16, {4, 25, 16}));
       }),
       "down"},
      {error_of([&] { expert_ffn(context, x, w, i, g, d, {}, {.name = "relu"}); }), "swigluoai"},
  };
  for (const auto& [text, expected] : faults) {
    EXPECT_NE(text.find("expert_ffn"), std::string::npos) << text;
    EXPECT_NE(text.find(expected), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace tilewright
