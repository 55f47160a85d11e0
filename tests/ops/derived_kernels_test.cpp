// Kernels derived from decompositions, run by the interpreter: against the references on all cases and on random ones,
// and what their programs must not depend on.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "backends/host/tile/interpreted_generator.h"
#include "ops/case_fixture.h"
#include "ops/core/case_runner.h"
#include "ops/core/derive/derived_kernel.h"
#include "ops/core/derive/trace.h"
#include "ops/core/shipped.h"
#include "ops/core/tile_signature.h"
#include "ops/ops_fixture.h"
#include "tile/binary/compiler.h"
#include "tile/ir/printer.h"

namespace tilewright {
namespace {

using namespace ops;

// A registry of its own, whose tile programs are interpreted.
struct Interpreted {
  Interpreted() {
    register_operators(registry);
    register_backends(devices, registry);
    registry.set_code_generator("host", backends::host::make_interpreted_generator());
    registry.finish();
    device = devices.open("host", {.threads = 1});
  }
  runtime::DeviceRegistry devices;
  Registry registry;
  std::shared_ptr<runtime::Device> device;
};

std::vector<OpCase> cases_of(const Registry& registry, const Op& op) {
  for (const EmbeddedCaseFile& file : embedded_case_files())
    if (file.folder == op.schema.name) return parse_cases(registry, file.text, "cases", op.schema.name);
  return {};
}

const CaseResult* derived_result(const std::vector<CaseResult>& results) {
  for (const CaseResult& result : results)
    if (result.path.ends_with(".derived")) return &result;
  return nullptr;
}

TEST(DerivedKernels, EqualTheReferenceOnAllCases) {
  const Interpreted all;
  Context context(all.registry, all.device->default_stream());
  int ops = 0;
  for (const auto& op : all.registry.ops()) {
    if (!may_derive(*op)) continue;
    ++ops;
    for (const OpCase& one : cases_of(all.registry, *op)) {
      if (test::elements_of(one) > 400'000) continue;  // the interpreter takes its time
      const std::vector<CaseResult> results = run_case(context, one);
      const CaseResult* result = derived_result(results);
      ASSERT_NE(result, nullptr) << one.op << " has no derived kernel";
      EXPECT_EQ(result->refusal, "") << one.op << " " << one.id;
      EXPECT_TRUE(result->pass) << one.op << " " << one.id << ": " << result->reason << " (worst error "
                                << result->worst_error << " at " << result->where << ")";
    }
  }
  EXPECT_GE(ops, 7);
}

// Random calls of the operators that derive ---------------------------------------------------------------------------

class RandomCases {
 public:
  RandomCases(const Registry& registry, std::uint64_t seed) : registry_(registry), engine_(seed) {}

  std::int64_t upto(std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(engine_);
  }
  bool chance(int percent) { return upto(1, 100) <= percent; }

  // Tolerances are those that the operator's own cases state for the dtype.
  OpCase next(const Op& op) {
    static constexpr DType kDTypes[] = {DType::f32, DType::f16, DType::bf16};
    const DType dtype = kDTypes[upto(0, 2)];
    OpCase one;
    one.op = op.schema.name;
    one.seed = static_cast<std::uint64_t>(upto(1, 1'000'000));
    for (const OpCase& known : cases_of(registry_, op))
      if (known.inputs[0].dtype == dtype && known.rtol > one.rtol) one.rtol = known.rtol, one.atol = known.atol;
    const auto input = [&](const char* name, const Shape& shape, const char* fill = "normal") {
      one.inputs.push_back({name, dtype, shape, strides(shape), fill, {}, 1});
    };
    const std::string& name = op.schema.name;
    if (name == "rms_norm" || name == "add_rms_norm") {
      const Shape shape = rows(width());
      input("x", shape);
      if (name == "add_rms_norm") input("residual", shape);
      input("weight", {shape.back()}, "uniform");
      one.attributes = {{"eps", 1e-5}};
    } else if (name == "silu_mul" || name == "gelu_mul") {
      const Shape shape = rows(width());
      input("gate", shape);
      input("up", shape);
      if (name == "gelu_mul" && chance(50)) one.attributes = {{"approximate", std::string_view("tanh")}};
    } else if (name == "scaled_masked_softmax") {
      Shape shape{upto(1, 2), upto(1, 3), upto(1, 4), width()};
      input("scores", shape);
      one.attributes = {{"scale", 0.3}};
      if (chance(70)) {
        for (int i = 0; i < 3; ++i)
          if (chance(40)) shape[i] = 1;
        input("mask", shape, chance(50) ? "causal_mask" : "normal");
      } else {
        one.inputs.emplace_back();
      }
    } else if (name == "rope" || name == "qk_norm_rope") {
      const std::int64_t batch = upto(1, 2), tokens = upto(1, 5), head = heads_[static_cast<std::size_t>(upto(0, 4))];
      const std::int64_t heads[] = {upto(1, 4), upto(1, 4)};
      const bool normed = name == "qk_norm_rope";
      for (const int i : {0, 1})
        input(i == 0 ? "q" : "k",
              normed ? Shape{batch, tokens, heads[i] * head} : Shape{batch, heads[i], tokens, head});
      if (normed) {
        input("q_weight", {head}, "uniform");
        input("k_weight", {head}, "uniform");
        one.attributes = {{"eps", 1e-5}};
      }
      const std::int64_t tables = chance(50) ? 1 : batch;
      input("cos", {tables, tokens, head}, "uniform");
      input("sin", {tables, tokens, head}, "uniform");
    } else {
      ADD_FAILURE() << "no random cases of " << name << ": add them here";
    }
    one.id = fmt::format("random_{}", one.seed);
    for (const CaseInput& i : one.inputs) one.id += fmt::format(" {} {}", to_string(i.shape), to_string(i.strides));
    return one;
  }

 private:
  std::int64_t width() { return chance(10) ? 1 : chance(30) ? upto(250, 600) : upto(1, 80); }
  Shape rows(std::int64_t width) {
    Shape out;
    for (std::int64_t i = upto(0, 3); i > 0; --i) out.push_back(upto(0, 20) == 0 ? 0 : upto(1, 4));
    out.push_back(width);
    return out;
  }
  // Rows in any order, with gaps or not; elements of a row side by side.
  Strides strides(const Shape& shape) {
    if (shape.rank() < 2 || chance(40)) return {};
    std::vector<int> order;
    for (int i = 0; i + 1 < shape.rank(); ++i) order.push_back(i);
    if (chance(50)) std::shuffle(order.begin(), order.end(), engine_);
    Strides out = Dims::filled(shape.rank(), 1);
    std::int64_t stride = shape.back() + (chance(50) ? upto(0, 9) : 0);
    for (std::size_t i = order.size(); i-- > 0;) {
      out[order[i]] = stride;
      stride *= std::max<std::int64_t>(1, shape[order[i]]);
      if (chance(20)) stride += upto(1, 5);
    }
    return out;
  }

  const Registry& registry_;
  std::mt19937_64 engine_;
  // Each is a program of its own: few, so that compiled ones take little time.
  std::array<std::int64_t, 5> heads_{2, 10, 34, 64, 80};
};

void expect_equal_on_random_calls(Context& context, std::uint64_t seed) {
  RandomCases random(context.registry(), seed);
  for (const auto& op : context.registry().ops()) {
    if (!may_derive(*op)) continue;
    for (int i = 0; i < 150; ++i) {
      const OpCase one = random.next(*op);
      const std::vector<CaseResult> results = run_case(context, one);
      const CaseResult* result = derived_result(results);
      ASSERT_NE(result, nullptr);
      EXPECT_EQ(result->refusal, "") << one.op << " " << one.id;
      EXPECT_TRUE(result->pass) << one.op << " " << one.id << " " << dtype_name(one.inputs[0].dtype) << ": "
                                << result->reason << " (worst error " << result->worst_error << " at " << result->where
                                << ")";
    }
  }
}

TEST(DerivedKernels, EqualTheReferenceOnRandomCalls) {
  const Interpreted all;
  Context context(all.registry, all.device->default_stream());
  expect_equal_on_random_calls(context, 20261129);
}

TEST(DerivedKernels, EqualTheReferenceOnRandomCallsWhenCompiled) {
  if (const std::string reason = tile::compiler_unavailable(); !reason.empty()) GTEST_SKIP() << reason;
  test::Bench bench("host");
  Context context = bench.context();
  expect_equal_on_random_calls(context, 7);
}

// What programs must not depend on ------------------------------------------------------------------------------------

Derived derived_from(const Registry& registry, const char* name, const std::vector<Shape>& shapes, DType dtype,
                     const Attributes& attributes = {}) {
  const Op& op = registry.get(OpName(std::string_view(name)));
  std::vector<Tensor> inputs;
  for (const Shape& shape : shapes)
    inputs.push_back(stand_in(Tensor(runtime::MemoryRef(), dtype, shape, contiguous_strides(shape), 0)));
  return derive_call(registry, OpCall{op, inputs, attributes, {}});
}

TEST(DerivedKernels, HaveOneProgramForAllExtents) {
  const Registry& registry = test::program().registry;
  struct Two {
    const char* op;
    std::vector<Shape> first, second;
    Attributes attributes = {};
  };
  const Two calls[] = {
      {"rms_norm", {{1, 5, 64}, {64}}, {{3, 2, 7, 2048}, {2048}}},
      {"rms_norm", {{64}, {64}}, {{9, 40000}, {40000}}, {{"eps", 0.5}}},
      {"rms_norm", {{1, 5, 64}, {64}}, {{2, 1}, {1}}},
      {"add_rms_norm", {{1, 64}, {1, 64}, {64}}, {{1, 128, 1024}, {1, 128, 1024}, {1024}}},
      {"silu_mul", {{2, 3}, {2, 3}}, {{1, 512, 6144}, {1, 512, 6144}}},
      {"silu_mul", {{1, 1}, {1, 1}}, {{0, 7}, {0, 7}}},
      {"scaled_masked_softmax", {{2, 2, 3, 5}, {1, 1, 3, 5}}, {{1, 16, 512, 70000}, {1, 1, 512, 70000}}},
      {"scaled_masked_softmax", {{1, 1, 1, 5}, {1, 1, 1, 5}}, {{1, 16, 1, 256}, {1, 1, 1, 256}}},
      {"rope",
       {{1, 4, 2, 64}, {1, 2, 2, 64}, {1, 2, 64}, {1, 2, 64}},
       {{3, 16, 512, 64}, {3, 8, 512, 64}, {3, 512, 64}, {3, 512, 64}}},
      {"qk_norm_rope",
       {{1, 2, 256}, {1, 2, 128}, {64}, {64}, {1, 2, 64}, {1, 2, 64}},
       {{3, 512, 1024}, {3, 512, 512}, {64}, {64}, {1, 512, 64}, {1, 512, 64}}},
  };
  for (const Two& two : calls)
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
      const Derived first = derived_from(registry, two.op, two.first, dtype);
      const Derived second = derived_from(registry, two.op, two.second, dtype, two.attributes);
      ASSERT_TRUE(first.result && second.result) << two.op << ": " << first.reason << second.reason;
      EXPECT_EQ(tile::print(first.result->program), tile::print(second.result->program)) << two.op;
    }
}

TEST(DerivedKernels, KeepTheCastsOfTheDecompositionAndDropRoundingsOfIntermediates) {
  const Registry& registry = test::program().registry;
  const auto casts_to = [&](const char* op, const std::vector<Shape>& shapes, DType dtype) {
    const Derived derived = derived_from(registry, op, shapes, dtype);
    EXPECT_TRUE(derived.result) << derived.reason;
    const std::string text = tile::print(derived.result->program);
    int count = 0;
    for (std::size_t at = 0; (at = text.find("= cast", at)) != std::string::npos; ++at)
      count += text.substr(at, text.find('\n', at) - at).find(": bf16") != std::string::npos ? 1 : 0;
    return count;
  };
  // The cast before the weight, and the output.
  EXPECT_EQ(casts_to("rms_norm", {{5, 64}, {64}}, DType::bf16), 2);
  EXPECT_EQ(casts_to("rms_norm", {{5, 64}, {64}}, DType::f32), 0);
  // The activation is not rounded, the product is.
  EXPECT_EQ(casts_to("silu_mul", {{5, 64}, {5, 64}}, DType::bf16), 1);
  // The sum is an output, which the norm sees as stored: rounded in both passes; then as rms_norm.
  EXPECT_EQ(casts_to("add_rms_norm", {{5, 64}, {5, 64}, {64}}, DType::bf16), 4);
}

TEST(DerivedKernels, ShippedSpecialisationsAreFewAndBuild) {
  const Interpreted all;
  for (const Registry::RegisteredKernel& registered : all.registry.tile_kernels()) {
    if (registered.kernel->kind != CandidateKind::derived) continue;
    const Op& op = all.registry.get(OpName(std::string_view(registered.op)));
    const auto shipped = shipped_specialisations(op, *registered.kernel, cases_of(all.registry, op));
    EXPECT_GE(shipped.size(), 3u) << registered.op;
    EXPECT_LE(shipped.size(), 12u) << registered.op << ": a form for each dtype, head size and one token or many";
    for (const Specialisation& one : shipped) EXPECT_FALSE(registered.kernel->build(one).nodes.empty());
  }
}

// Chains of calls -----------------------------------------------------------------------------------------------------

// Runs calls on the host and derives a program from what it saw.
class ChainRun {
 public:
  ChainRun() : context_(all().registry, all().device->default_stream(), Switches{}, &trace_) {}

