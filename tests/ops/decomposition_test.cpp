// What decompositions launch: only what they declare, in the order of an eager framework, and with the composites that
// are on still fused inside one that is off.
#include <gtest/gtest.h>

#include <set>

#include "ops/core/case_runner.h"
#include "ops/ops_fixture.h"

namespace tilewright {
namespace {

using namespace ops;

// Calls seen one level below the outermost one, and launches.
struct Watch : Observer {
  int depth = 0;
  std::set<std::string> direct;
  std::vector<std::string> launches;
  void call_begins(const OpCall& call, const char*) override {
    if (depth++ == 1) direct.insert(call.op.schema.name);
  }
  void call_ends(const OpCall&, const char*) override { --depth; }
  void launched(const runtime::Launch& launch) override { launches.emplace_back(launch.op); }
};

std::vector<OpCase> composite_cases() {
  std::vector<OpCase> out;
  for (const EmbeddedCaseFile& file : embedded_case_files()) {
    const Op* op = test::program().registry.find(OpName(file.folder));
    if (!op || op->schema.kind != OpKind::composite) continue;
    for (OpCase& one : parse_cases(test::program().registry, file.text, "cases", std::string(file.folder)))
      out.push_back(std::move(one));
  }
  return out;
}

std::vector<std::string> launches_of(const char* id_op, const char* id, const Switches& switches = {}) {
  test::Bench bench("host");
  Watch watch;
  for (const OpCase& one : composite_cases()) {
    if (one.op != id_op || one.id != id) continue;
    Context context = bench.context(switches, &watch);
    std::vector<Tensor> inputs;
    HostTensor values;
    for (std::size_t i = 0; i < one.inputs.size(); ++i)
      inputs.push_back(one.inputs[i].name.empty() ? Tensor() : case_input(context, one, i, values));
    watch.launches.clear();
    call_all(context, OpName(std::string_view(one.op)), std::span<const Tensor>(inputs), one.attributes);
    bench.stream->synchronize();
  }
  EXPECT_FALSE(watch.launches.empty()) << "no case " << id_op << " " << id;
  return watch.launches;
}

using Names = std::vector<std::string>;

TEST(Decomposition, CallsExactlyWhatItDeclares) {
  test::Bench bench("host");
  std::map<std::string, std::set<std::string>> seen;
  for (const OpCase& one : composite_cases()) {
    Watch watch;
    Context context = bench.context({}, &watch);
    std::vector<Tensor> inputs;
    HostTensor values;
    for (std::size_t i = 0; i < one.inputs.size(); ++i)
      inputs.push_back(one.inputs[i].name.empty() ? Tensor() : case_input(context, one, i, values));
    call_all(context, OpName(std::string_view(one.op)), std::span<const Tensor>(inputs), one.attributes);
    seen[one.op].insert(watch.direct.begin(), watch.direct.end());
    bench.stream->synchronize();
  }
  for (const auto& op : test::program().registry.ops()) {
    if (op->schema.kind != OpKind::composite) continue;
    const auto& calls = op->decomposition.calls;
    EXPECT_EQ(seen[op->schema.name], (std::set<std::string>(calls.begin(), calls.end()))) << op->schema.name;
  }
}

TEST(Decomposition, CastsOnlyWhereTheDtypeChanges) {
  EXPECT_EQ(launches_of("rms_norm", "tail_bf16"), (Names{"to", "pow", "mean", "add", "rsqrt", "mul", "to", "mul"}));
  EXPECT_EQ(launches_of("rms_norm", "tail_f32"), (Names{"pow", "mean", "add", "rsqrt", "mul", "mul"}));
  EXPECT_EQ(launches_of("scaled_masked_softmax", "causal_f16"), (Names{"mul", "add", "to", "softmax", "to"}));
  EXPECT_EQ(launches_of("scaled_masked_softmax", "no_mask_f32"), (Names{"mul", "softmax"}));
}

TEST(Decomposition, RotatesQueriesThenKeys) {
  EXPECT_EQ(launches_of("rope", "split_heads_bf16"),
            (Names{"mul", "neg", "cat", "mul", "add", "mul", "neg", "cat", "mul", "add"}));
}

TEST(Decomposition, CopiesWhereReshapingNeedsIt) {
  // Two rows of a batch with split heads: repeated keys and values, and the queries, need copies.
  EXPECT_EQ(launches_of("attention", "causal_bf16"),
            (Names{"copy", "copy", "copy", "bmm", "mul", "add", "to", "softmax", "to", "bmm", "copy"}));
  // One key head a query head: nothing is repeated, the strided keys and values are copied by the product.
  EXPECT_EQ(launches_of("attention", "own_keys_f32"),
            (Names{"copy", "copy", "bmm", "mul", "add", "softmax", "copy", "bmm", "copy"}));
  // One contiguous row: a single token needs no copy but the repetition.
  EXPECT_EQ(launches_of("attention", "decode_from_cache_bf16"),
            (Names{"copy", "copy", "bmm", "mul", "add", "to", "softmax", "to", "bmm"}));
  EXPECT_EQ(launches_of("attention", "one_of_each_f32"), (Names{"bmm", "mul", "add", "softmax", "bmm"}));
}

TEST(Decomposition, WhatIsOnFusesInsideWhatIsOff) {
  // A registry in which rms_norm has a kernel of one launch.
  runtime::DeviceRegistry devices;
  Registry registry;
  register_operators(registry);
  register_backends(devices, registry);
  static const runtime::Kernel* nothing = nullptr;
  test::Bench bench("host");
  nothing = bench.device->find_kernel("cts.empty");
  ASSERT_NE(nothing, nullptr);
  registry.add_candidate("rms_norm", "host", {.name = "one launch", .run = [](Context& context, const OpCall& call) {
                                                runtime::Launch launch = make_launch(*nothing, call);
                                                context.submit(launch);
                                              }});
  registry.finish();
  Watch watch;
  Context context(registry, *bench.stream, Switches::parse(registry, "rms_norm"), &watch);
  const Tensor x = context.empty(DType::f32, {1, 3, 16}), w = context.empty(DType::f32, {8}),
               table = context.empty(DType::f32, {1, 3, 8});
  call_all(context, "qk_norm_rope", {x, x, w, w, table, table}, {{"eps", 1e-6}});
  bench.stream->synchronize();
  EXPECT_EQ(watch.launches,
            (Names{"rms_norm", "rms_norm", "mul", "neg", "cat", "mul", "add", "mul", "neg", "cat", "mul", "add"}));
}

}  // namespace
}  // namespace tilewright
