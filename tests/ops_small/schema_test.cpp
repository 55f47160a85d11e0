// What the schemas of small ops infer: output strides as torch chooses them, bytes and flops, errors for bad calls.
#include "base/json.h"
#include "ops_small/views_fixture.h"

namespace tilewright::test {
namespace {

// A call that is only inferred; nothing runs.
ops::OutputSpec infer(const char* name, const std::vector<Tensor>& inputs, const ops::Attributes& attributes = {}) {
  const ops::Op& op = program().registry.get(ops::OpName(std::string_view(name)));
  return op.schema.infer({op, inputs, attributes, {}})[0];
}

Dims dims_of(const Json& list) {
  Dims out;
  for (const Json& value : list) out.push_back(value.get<std::int64_t>());
  return out;
}

// tools/make_stride_cases.py writes the cases from torch.
TEST(Schema, OutputStridesEqualTorchs) {
  Bench bench("host");
  const Json cases = read_json_file(TILEWRIGHT_SOURCE_DIR "/tests/ops_small/data/stride_cases.json");
  ASSERT_GT(cases.size(), 100u);
  for (const Json& each : cases) {
    std::vector<Tensor> inputs;
    for (const Json& in : each["inputs"]) {
      const Shape shape = dims_of(in["shape"]);
      const runtime::MemoryRef memory = bench.device->allocate(*bench.stream, 1 << 16);
      inputs.push_back(Tensor(memory, DType::f32, shape, dims_of(in["strides"]), 0));
    }
    const std::string op = each["op"];
    ops::Attributes attributes;
    if (op == "to") attributes.set("dtype", DType::bf16);
    if (op == "softmax" || op == "mean") attributes.set("dim", each["dim"].get<std::int64_t>());
    const ops::OutputSpec out = infer(op.c_str(), inputs, attributes);
    const Strides strides = out.strides.rank() == out.shape.rank() ? out.strides : contiguous_strides(out.shape);
    EXPECT_EQ(to_string(out.shape), to_string(dims_of(each["shape"]))) << each.dump();
    for (int i = 0; i < out.shape.rank(); ++i)
      if (out.shape[i] != 1) {
        EXPECT_EQ(strides[i], dims_of(each["strides"])[i]) << "dim " << i << " of " << each.dump();
      }
  }
}

TEST(Schema, EverySmallOpHasAReferenceAndAHostKernelAndNamedInputs) {
  for (const auto& op : program().registry.ops()) {
    if (op->schema.kind != ops::OpKind::small) continue;
    EXPECT_TRUE(op->reference) << op->schema.name;
    EXPECT_FALSE(op->schema.summary.empty()) << op->schema.name;
    const auto* candidates = op->candidates_for("host");
    EXPECT_TRUE(candidates && !candidates->empty()) << op->schema.name;
    if (op->schema.scalar) {
      EXPECT_LE(op->schema.scalar(9, {}).inputs(), static_cast<int>(op->schema.inputs.size())) << op->schema.name;
    }
  }
}

TEST(Schema, CostsCountEveryElementOnce) {
  Bench bench("host");
  ops::Context context = bench.context();
  const Tensor x = context.empty(DType::bf16, {2, 8, 64}), w = context.empty(DType::bf16, {64});
  const ops::Op& op = program().registry.get("mul");
  const std::vector<Tensor> inputs = {x, w};
  const ops::Attributes none;
  const std::vector<Tensor> outputs = {x};
  const runtime::Launch launch = ops::make_launch(runtime::Kernel{}, {op, inputs, none, outputs});
  EXPECT_EQ(launch.cost.flops, 1024);
  EXPECT_EQ(launch.cost.bytes_read, 2048 + 128);
  EXPECT_EQ(launch.cost.bytes_written, 2048);
}

TEST(Schema, BadCallsAreErrorsThatNameOpArgumentExpectedAndFound) {
  Bench bench("host");
  ops::Context context = bench.context();
  const auto t = [&](DType dtype, const Shape& shape) { return context.empty(dtype, shape); };
  const DType f32 = DType::f32, i64 = DType::i64, i32 = DType::i32, bf16 = DType::bf16, b8 = DType::b8;
  struct Bad {
    const char* op;
    std::vector<Tensor> inputs;
    ops::Attributes attributes;
    const char* says;  // somewhere in the message
  };
  const std::int64_t one = 1;
  const Bad bad[] = {
      {"add", {t(f32, {2}), t(bf16, {2})}, {}, "bf16"},
      {"add", {t(f32, {2, 3}), t(f32, {2, 4})}, {}, "broadcasts"},
      {"add", {t(f32, {2})}, {}, "attribute"},
      {"add", {}, {}, "inputs"},
      {"add", {t(b8, {2}), t(b8, {2})}, {}, "bool"},
      {"add", {t(f32, {2}), t(f32, {2}), t(f32, {2})}, {}, "3"},
      {"exp", {t(i64, {2})}, {}, "i64"},
      {"div", {t(i64, {2}), t(i64, {2})}, {}, "i64"},
      {"where", {t(f32, {2}), t(f32, {2}), t(f32, {2})}, {}, "condition"},
      {"masked_fill", {t(f32, {2}), t(f32, {2})}, {{"value", 0.0}}, "mask"},
      {"masked_fill", {t(f32, {2}), Tensor()}, {{"value", 0.0}}, "mask"},
      {"gelu", {t(f32, {2})}, {{"approximate", std::string_view("erf")}}, "erf"},
      {"to", {t(f32, {2})}, {}, "dtype"},
      {"to", {t(f32, {2})}, {{"dtype", f32}}, "another dtype"},
      {"add_", {t(i32, {2}), t(i32, {3, 2})}, {}, "broadcasts to"},
      {"mean", {t(f32, {2})}, {{"dim", one}}, "dim"},
      {"sum", {t(i64, {2})}, {}, "i64"},
      {"softmax", {t(f32, {2, 2})}, {{"dim", std::int64_t{-3}}}, "-3"},
      {"cat", {t(f32, {2, 2}), t(f32, {3, 3})}, {{"dim", one}}, "tensors"},
      {"cat", {t(f32, {2, 2}), t(bf16, {2, 2})}, {{"dim", one}}, "bf16"},
      {"cat", {}, {}, "inputs"},
      {"arange", {}, {{"start", 0.0}, {"end", 5.0}, {"step", 0.0}}, "step"},
      {"arange", {}, {{"start", 0.0}, {"end", -5.0}}, "step"},
      {"full", {}, {{"shape", Dims{2, -1}}}, "-1"},
      {"causal_mask", {t(i64, {2})}, {{"rows", one}, {"columns", one}}, "i32"},
      {"embedding", {t(f32, {5, 4}), t(f32, {2})}, {}, "ids"},
      {"embedding", {t(f32, {5}), t(i64, {2})}, {}, "weight"},
      {"embedding", {t(f32, {5, 4})}, {}, "inputs"},
      {"index_select", {t(f32, {5, 4}), t(i64, {2, 2})}, {{"dim", one}}, "index"},
      {"gather", {t(f32, {5, 4}), t(i64, {6, 2})}, {{"dim", one}}, "index"},
      {"index_copy", {t(f32, {5, 4}), t(i64, {2}), t(f32, {3, 4})}, {{"dim", std::int64_t{0}}}, "source"},
      {"cache_write", {t(f32, {1, 2, 8, 4}), t(i32, {1}), t(f32, {1, 2, 9, 4})}, {}, "at most 8"},
      {"cache_write", {t(f32, {1, 2, 8, 4}), t(i32, {2}), t(f32, {1, 2, 1, 4})}, {}, "position"},
      {"scatter_", {t(f32, {5, 4}), t(i64, {6, 2})}, {{"dim", one}, {"value", 1.0}}, "index"},
      {"scatter_", {t(f32, {5, 4}), t(i64, {5, 2})}, {{"dim", one}}, "value"},
      {"floor_divide", {t(f32, {5})}, {{"other", one}}, "f32"},
      {"floor_divide", {t(i64, {5})}, {{"other", std::int64_t{0}}}, "1 or more"},
      {"topk", {t(f32, {5, 4})}, {{"k", std::int64_t{5}}}, "0 … 4"},
      {"topk", {t(b8, {5, 4})}, {{"k", one}}, "bool"},
      {"sort", {t(f32, {})}, {}, "scalar"},
      {"searchsorted", {t(i32, {5, 4}), t(i32, {2})}, {}, "sorted_sequence"},
      {"searchsorted", {t(i32, {5}), t(i64, {2})}, {}, "i64"},
      {"mm", {t(f32, {2, 3}), t(f32, {4, 2})}, {}, "mat2"},
      {"bmm", {t(f32, {2, 2, 3}), t(f32, {3, 3, 2})}, {}, "mat2"},
      {"linear", {t(f32, {2, 3}), t(f32, {4, 2})}, {}, "2 in the last dim"},
      {"linear", {t(f32, {2, 3}), t(f32, {4, 3}), t(f32, {5})}, {}, "bias"},
  };
  for (const Bad& each : bad) {
    try {
      call_all(context, ops::OpName(std::string_view(each.op)), each.inputs, each.attributes);
      ADD_FAILURE() << each.op << " accepts what lacks: " << each.says;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(each.op), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find(each.says), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace tilewright::test
