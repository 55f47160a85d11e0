// linear, mm and bmm on the host against the plain-loop references: packed and plain weights, any leading dims, tails,
// strided operands.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ops/core/packing.h"
#include "ops/ops_fixture.h"
#include "tensor/host_tensor.h"

namespace tilewright {
namespace {

using ops::Tensor;

HostTensor normal(DType dtype, const Shape& shape, std::uint64_t seed) {
  HostTensor out(dtype, shape);
  fill(out, "normal", seed);
  return out;
}

// Relative to the output's typical size, √K: f32 sums of K products differ by order (K · 2⁻²⁴ at most); bf16 and f16
// results are rounded once, and VDPBF16PS rounds its pair sums in its own order.
Comparison close(const HostTensor& actual, const HostTensor& expected, std::int64_t inner) {
  const double scale = std::sqrt(static_cast<double>(std::max<std::int64_t>(inner, 1)));
  const double unit = expected.dtype == DType::f32 ? 2e-6 : expected.dtype == DType::f16 ? 1e-3 : 8e-3;
  return compare(actual, expected, unit, unit * scale);
}

std::vector<HostTensor> reference(const char* op, std::initializer_list<HostTensor> inputs) {
  return test::program().registry.get(ops::OpName(op)).reference(std::span(inputs.begin(), inputs.size()), {});
}

Tensor packed(ops::Context& context, const Tensor& weight) {
  const ops::WeightPacker* packer = test::program().registry.weight_packer("host");
  const std::size_t bytes = packer->packed_bytes(weight.dtype(), weight.dim(0), weight.dim(1));
  const runtime::MemoryRef memory = context.device().allocate(context.stream(), bytes);
  const Tensor out = ops::packed_view(*packer, memory, 0, weight.dtype(), weight.dim(0), weight.dim(1));
  packer->pack(context, weight, out);
  return out;
}

TEST(Linear, EqualsItsReferenceForEveryDtypeSizeAndLayout) {
  struct Size {
    Shape x;
    std::int64_t outputs;
  };
  const Size sizes[] = {{{1, 1, 64}, 96}, {{2, 3, 33}, 17}, {{7, 130}, 70}, {{5}, 3}, {{1, 40, 257}, 129}, {{3, 1}, 1}};
  const std::pair<DType, DType> dtypes[] = {{DType::f32, DType::f32},
                                            {DType::bf16, DType::bf16},
                                            {DType::f16, DType::f16},
                                            {DType::f32, DType::bf16},
                                            {DType::f32, DType::f16}};
  for (const int threads : {1, 2}) {
    test::Bench bench("host", threads);
    ops::Context context = bench.context();
    std::uint64_t seed = 1;
    for (const auto& [shape, outputs] : sizes)
      for (const auto& [x_dtype, w_dtype] : dtypes)
        for (const bool with_bias : {false, true}) {
          const HostTensor x = normal(x_dtype, shape, ++seed), w = normal(w_dtype, {outputs, shape.back()}, ++seed);
          const HostTensor bias = with_bias ? normal(w_dtype, {outputs}, ++seed) : HostTensor();
          const HostTensor expected = reference("linear", {x, w, bias})[0];
          const Tensor dx = to_device(*bench.stream, x), dw = to_device(*bench.stream, w);
          const Tensor db = with_bias ? to_device(*bench.stream, bias) : Tensor();
          for (const Tensor& weight : {dw, packed(context, dw)}) {
            const Tensor y = call(context, "linear", {dx, weight, db});
            const Comparison result = close(to_host(*bench.stream, y), expected, shape.back());
            EXPECT_TRUE(result.equal) << weight.describe() << " x " << dx.describe() << ": " << result.reason;
          }
        }
  }
}

TEST(Linear, TakesRowsOfALargerTensorAndEmptyOnes) {
  test::Bench bench("host");
  ops::Context context = bench.context();
  const HostTensor all = normal(DType::f32, {2, 6, 40}, 1), w = normal(DType::f32, {9, 40}, 2);
  const Tensor rows = to_device(*bench.stream, all).slice(1, 5, 6);  // [2, 1, 40], row stride 240
  const Tensor y = call(context, "linear", {rows, to_device(*bench.stream, w)});
  const HostTensor expected = reference("linear", {to_host(*bench.stream, rows), w})[0];
  EXPECT_TRUE(close(to_host(*bench.stream, y), expected, 40).equal);
  const Tensor none = call(context, "linear", {rows.slice(1, 0, 0), to_device(*bench.stream, w)});
  EXPECT_EQ(none.shape(), (Shape{2, 0, 9}));
  bench.stream->synchronize();
}

TEST(Linear, OneLaunchACallAndPartsOfOnePackedBufferAgreeWithTheWhole) {
  test::Bench bench("host");
  struct Count : ops::Observer {
    int launches = 0;
    void launched(const runtime::Launch&) override { ++launches; }
  } count;
  ops::Context context = bench.context({}, &count);
  const ops::WeightPacker* packer = test::program().registry.weight_packer("host");
  const HostTensor a = normal(DType::bf16, {64, 48}, 1), b = normal(DType::bf16, {40, 48}, 2);
  const std::size_t a_bytes = packer->packed_bytes(DType::bf16, 64, 48);
  const runtime::MemoryRef memory =
      bench.device->allocate(*bench.stream, a_bytes + packer->packed_bytes(DType::bf16, 40, 48));
  const Tensor pa = packed_view(*packer, memory, 0, DType::bf16, 64, 48);
  const Tensor pb = packed_view(*packer, memory, a_bytes, DType::bf16, 40, 48);
  const Tensor both = packed_view(*packer, memory, 0, DType::bf16, 104, 48);
  packer->pack(context, to_device(*bench.stream, a), pa);
  packer->pack(context, to_device(*bench.stream, b), pb);
  const Tensor x = to_device(*bench.stream, normal(DType::bf16, {12, 48}, 3));
  count.launches = 0;
  const HostTensor joint = to_host(*bench.stream, call(context, "linear", {x, both}));
  EXPECT_EQ(count.launches, 1);
  const HostTensor ya = to_host(*bench.stream, call(context, "linear", {x, pa}));
  const HostTensor yb = to_host(*bench.stream, call(context, "linear", {x, pb}));
  for (std::int64_t i = 0; i < joint.elements(); ++i) {
    const std::int64_t row = i / 104, column = i % 104;
    EXPECT_EQ(joint.at(i), column < 64 ? ya.at(row * 64 + column) : yb.at(row * 40 + column - 64));
  }
}

TEST(Product, EqualsItsReferenceForStridedOperands) {
  test::Bench bench("host");
  ops::Context context = bench.context();
  std::uint64_t seed = 1;
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16})
    for (const auto& [batch, rows, columns, inner] :
         {std::array<std::int64_t, 4>{4, 1, 33, 16}, {3, 9, 9, 8}, {1, 5, 70, 130}, {2, 17, 1, 3}, {2, 3, 5, 0}}) {
      const HostTensor a = normal(dtype, {batch, rows, inner}, ++seed);
      const HostTensor bt = normal(dtype, {batch, columns, inner}, ++seed);
      const Tensor da = to_device(*bench.stream, a), db = to_device(*bench.stream, bt).transpose(1, 2);
      const HostTensor b = to_host(*bench.stream, db);
      Comparison result =
          close(to_host(*bench.stream, call(context, "bmm", {da, db})), reference("bmm", {a, b})[0], inner);
      EXPECT_TRUE(result.equal) << da.describe() << " x " << db.describe() << ": " << result.reason;
      result = close(to_host(*bench.stream, call(context, "bmm", {da, to_device(*bench.stream, b)})),
                     reference("bmm", {a, b})[0], inner);
      EXPECT_TRUE(result.equal) << "contiguous " << da.describe() << " x " << db.describe() << ": " << result.reason;
      const Tensor a0 = da.select(0, 0), b0 = db.select(0, 0);
      result = close(to_host(*bench.stream, call(context, "mm", {a0, b0})),
                     reference("mm", {to_host(*bench.stream, a0), to_host(*bench.stream, b0)})[0], inner);
      EXPECT_TRUE(result.equal) << "mm " << a0.describe() << " x " << b0.describe() << ": " << result.reason;
    }
}

}  // namespace
}  // namespace tilewright
