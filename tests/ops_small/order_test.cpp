// topk, sort, searchsorted, scatter_ and floor_divide: the laws of an order, in every dtype and layout.
#include <cmath>
#include <limits>

#include "base/error.h"
#include "ops_small/views_fixture.h"

namespace tilewright::test {
namespace {

constexpr DType kOrdered[] = {DType::f32, DType::f16, DType::bf16, DType::i64, DType::i32};

std::vector<HostTensor> run(Bench& bench, const char* op, const std::vector<Tensor>& inputs,
                            const ops::Attributes& attributes) {
  ops::Context context = bench.context();
  const ops::Tensors out = call_all(context, ops::OpName(op), std::span<const Tensor>(inputs), attributes);
  std::vector<HostTensor> host;
  for (const Tensor& each : out.span()) host.push_back(to_host(*bench.stream, each));
  return host;
}

void expect_both(Bench& bench, const char* op, const std::vector<Tensor>& inputs, const std::vector<HostTensor>& values,
                 const ops::Attributes& attributes, const std::string& what) {
  const std::vector<HostTensor> got = run(bench, op, inputs, attributes);
  const std::vector<HostTensor> expected = program().registry.get(ops::OpName(op)).reference(values, attributes);
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(got[i].shape, expected[i].shape) << op << " " << what;
    EXPECT_EQ(got[i].bytes, expected[i].bytes) << op << " " << what << ", output " << i;
  }
}

TEST(Order, EqualsItsReferenceAlongEveryDimWithManyEquals) {
  Bench bench("host");
  for (const DType dtype : kOrdered)
    for (const View& view : views())
      for (const std::int64_t dim : {0, 1, 2}) {
        const Shape shape{5, 9, 40};
        HostTensor values;
        const Tensor self = make(*bench.stream, view, shape, dtype, dim == 1 ? "zeros" : "normal", 3, values);
        const std::string what = std::string(dtype_name(dtype)) + " " + view.name + " " + std::to_string(dim);
        for (const bool flag : {false, true}) {
          expect_both(bench, "sort", {self}, {values}, {{"dim", dim}, {"descending", flag}}, what);
          for (const std::int64_t k : {std::int64_t{0}, std::int64_t{1}, std::int64_t{4}, shape[static_cast<int>(dim)]})
            expect_both(bench, "topk", {self}, {values}, {{"dim", dim}, {"k", k}, {"largest", flag}}, what);
        }
      }
}

TEST(Order, SortsLongLinesAndIsItsOwnInverse) {
  Bench bench("host");
  HostTensor values(DType::i32, {5000});
  for (std::int64_t i = 0; i < 5000; ++i) values.set(i, static_cast<double>(i * 7919 % 61));
  const std::vector<HostTensor> sorted = run(bench, "sort", {to_device(*bench.stream, values)}, {});
  for (std::int64_t i = 1; i < 5000; ++i) {
    ASSERT_LE(sorted[0].at(i - 1), sorted[0].at(i));
    ASSERT_TRUE(sorted[0].at(i - 1) < sorted[0].at(i) || sorted[1].at(i - 1) < sorted[1].at(i)) << i;
  }
  const std::vector<HostTensor> inverse = run(bench, "sort", {to_device(*bench.stream, sorted[1])}, {});
  for (std::int64_t i = 0; i < 5000; ++i)
    ASSERT_EQ(sorted[0].at(static_cast<std::int64_t>(inverse[1].at(i))), values.at(i));
}

TEST(Order, NotANumberIsLargestAndZerosAreEqual) {
  Bench bench("host");
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInf = std::numeric_limits<double>::infinity();
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    HostTensor values(dtype, {9});
    const double list[] = {-0.0, 1, kNan, -kInf, 0.0, kInf, -1, kNan, -0.0};
    for (int i = 0; i < 9; ++i) values.set(i, list[i]);
    const Tensor self = to_device(*bench.stream, values);
    const auto indices = [&](const char* op, const ops::Attributes& attributes) {
      std::vector<int> out;
      const HostTensor found = run(bench, op, {self}, attributes)[1];
      for (std::int64_t i = 0; i < found.elements(); ++i) out.push_back(static_cast<int>(found.at(i)));
      return out;
    };
    EXPECT_EQ(indices("sort", {}), (std::vector<int>{3, 6, 0, 4, 8, 1, 5, 2, 7}));
    EXPECT_EQ(indices("topk", {{"k", std::int64_t{5}}}), (std::vector<int>{2, 7, 5, 1, 0}));
    EXPECT_EQ(indices("topk", {{"k", std::int64_t{4}}, {"largest", false}}), (std::vector<int>{3, 6, 0, 4}));
  }
}