  static const Interpreted& all() {
    static const Interpreted made;
    return made;
  }
  Tensor input(const Shape& shape, DType dtype = DType::f32, const char* fill = "normal") {
    HostTensor values(dtype, shape);
    tilewright::fill(values, fill, ++seed_);
    const Tensor out = to_device(context_.stream(), values);
    inputs_.push_back({fmt::format("in{}", inputs_.size()), out});
    return out;
  }
  Tensor call(const char* name, std::initializer_list<Tensor> inputs, const Attributes& attributes = {}) {
    return ops::call(context_, OpName(name), inputs, attributes);
  }
  Derived derive(const std::vector<Tensor>& outputs) const {
    std::vector<ChainOutput> list;
    for (const Tensor& t : outputs) list.push_back({fmt::format("out{}", list.size()), t, t});
    return ops::derive("chain", trace_.calls(), inputs_, list);
  }
  std::span<const TracedCall> calls() const { return trace_.calls(); }
  // The program's values against those that the calls made. Tile sizes: the smallest.
  void expect_equal(const std::vector<Tensor>& outputs, double rtol, double atol, const std::string& what) {
    const Derived derived = derive(outputs);
    ASSERT_TRUE(derived.result) << what << ": " << derived.reason;
    std::vector<Tensor> made;
    for (const Tensor& t : outputs) {
      const Tensor fresh = context_.empty(t.dtype(), t.shape());
      made.emplace_back(
          context_.empty(t.dtype(), {static_cast<std::int64_t>(t.span_bytes() / dtype_size(t.dtype()))}).memory_ref(),
          t.dtype(), t.shape(), t.strides(), 0);
    }
    TileArguments arguments;
    for (const TensorBinding& b : derived.result->tensors)
      arguments.tensors.push_back(b.of(b.output ? made[static_cast<std::size_t>(b.source)]
                                                : inputs_[static_cast<std::size_t>(b.source)].tensor));
    for (const double scalar : derived.result->scalars) arguments.scalars.push_back(scalar);
    const TileSignature signature(derived.result->program);
    std::array<std::int64_t, kMaxTileValues> values{};
    ASSERT_EQ(signature.check(arguments, values), "") << what;
    static const runtime::Kernel none{"chain", nullptr};
    runtime::Launch launch;
    launch.kernel = &none;
    signature.add_buffers(arguments, launch);
    const auto kernel = backends::host::make_interpreted_generator()->compile(derived.result->program);
    kernel->complete(launch, context_.device(), {values.data(), signature.value_count()});
    context_.submit(launch);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const HostTensor expected = to_host(context_.stream(), outputs[i]);
      const Comparison compared = compare(to_host(context_.stream(), made[i]), expected, rtol, atol);
      EXPECT_TRUE(compared.equal) << what << ", output " << i << ": " << compared.reason << "\n"
                                  << tile::print(derived.result->program);
    }
  }

