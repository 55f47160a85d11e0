// Kernels derived from decompositions, run by the interpreter: against the references on all cases and on random ones,
// and what their programs must not depend on.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "backends/host/tile/interpreted_generator.h"
#include "ops/core/case_runner.h"
#include "ops/core/derive/derived_kernel.h"
#include "ops/ops_fixture.h"
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

std::int64_t elements_of(const OpCase& one) {
  std::int64_t out = 0;
  for (const CaseInput& input : one.inputs) out += input.shape.elements();
  return out;
}

TEST(DerivedKernels, EqualTheReferenceOnAllCases) {
  const Interpreted all;
  Context context(all.registry, all.device->default_stream());
  int ops = 0;
  for (const auto& op : all.registry.ops()) {
    if (!may_derive(*op)) continue;
    ++ops;
    for (const OpCase& one : cases_of(all.registry, *op)) {
      if (elements_of(one) > 400'000) continue;  // the interpreter takes its time
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
      const std::int64_t batch = upto(1, 2), tokens = upto(1, 5), head = 2 * upto(1, 20);
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
};

TEST(DerivedKernels, EqualTheReferenceOnRandomCalls) {
  const Interpreted all;
  Context context(all.registry, all.device->default_stream());
  RandomCases random(all.registry, 20261129);
  for (const auto& op : all.registry.ops()) {
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

}  // namespace
}  // namespace tilewright