TEST(Order, WideIntegersKeepTheirLastBit) {
  Bench bench("host");
  HostTensor values(DType::i64, {4});
  const std::int64_t large = (std::int64_t{1} << 60) + 1;
  const std::int64_t list[] = {large, large - 1, -large, large + 1};
  for (int i = 0; i < 4; ++i) values.data<std::int64_t>()[i] = list[i];
  const std::vector<HostTensor> out = run(bench, "sort", {to_device(*bench.stream, values)}, {});
  const std::int64_t expected[] = {-large, large - 1, large, large + 1};
  for (int i = 0; i < 4; ++i) EXPECT_EQ(out[0].data<std::int64_t>()[i], expected[i]);
}

TEST(Search, CountsWhatIsBelowOrNotAbove) {
  Bench bench("host");
  for (const DType dtype : kOrdered)
    for (const std::int64_t length : {0, 1, 7, 300}) {
      HostTensor list(dtype, {length});
      for (std::int64_t i = 0; i < length; ++i) list.set(i, static_cast<double>(i / 3));
      for (const View& view : views()) {
        HostTensor values;
        const Tensor wanted = make(*bench.stream, view, {2, 3, 11}, dtype, "normal", 4, values);
        for (const bool right : {false, true})
          for (const bool narrow : {false, true})
            expect_both(bench, "searchsorted", {to_device(*bench.stream, list), wanted}, {list, values},
                        {{"right", right}, {"out_int32", narrow}}, view.name);
      }
    }
}

TEST(Scatter, WritesOneValueAtTheIndicesOfEveryDimInPlace) {
  Bench bench("host");
  for (const DType dtype : {DType::f32, DType::bf16, DType::b8, DType::i64})
    for (const DType index : {DType::i64, DType::i32})
      for (const std::int64_t dim : {0, 1, 2}) {
        HostTensor target(dtype, {6, 7, 8});
        Shape shape{4, 5, 6};
        shape[static_cast<int>(dim)] = 3;
        HostTensor places(index, shape);
        for (std::int64_t i = 0; i < places.elements(); ++i) places.set(i, static_cast<double>(i * 5 % 6));
        const Tensor self = to_device(*bench.stream, target);
        const ops::Attributes attributes{{"dim", dim}, {"value", 1.0}};
        expect_both(bench, "scatter_", {self, to_device(*bench.stream, places)}, {target, places}, attributes, "");
        EXPECT_EQ(to_host(*bench.stream, self).bytes, reference("scatter_", {target, places}, attributes).bytes);
      }
}

TEST(Scatter, AnIndexOutsideIsAFault) {
  for (const double bad : {-1.0, 4.0}) {
    Bench bench("host");
    ops::Context context = bench.context();
    HostTensor index(DType::i64, {1, 1});
    index.set(0, bad);
    call_all(context, "scatter_", {context.empty(DType::f32, {2, 4}), to_device(*bench.stream, index)},
             {{"dim", std::int64_t{1}}, {"value", 1.0}});
    EXPECT_THROW(bench.stream->synchronize(), Error);
  }
}

TEST(FloorDivide, RoundsTowardsMinusInfinity) {
  Bench bench("host");
  for (const DType dtype : {DType::i64, DType::i32})
    for (const std::int64_t other : {1, 3, 8}) {
      HostTensor values(dtype, {41});
      for (std::int64_t i = 0; i < 41; ++i) values.set(i, static_cast<double>(i - 20));
      const HostTensor out = run(bench, "floor_divide", {to_device(*bench.stream, values)}, {{"other", other}})[0];
      for (std::int64_t i = 0; i < 41; ++i)
        EXPECT_EQ(out.at(i), std::floor(static_cast<double>(i - 20) / static_cast<double>(other)));
    }
}

}  // namespace
}  // namespace tilewright::test