 private:
  CallTrace trace_;
  Context context_;
  std::vector<ChainInput> inputs_;
  std::uint64_t seed_ = 100;
};

TEST(DerivedChains, FoldsOfFoldsAndOperandsOfOneColumn) {
  ChainRun run;
  const Tensor x = run.input({3, 4, 300}), bias = run.input({300}), gain = run.input({4, 1});
  const Attributes last{{"dim", std::int64_t{-1}}, {"keepdim", true}};
  const Tensor mean = run.call("mean", {x}, last);
  const Tensor centred = run.call("sub", {x, mean});
  const Tensor variance = run.call("mean", {run.call("square", {centred})}, last);
  const Tensor scale = run.call("rsqrt", {run.call("add", {variance}, {{"other", 1e-5}})});
  const Tensor y = run.call("mul", {run.call("add", {run.call("mul", {centred, scale}), bias}), gain});
  run.expect_equal({y}, 1e-5, 1e-5, "layer norm");
  run.expect_equal({y, centred}, 1e-5, 1e-5, "layer norm and a side use");
  run.expect_equal({y, mean}, 1e-5, 1e-5, "layer norm and its means");
}

TEST(DerivedChains, ResultsWithoutColumns) {
  ChainRun run;
  const Tensor x = run.input({3, 4, 30});
  const Tensor sums = run.call("sum", {x}, {{"dim", std::int64_t{-1}}});
  const Tensor y = run.call("exp", {run.call("mul", {sums}, {{"other", 0.1}})});
  run.expect_equal({y}, 1e-5, 1e-5, "sums");
}

TEST(DerivedChains, SlicesJoinsTransposesAndMasks) {
  ChainRun run;
  const Tensor x = run.input({2, 3, 4, 12}), other = run.input({2, 4, 3, 5}), mask = run.input({4, 12}, DType::f32);
  const Tensor hidden = run.call("lt", {mask}, {{"other", 0.0}});
  const Tensor kept = run.call("masked_fill", {x, hidden}, {{"value", -2.0}});
  const Tensor turned = run.call("neg", {kept.slice(3, 3, 7).transpose(1, 2)});
  const Tensor joined = run.call("cat", {turned, run.call("tanh", {other}), kept.slice(3, 11, 12).transpose(1, 2)},
                                 {{"dim", std::int64_t{-1}}});
  const Tensor y = run.call("softmax", {joined}, {{"dim", std::int64_t{-1}}});
  run.expect_equal({y}, 1e-5, 1e-6, "joined");
  run.expect_equal({y, joined, kept}, 1e-5, 1e-6, "joined, with two side uses of other shapes");
}

TEST(DerivedChains, TakeWhatTheyReadAndGiveWhatOthersRead) {
  ChainRun run;
  const Tensor x = run.input({2, 6}), w = run.input({6}), m = run.input({6, 6});
  const Tensor a = run.call("exp", {x});                 // 0: read by 1 and, outside, by 2
  const Tensor b = run.call("mul", {a, w});              // 1: read by 3 alone
  run.call("linear", {a, m});                            // 2
  const Tensor c = run.call("neg", {b.slice(1, 0, 3)});  // 3: read by nobody
  const int members[] = {0, 1, 3};
  const Chain chain = chain_of(run.calls(), members);
  ASSERT_EQ(chain.calls.size(), 3u);
  ASSERT_EQ(chain.inputs.size(), 2u);
  EXPECT_EQ(&chain.inputs[0].tensor.memory(), &x.memory());
  EXPECT_EQ(&chain.inputs[1].tensor.memory(), &w.memory());
  ASSERT_EQ(chain.outputs.size(), 2u);
  EXPECT_EQ(&chain.outputs[0].value.memory(), &a.memory());
  EXPECT_EQ(&chain.outputs[1].value.memory(), &c.memory());
  EXPECT_EQ(derive("chain", chain.calls, chain.inputs, chain.outputs).reason, "");
}

TEST(DerivedChains, RefuseWithAReason) {
  const auto reason = [](const auto& build) {
    ChainRun run;
    const std::vector<Tensor> outputs = build(run);
    const Derived derived = run.derive(outputs);
    EXPECT_FALSE(derived.result);
    return derived.reason;
  };
  EXPECT_EQ(reason([](ChainRun& run) -> std::vector<Tensor> {
              const Tensor x = run.input({2, 4, 4});
              return {run.call("relu", {run.call("bmm", {x, x})})};
            }),
            "bmm is not computed row by row");
  EXPECT_EQ(reason([](ChainRun& run) -> std::vector<Tensor> {
              const Tensor x = run.input({4, 4});
              return {run.call("add_", {run.call("neg", {x}), x})};
            }),
            "add_ writes a tensor that the chain has already used");
  EXPECT_EQ(reason([](ChainRun& run) -> std::vector<Tensor> {
              return {run.call("softmax", {run.input({4, 5})}, {{"dim", std::int64_t{0}}})};
            }),
            "softmax runs across rows");
  EXPECT_EQ(reason([](ChainRun& run) -> std::vector<Tensor> {
              return {run.call("cat", {run.input({4, 5}), run.input({2, 5})}, {{"dim", std::int64_t{0}}})};
            }),
            "cat joins rows");
  EXPECT_EQ(reason([](ChainRun& run) -> std::vector<Tensor> {
              return {run.call("exp", {run.input({4, 5}).transpose(0, 1)})};
            }),
            "the elements of a row of out0 do not lie side by side");
  EXPECT_EQ(reason([](ChainRun& run) -> std::vector<Tensor> {
              return {run.call("neg", {run.call("exp", {run.input({4, 6})}).view({8, 3})})};
            }),
            "exp's result is read in another shape, not row by row");
  EXPECT_EQ(reason([](ChainRun& run) -> std::vector<Tensor> {
              return {run.call("neg", {run.call("exp", {run.input({4, 6})}).slice(0, 1, 3)})};
            }),
            "only some rows of exp's result are read");
  EXPECT_EQ(reason([](ChainRun& run) -> std::vector<Tensor> {
              Tensor sum = run.input({4, 6});
              for (int i = 0; i < 9; ++i) sum = run.call("add", {sum, run.input({4, 6})});
              return {sum};
            }),
            "it reads and writes 11 tensors, a launch takes 10");
  EXPECT_EQ(reason([](ChainRun& run) -> std::vector<Tensor> {
              return {run.call("pow", {run.input({4, 6})}, {{"exponent", 1.7}})};
            }),
            "pow with exponent 1.7");
  EXPECT_EQ(reason([](ChainRun& run) -> std::vector<Tensor> {
              const Tensor x = run.input({4, 6}, DType::i32);
              return {run.call("add", {x, x})};
            }),
            "in0 has dtype i32");
  EXPECT_EQ(reason([](ChainRun& run) -> std::vector<Tensor> {
              const Tensor x = run.input({4, 6});
              return {x};
            }),
            "output out0 is not made by the chain");
}

TEST(DerivedChains, RandomOnesComputeWhatTheirCallsDo) {
  std::mt19937_64 engine(7);
  const auto upto = [&](std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(engine);
  };
  const Attributes fold{{"dim", std::int64_t{-1}}, {"keepdim", true}};
  for (int round = 0; round < 200; ++round) {
    ChainRun run;
    const Shape shape{upto(1, 3), upto(1, 4), 2 * upto(1, 200)};
    std::vector<Tensor> whole{run.input(shape), run.input({shape[2]}).unsqueeze(0).unsqueeze(0).expand(shape)};
    std::string what;
    const auto any = [&] {
      return whole[static_cast<std::size_t>(upto(0, static_cast<std::int64_t>(whole.size()) - 1))];
    };
    for (std::int64_t calls = upto(2, 7); calls > 0; --calls) {
      const Tensor a = any();
      const std::int64_t half = shape[2] / 2;
      switch (upto(0, 9)) {
        case 0:
          whole.push_back(run.call("tanh", {a})), what += "tanh ";
          break;
        case 1:
          whole.push_back(run.call("add", {a, any()})), what += "add ";
          break;
        case 2:
          whole.push_back(run.call("mul", {a}, {{"other", 0.7}})), what += "mul ";
          break;
        case 3:
          whole.push_back(run.call("sub", {a, run.call("amax", {a}, fold)})), what += "amax ";
          break;
        case 4:
          whole.push_back(run.call("add", {run.call("mean", {a}, fold), any()})), what += "mean ";
          break;
        case 5:
          whole.push_back(run.call("softmax", {a}, {{"dim", std::int64_t{-1}}})), what += "softmax ";
          break;
        case 6:
          whole.push_back(run.call("maximum", {a, any()})), what += "maximum ";
          break;
        case 7:
          whole.push_back(run.call("sigmoid", {a})), what += "sigmoid ";
          break;
        case 8:
          whole.push_back(run.call("cat", {run.call("neg", {a.slice(2, half, 2 * half)}), a.slice(2, 0, half)},
                                   {{"dim", std::int64_t{-1}}}));
          what += "turn ";
          break;
        default:
          whole.push_back(run.call("where", {run.call("gt", {a}, {{"other", 0.1}}), a, any()})), what += "where ";
      }
    }
    std::vector<Tensor> outputs{whole.back()};
    if (whole.size() > 3 && upto(0, 1)) outputs.push_back(whole[whole.size() - 2]);
    // Roundings of f32 and the host's polynomials, through at most seven calls; `where` and `maximum` jump only where
    // the operands do.
    run.expect_equal(outputs, 1e-4, 1e-4, fmt::format("round {}: {}{}", round, what, to_string(shape)));
  }
}

}  // namespace
}  // namespace tilewright
