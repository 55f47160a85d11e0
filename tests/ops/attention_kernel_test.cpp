// The attention kernel on random calls against the reference: lengths, groups, strides, positions, windows and masks.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "ops/core/case_runner.h"
#include "ops/ops_fixture.h"
#include "tile/binary/compiler.h"

namespace tilewright {
namespace {

using namespace ops;

double lowest(DType dtype) {
  return dtype == DType::f16    ? -65504.0
         : dtype == DType::bf16 ? -0x1.fep127
                                : static_cast<double>(std::numeric_limits<float>::lowest());
}

struct Random {
  std::mt19937 engine;
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(engine() % static_cast<std::uint32_t>(high - low + 1));
  }
  bool often(int of_ten) { return between(0, 9) < of_ten; }
};

// What a compiled program depends on.
struct Form {
  DType dtype;
  std::int64_t width, groups;
  bool token, mask, position, window;
};

OpCase random_case(const Form& form, Random& random, int number) {
  const std::int64_t batch = random.between(1, 2), kv_heads = random.between(1, 2), width = form.width;
  const std::int64_t heads = kv_heads * form.groups;
  const std::int64_t rows = form.token ? 1 : random.often(7) ? random.between(2, 20) : random.between(60, 140);
  std::int64_t columns = random.often(7) ? random.between(1, 70) : random.between(120, 560);
  if (form.position) columns = std::max(columns, rows);
  const std::int64_t window = random.between(1, 90);

  OpCase one;
  one.op = "attention";
  one.id = fmt::format("random_{}", number);
  one.seed = static_cast<std::uint64_t>(number);
  const double scale = 1 / std::sqrt(static_cast<double>(width));
  one.attributes = form.window ? Attributes{{"scale", scale}, {"window", window}} : Attributes{{"scale", scale}};
  const auto input = [&](const char* name, const Shape& shape, const Strides& strides) {
    one.inputs.push_back({.name = name, .dtype = form.dtype, .shape = shape, .strides = strides, .fill = "normal"});
  };
  if (random.often(5))
    input("q", {batch, heads, rows, width}, {rows * heads * width, width, heads * width, 1});
  else
    input("q", {batch, heads, rows, width}, {});
  for (const char* name : {"k", "v"}) {
    const std::int64_t room = columns + random.between(0, 30);  // a slice of a cache
    if (random.often(7))
      input(name, {batch, kv_heads, columns, width}, {kv_heads * room * width, room * width, width, 1});
    else
      input(name, {batch, kv_heads, columns, width}, {columns * kv_heads * width, width, kv_heads * width, 1});
  }
  std::vector<double> positions;
  for (std::int64_t b = 0; b < batch; ++b)
    positions.push_back(static_cast<double>(random.between(0, std::max<std::int64_t>(columns - rows, 0))));
  if (form.mask) {
    CaseInput mask{.name = "mask", .dtype = form.dtype};
    const bool shared = !form.position && random.often(5);
    mask.shape = {shared ? 1 : batch, 1, rows, columns};
    const bool holes = random.often(3), values = random.often(3);
    for (std::int64_t b = 0; b < (shared ? 1 : batch); ++b)
      for (std::int64_t s = 0; s < rows; ++s)
        for (std::int64_t c = 0; c < columns; ++c) {
          const auto own =
              form.position ? static_cast<std::int64_t>(positions[static_cast<std::size_t>(b)]) + s : columns - 1;
          const bool hidden = c > own || (form.window && c <= own - window) || (c != own && holes && random.often(3));
          mask.values.push_back(hidden ? lowest(form.dtype) : values ? -0.25 * static_cast<double>(c % 5) : 0);
        }
    one.inputs.push_back(mask);
  } else {
    one.inputs.push_back({});
  }
  if (form.position)
    one.inputs.push_back({.name = "position", .dtype = DType::i32, .shape = {batch}, .values = positions});
  else
    one.inputs.push_back({});
  // As the cases of cases.json: products and sums in any order; scores, weights and the result rounded to the dtype.
  one.rtol = form.dtype == DType::f32 ? 2e-5 : form.dtype == DType::f16 ? 0.0025 : 0.02;
  one.atol = form.dtype == DType::f32 ? 1e-5 : form.dtype == DType::f16 ? 0.004 : 0.03;
  one.reason = "random";
  return one;
}

TEST(AttentionKernel, EqualsTheReferenceOnRandomCalls) {
  if (const std::string reason = tile::compiler_unavailable(); !reason.empty()) GTEST_SKIP() << reason;
  constexpr int kForms = 40, kCallsOfForm = 25;
  test::Bench bench("host");
  Context context = bench.context();
  Random random{std::mt19937(20261)};
  int ran = 0;
  for (int f = 0; f < kForms; ++f) {
    Form form{};
    form.dtype = f % 3 == 0 ? DType::f32 : f % 3 == 1 ? DType::bf16 : DType::f16;
    form.width = std::int64_t{1} << random.between(3, 6);
    if (random.often(2)) form.width = 24;
    form.groups = random.between(1, 5);
    if (random.often(1)) form.groups = 12;
    form.token = f % 2 == 0;
    form.mask = random.often(8);
    form.position = form.mask && random.often(7);
    form.window = form.position && random.often(5);
    for (int i = 0; i < kCallsOfForm; ++i) {
      const OpCase one = random_case(form, random, f * kCallsOfForm + i);
      for (const CaseResult& result : run_case(context, one)) {
        if (result.path == "decomposition") continue;
        ASSERT_EQ(result.refusal, "") << one.id;
        ++ran;
        ASSERT_TRUE(result.pass) << one.id << ": " << result.reason << " (worst error " << result.worst_error << " at "
                                 << result.where << ") " << dtype_name(form.dtype) << " width " << form.width
                                 << " groups " << form.groups << " token " << form.token << " mask " << form.mask
                                 << " position " << form.position << " window " << form.window << " q "
                                 << to_string(one.inputs[0].shape) << " k " << to_string(one.inputs[1].shape);
      }
    }
  }
  EXPECT_EQ(ran, kForms * kCallsOfForm);
}

}  // namespace
}  // namespace tilewright
