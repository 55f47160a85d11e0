// Errors of the elementary functions in compiled code, over the whole range of f32, on every level.
#include <cmath>
#include <functional>

#include "tile/build/builder.h"
#include "tile_llvm/compiled.h"

namespace tilewright::tile {
namespace {

struct Function {
  OpCode op;
  double ulp;  // as src/tile/llvm/math.h states it
  std::function<double(double)> exact;
  bool of_half = false;        // in units of the last place of x / 2
  double smallest = 0x1p-149;  // error that is allowed whatever the result
};

double gelu_tanh(double x) { return 0.5 * x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x))); }

const std::vector<Function>& functions() {
  static const std::vector<Function> all = {
      {OpCode::exp, 3, [](double x) { return std::exp(x); }, false, 0x1p-125},
      {OpCode::log, 3, [](double x) { return std::log(x); }},
      {OpCode::sqrt, 0.5, [](double x) { return std::sqrt(x); }},
      {OpCode::rsqrt, 3, [](double x) { return 1 / std::sqrt(x); }},
      {OpCode::reciprocal, 0.5, [](double x) { return 1 / x; }},
      {OpCode::sin, 3, [](double x) { return std::sin(x); }},
      {OpCode::cos, 3, [](double x) { return std::cos(x); }},
      {OpCode::tanh, 3, [](double x) { return std::tanh(x); }},
      {OpCode::erf, 6, [](double x) { return std::erf(x); }},
      {OpCode::sigmoid, 3, [](double x) { return 1 / (1 + std::exp(-x)); }, false, 0x1p-126},
      {OpCode::silu, 3, [](double x) { return x / (1 + std::exp(-x)); }, false, 0x1p-119},
      {OpCode::gelu, 8, [](double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); }, true},
      {OpCode::gelu_tanh, 8, gelu_tanh, true, 0x1p-119},
  };
  return all;
}

double unit(double value) {
  const double size = std::max(std::abs(value), 0x1p-126);
  return std::ldexp(1.0, std::ilogb(size) - 23);
}

class CompiledMath : public testing::TestWithParam<std::size_t> {};

TEST_P(CompiledMath, ErrorStaysWithinWhatIsStated) {
  if (compile_function() == nullptr) GTEST_SKIP() << "not run: libtilewright_llvm.so is not built";
  const Function& function = functions()[GetParam()];
  // Every 4099th float of both signs, and what lies around the places where formulas change.
  std::vector<float> inputs;
  for (std::uint64_t bits = 0; bits < 0x100000000; bits += 4099)
    inputs.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  for (const float near : {0.625f, 4.0f, 88.72284f, -87.33655f, -103.97208f, 0.70710677f, 32768.0f, 0x1p47f, 1.5707964f,
                           355.0f, 1e30f, 16367173 * 0x1p72f, 0.0f})
    for (int i = -200; i <= 200; ++i)
      for (const int sign : {1, -1})
        inputs.push_back(static_cast<float>(sign) *
                         std::bit_cast<float>(std::max(std::bit_cast<std::int32_t>(near) + i, 0)));
  const auto count = static_cast<std::int64_t>(inputs.size());
  Builder b("function");
  const auto n = b.dim("n");
  const auto x = b.input("x", DType::f32, {n});
  const auto y = b.output("y", DType::f32, {n});
  b.parallel("i", 0, n, 512, [&](Index i) {
    const TileShape shape{1, 512, TileShape::no_dim, 0};
    b.assemble(unary(function.op, b.view(x, {i}, shape, to_end)), y, {i}, to_end, TileShape::no_dim, 0);
  });
  const Program program = b.finish();
  for (const std::string& level : runnable_levels()) {
    std::vector<float> outputs(inputs.size());
    const Loaded code(compile(program, level).at("code"));
    run(code, program, {{{inputs.data(), {count}, {1}}, {outputs.data(), {count}, {1}}}, {}}, 1);
    double worst = 0;
    float where = 0;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const double in = inputs[i], found = outputs[i];
      const double exact = function.exact(in);
      if (std::isnan(exact)) {
        ASSERT_TRUE(std::isnan(found)) << level << " " << in << " gives " << found;
        continue;
      }
      if (std::isinf(static_cast<float>(exact)) || std::isinf(found)) {
        const bool close = static_cast<float>(exact) == found || std::abs(exact) > 3.4e38;
        ASSERT_TRUE(close) << level << " " << in << " gives " << found << " instead of " << exact;
        continue;
      }
      const double error = std::abs(found - exact);
      if (error <= function.smallest) continue;
      const double ulp = error / unit(function.of_half ? in / 2 : exact);
      if (ulp > worst) {
        worst = ulp;
        where = inputs[i];
      }
    }
    EXPECT_LE(worst, function.ulp + 1e-6) << level << ", at " << where;
    RecordProperty(level, std::to_string(worst));
  }
}

// e^(x - max x) takes a shorter way, whose error grows as results get smaller (math.h). With a maximum of 0 the
// difference is exact, so that all of the error is the exponential's.
TEST(CompiledExponential, BelowARowsMaximumStayWithinWhatIsStated) {
  if (compile_function() == nullptr) GTEST_SKIP() << "not run: libtilewright_llvm.so is not built";
  constexpr std::int64_t kWidth = 512;
  std::vector<float> inputs;
  for (std::uint64_t bits = 0x80000000; bits <= 0xc2b00000; bits += 4099) {  // -0 … -88
    if (inputs.size() % kWidth == 0) inputs.push_back(0);
    inputs.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  }
  for (float x = -0.001f; x > -88; x -= 0.0113f) {
    if (inputs.size() % kWidth == 0) inputs.push_back(0);
    inputs.push_back(x);
  }
  while (inputs.size() % kWidth != 0) inputs.push_back(-1);
  const std::int64_t rows = static_cast<std::int64_t>(inputs.size()) / kWidth;
  Builder b("below_maximum");
  const auto n = b.dim("rows");
  const auto x = b.input("x", DType::f32, {n, kWidth});
  const auto y = b.output("y", DType::f32, {n, kWidth});
  b.parallel("row", 0, n, 1, [&](Index row) {
    const Tile line = b.view(x, {row, 0}, {1, kWidth});
    b.assemble(exp(line - max(line, 1)), y, {row, 0});
  });
  const Program program = b.finish();
  for (const std::string& level : runnable_levels()) {
    std::vector<float> outputs(inputs.size());
    const Loaded code(compile(program, level).at("code"));
    run(code, program,
        {{{inputs.data(), {rows, kWidth}, {kWidth, 1}}, {outputs.data(), {rows, kWidth}, {kWidth, 1}}}, {}}, 1);
    double worst = 0;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const double exact = std::exp(static_cast<double>(inputs[i])), error = std::abs(outputs[i] - exact);
      if (error <= 0x1p-125) continue;
      const double ulp = error / unit(exact), stated = 3 + 3 * -inputs[i] / 87.4;
      worst = std::max(worst, ulp);
      ASSERT_LE(ulp, stated) << level << ", at " << inputs[i];
    }
    RecordProperty(level, std::to_string(worst));
  }
}

INSTANTIATE_TEST_SUITE_P(All, CompiledMath, testing::Range<std::size_t>(0, 13),
                         [](const auto& info) { return std::string(opcode_name(functions()[info.param].op)); });

}  // namespace
}  // namespace tilewright::tile
