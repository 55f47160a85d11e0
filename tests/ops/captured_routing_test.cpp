// Experts that are chosen on the device: a graph that was captured with one routing replays with every other one.
#include <gtest/gtest.h>

#include <set>

#include "base/error.h"
#include "ops/expert_ffn/expert_ffn.h"
#include "ops/grouped_gemm/grouped_gemm.h"
#include "ops/moe_gate_top_k/moe_gate_top_k.h"
#include "ops/ops_fixture.h"
#include "runtime/capture/graph.h"
#include "tile/binary/compiler.h"

namespace tilewright {
namespace {

using namespace ops;

constexpr std::int64_t kTokens = 12, kHidden = 24, kExperts = 8, kInner = 16, kChosen = 2;
constexpr OpName kLinear{"linear"};

HostTensor random(DType dtype, const Shape& shape, std::uint64_t seed, double scale = 1) {
  HostTensor out(dtype, shape);
  fill(out, "normal", seed);
  for (std::int64_t i = 0; i < out.elements(); ++i) out.set(i, scale * out.at(i));
  return out;
}

// A sparse layer: router, choice, experts.
struct SparseLayer {
  test::Bench bench;
  Context context;
  Tensor x, router, gate_up, down;

  SparseLayer(DType dtype, const char* fuse, int threads)
      : bench("host", threads), context(bench.context(Switches::parse(test::program().registry, fuse))) {
    const auto there = [&](const HostTensor& t) { return to_device(*bench.stream, t); };
    x = there(random(dtype, {kTokens, kHidden}, 1));
    router = there(random(dtype, {kExperts, kHidden}, 2));
    gate_up = there(random(dtype, {kExperts, 2 * kInner, kHidden}, 3, 0.2));
    down = there(random(dtype, {kExperts, kHidden, kInner}, 4, 0.25));
  }
  struct Result {
    Tensor out, experts;
  };
  Result pass() {
    const Tensor logits = call(context, kLinear, {x, router});
    const Gate gate = moe_gate_top_k(context, logits, {}, {.experts_per_token = kChosen});
    return {expert_ffn(context, x, gate.weights, gate.indices, gate_up, down), gate.indices};
  }
  void set(const HostTensor& values) {
    bench.stream->copy_from_host(x.memory(), x.byte_offset(), values.bytes.data(), values.bytes.size());
  }
  HostTensor read(const Tensor& t) { return to_host(*bench.stream, t); }
};

// Random tokens, and tokens that are all the same: every one goes to the same two experts, the others have none.
std::vector<HostTensor> inputs(DType dtype) {
  std::vector<HostTensor> out;
  for (std::uint64_t seed = 10; seed < 16; ++seed) out.push_back(random(dtype, {kTokens, kHidden}, seed));
  for (std::uint64_t seed = 20; seed < 23; ++seed) {
    HostTensor same = random(dtype, {kTokens, kHidden}, seed);
    for (std::int64_t i = kHidden; i < same.elements(); ++i) same.set(i, same.at(i % kHidden));
    out.push_back(std::move(same));
  }
  return out;
}

TEST(CapturedRouting, ReplaysWithOtherExpertsAsItRunsEagerly) {
  if (const std::string reason = tile::compiler_unavailable(); !reason.empty()) GTEST_SKIP() << reason;
  for (const char* fuse : {"grouped_gemm", "all"})
    for (const DType dtype : {DType::f32, DType::bf16})
      for (const int threads : {1, 2}) {
        SCOPED_TRACE(fuse + std::string(", ") + std::string(dtype_name(dtype)) + ", threads " +
                     std::to_string(threads));
        SparseLayer layer(dtype, fuse, threads);
        layer.pass();  // kernels are found and compiled
        layer.bench.stream->begin_capture();
        const SparseLayer::Result captured = layer.pass();
        const auto graph = layer.bench.device->instantiate(layer.bench.stream->end_capture());
        std::set<std::vector<std::byte>> routes;
        for (int round = 0; round < 2; ++round)
          for (const HostTensor& values : inputs(dtype)) {
            layer.set(values);
            const SparseLayer::Result eager = layer.pass();
            const HostTensor out = layer.read(eager.out), experts = layer.read(eager.experts);
            layer.bench.stream->replay(*graph);
            ASSERT_EQ(layer.read(captured.experts).bytes, experts.bytes);
            ASSERT_EQ(layer.read(captured.out).bytes, out.bytes);
            routes.insert(experts.bytes);
          }
        EXPECT_EQ(routes.size(), inputs(dtype).size());  // each chose other experts
      }
}

// The choice by itself needs no fused kernel.
TEST(CapturedRouting, TheChoiceReplaysInSmallOps) {
  SparseLayer layer(DType::bf16, "none", 2);
  layer.bench.stream->begin_capture();
  const Gate captured = moe_gate_top_k(layer.context, call(layer.context, kLinear, {layer.x, layer.router}), {},
                                       {.experts_per_token = 3});
  const auto graph = layer.bench.device->instantiate(layer.bench.stream->end_capture());
  for (const HostTensor& values : inputs(DType::bf16)) {
    layer.set(values);
    const Gate eager = moe_gate_top_k(layer.context, call(layer.context, kLinear, {layer.x, layer.router}), {},
                                      {.experts_per_token = 3});
    const HostTensor indices = layer.read(eager.indices), weights = layer.read(eager.weights);
    layer.bench.stream->replay(*graph);
    EXPECT_EQ(layer.read(captured.indices).bytes, indices.bytes);
    EXPECT_EQ(layer.read(captured.weights).bytes, weights.bytes);
  }
}

// In small ops the experts' sizes are read by the host: the capture says so and where, and eager passes go on.
TEST(CapturedRouting, SizesReadByTheHostAreRefused) {
  SparseLayer layer(DType::f32, "none", 2);
  const HostTensor before = layer.read(layer.pass().out);
  layer.bench.stream->begin_capture();
  try {
    const PathScope scope(layer.context, "layers.0.mlp");
    layer.pass();
    FAIL() << "the host read sizes that a replay would not read again";
  } catch (const Error& error) {
    const std::set<int> codes = {107030, 107041, 107000};
    EXPECT_TRUE(codes.count(error.text().code.value_or(0))) << error.what();
    EXPECT_NE(error.text().where.find("layers.0.mlp"), std::string::npos) << error.text().where;
  }
  EXPECT_THROW(layer.bench.stream->end_capture(), Error);
  EXPECT_EQ(layer.read(layer.pass().out).bytes, before.bytes);
}

}  // namespace
}  // namespace tilewright
