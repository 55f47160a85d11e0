// mean, sum, amax, argmax and softmax on the host against their references.
#include <cmath>

#include "ops_small/views_fixture.h"

namespace tilewright::test {
namespace {

// f32: sums of n terms in lanes, error below n · 2⁻²⁴ of the sum of magnitudes, in practice far less; then one
// rounding.
double tolerance(DType dtype) { return 4e-6 + (dtype == DType::f16 ? 0x1p-11 : dtype == DType::bf16 ? 0x1p-8 : 0); }

TEST(Fold, EqualsItsReferenceAlongEveryDim) {
  const Shape shapes[] = {{},          {1},           {7},       {64},      {3, 5},     {2, 3, 33},
                          {4, 1, 300}, {2, 3, 4, 65}, {2, 2100}, {1, 9000}, {3, 40, 70}};
  Bench bench("host");
  ops::Context context = bench.context();
  for (const char* name : {"sum", "mean", "amax", "softmax", "argmax"})
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16})
      for (const Shape& shape : shapes)
        for (const View& view : views())
          for (int dim = 0; dim < std::max(shape.rank(), 1); ++dim)
            for (const bool keep : {false, true}) {
              if (!view.fits(shape) || (keep && std::string_view(name) == "softmax")) continue;
              HostTensor v;
              const std::vector<Tensor> x = {make(*bench.stream, view, shape, dtype, "normal", 11, v)};
              ops::Attributes attributes{{"dim", std::int64_t{dim} - std::max(shape.rank(), 1)}};
              if (keep) attributes.set("keepdim", true);
              const HostTensor expected = reference(name, {v.cast(DType::f32)}, attributes);
              for_each_candidate(context, name, x, attributes, [&](const std::string& by, const Tensor& out) {
                const Comparison result = compare(to_host(*bench.stream, out), expected, tolerance(dtype),
                                                  std::string_view(name) == "sum" ? 1e-4 : 1e-6);
                EXPECT_TRUE(result.equal) << by << " " << dtype_name(dtype) << to_string(shape) << " dim " << dim << " "
                                          << view.name << ": " << result.reason;
              });
            }
}

TEST(Fold, EmptyLinesGiveWhatSumsOfNothingAre) {
  Bench bench("host");
  ops::Context context = bench.context();
  const Tensor x = context.empty(DType::f32, {3, 0});
  const HostTensor sum = to_host(*bench.stream, call(context, "sum", {x})),
                   mean = to_host(*bench.stream, call(context, "mean", {x}));
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(sum.at(i), 0);
    EXPECT_TRUE(std::isnan(mean.at(i)));
  }
  EXPECT_EQ(call(context, "softmax", {x}).elements(), 0);
  EXPECT_THROW(call(context, "amax", {x}), Error);
  EXPECT_THROW(call(context, "argmax", {x}), Error);
}

TEST(Fold, ArgmaxTakesTheFirstOfEqualsAndTheFirstNotANumber) {
  Bench bench("host");
  ops::Context context = bench.context();
  const std::int64_t n = 151936;
  for (const DType dtype : {DType::f32, DType::bf16})
    for (const std::int64_t first :
         {std::int64_t{0}, std::int64_t{1}, std::int64_t{8191}, std::int64_t{75968}, n - 1}) {
      HostTensor x(dtype, {2, n});
      for (std::int64_t i = 0; i < 2 * n; ++i) x.set(i, -1 - static_cast<double>(i % 5));
      x.set(first, 2);
      x.set(n - 1, 2);
      x.set(n + n / 2, HUGE_VAL);
      x.set(n + first, std::nan(""));
      x.set(2 * n - 1, std::nan(""));
      const HostTensor got = to_host(*bench.stream, call(context, "argmax", {to_device(*bench.stream, x)}));
      EXPECT_EQ(got.dtype, DType::i64);
      EXPECT_EQ(got.at(0), first);
      EXPECT_EQ(got.at(1), first);
    }
  HostTensor low(DType::f32, {1, 100});
  for (int i = 0; i < 100; ++i) low.set(i, -HUGE_VAL);
  EXPECT_EQ(to_host(*bench.stream, call(context, "argmax", {to_device(*bench.stream, low)})).at(0), 0);
}

TEST(Fold, SoftmaxKeepsMaskedColumnsAtZeroAndSurvivesExtremes) {
  Bench bench("host");
  ops::Context context = bench.context();
  for (const std::int64_t n : {40, 9000}) {
    HostTensor x(DType::f32, {3, n});
    for (std::int64_t i = 0; i < n; ++i) {
      x.set(i, i < 3 ? 0 : -3.4028234663852886e38);
      x.set(n + i, i == 1 ? 3e38 : -3e38);
      x.set(2 * n + i, -HUGE_VAL);
    }
    const HostTensor y = to_host(*bench.stream, call(context, "softmax", {to_device(*bench.stream, x)}));
    for (std::int64_t i = 0; i < n; ++i) {
      EXPECT_NEAR(y.at(i), i < 3 ? 1.0 / 3 : 0, 1e-7);
      EXPECT_EQ(y.at(n + i), i == 1);
      EXPECT_TRUE(std::isnan(y.at(2 * n + i)));  // a row without any finite value, as torch has it
    }
  }
}

}  // namespace
}  // namespace tilewright::test
