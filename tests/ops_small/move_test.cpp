// copy, cat, arange, full, causal_mask and the index ops on the host against their references, bit for bit.
#include <cmath>

#include "ops/core/packing.h"
#include "ops_small/views_fixture.h"

namespace tilewright::test {
namespace {

constexpr DType kAll[] = {DType::f32, DType::bf16, DType::i64, DType::u8};

HostTensor indices(DType dtype, const Shape& shape, std::int64_t limit) {
  HostTensor out(dtype, shape);
  for (std::int64_t i = 0; i < out.elements(); ++i) out.set(i, static_cast<double>((i * 5 + 3) % limit));
  return out;
}

void expect_same(Bench& bench, const char* op, const std::vector<Tensor>& inputs, const std::vector<HostTensor>& values,
                 const ops::Attributes& attributes = {}) {
  ops::Context context = bench.context();
  const HostTensor expected = reference(op, values, attributes);
  for_each_candidate(context, op, inputs, attributes, [&](const std::string& by, const Tensor& out) {
    EXPECT_EQ(out.shape(), expected.shape);
    EXPECT_EQ(to_host(*bench.stream, out).bytes, expected.bytes)
        << by << ": "
        << ops::OpCall{program().registry.get(ops::OpName(std::string_view(op))), inputs, attributes, {}}.describe();
  });
}

TEST(Copy, MakesAnyLayoutContiguous) {
  Bench bench("host");
  for (const DType dtype : kAll)
    for (const Shape& shape : {Shape{}, Shape{0}, Shape{1}, Shape{9}, Shape{2, 3, 5}, Shape{2, 3, 70, 33},
                               Shape{3, 33, 1100}, Shape{2, 1, 2, 1, 3, 4}, Shape{40, 50}})
      for (const View& view : views()) {
        if (!view.fits(shape)) continue;
        HostTensor v;
        const Tensor x = make(*bench.stream, view, shape, dtype, "normal", 5, v);
        expect_same(bench, "copy", {x}, {v});
        ops::Context context = bench.context();
        EXPECT_TRUE(call(context, "copy", {x}).contiguous());
      }
}

TEST(Cat, JoinsStridedTensorsAlongEveryDim) {
  Bench bench("host");
  for (const DType dtype : kAll)
    for (const int count : {1, 2, 3, 4, 11})
      for (const int dim : {0, 1, 2})
        for (std::size_t first = 0; first < views().size(); ++first) {
          std::vector<Tensor> inputs(static_cast<std::size_t>(count));
          std::vector<HostTensor> values(inputs.size());
          for (std::size_t i = 0; i < inputs.size(); ++i) {
            Shape shape{2, 3, 34};
            shape[dim] = static_cast<std::int64_t>(i * 5 % 4);  // also empty ones
            inputs[i] =
                make(*bench.stream, views()[(first + i) % views().size()], shape, dtype, "normal", i + 1, values[i]);
          }
          expect_same(bench, "cat", inputs, values, {{"dim", std::int64_t{dim}}});
        }
}

TEST(Make, ArangeFullAndCausalMaskFollowTheirFormulas) {
  Bench bench("host");
  for (const DType dtype : {DType::f32, DType::bf16, DType::i64, DType::i32}) {
    expect_same(bench, "arange", {}, {}, {{"start", 3.0}, {"end", 5000.0}, {"step", 7.0}, {"dtype", dtype}});
    expect_same(bench, "arange", {}, {}, {{"start", 5.0}, {"end", -5.0}, {"step", -0.75}, {"dtype", dtype}});
    for (const Shape& shape : {Shape{}, Shape{0}, Shape{3}, Shape{2, 20000}})
      expect_same(bench, "full", {}, {}, {{"shape", shape}, {"value", -2.5}, {"dtype", dtype}});
  }
  const HostTensor position = [] {
    HostTensor t(DType::i32, {3});
    for (int i = 0; i < 3; ++i) t.set(i, 13.0 * i);
    return t;
  }();
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16})
    for (const std::int64_t rows : {1, 7})
      for (const std::int64_t columns : {1, 20, 300})
        for (const std::int64_t window : {0, 1, 9, 1000})
          expect_same(bench, "causal_mask", {to_device(*bench.stream, position)}, {position},
                      {{"rows", rows}, {"columns", columns}, {"window", window}, {"dtype", dtype}});
}

TEST(Index, EmbeddingReadsStridedAndPackedWeights) {
  Bench bench("host");
  ops::Context context = bench.context();
  const ops::WeightPacker* packer = program().registry.weight_packer("host");
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16})
    for (const std::int64_t width : {1, 33, 64})
      for (const DType index : {DType::i64, DType::i32})
        for (const Shape& shape : {Shape{}, Shape{0}, Shape{5}, Shape{2, 9}}) {
          const HostTensor ids = indices(index, shape, 70);
          for (const View& view : views()) {
            if (!view.fits({70, width})) continue;
            HostTensor v;
            const Tensor weight = make(*bench.stream, view, {70, width}, dtype, "normal", 2, v);
            expect_same(bench, "embedding", {weight, to_device(*bench.stream, ids)}, {v, ids});
          }
          HostTensor v(dtype, {70, width});
          fill(v, "normal", 8);
          const Tensor plain = to_device(*bench.stream, v);
          if (packer->layout(dtype) == runtime::Layout::strided) continue;
          const Tensor packed =
              packed_view(*packer, context.device().allocate(*bench.stream, packer->packed_bytes(dtype, 70, width)), 0,
                          dtype, 70, width);
          packer->pack(context, plain, packed);
          expect_same(bench, "embedding", {packed, to_device(*bench.stream, ids)}, {v, ids});
        }
}

TEST(Index, SelectGatherAndCopyFollowTheirFormulas) {
  Bench bench("host");
  for (const DType dtype : kAll)
    for (const DType index : {DType::i64, DType::i32})
      for (const int dim : {0, 1, 2})
        for (const View& view : views()) {
          const Shape shape{6, 7, 35};
          const ops::Attributes attributes{{"dim", std::int64_t{dim}}};
          HostTensor self_values;
          const Tensor self = make(*bench.stream, view, shape, dtype, "normal", 3, self_values);
          const HostTensor few = indices(index, {4}, shape[dim]);
          expect_same(bench, "index_select", {self, to_device(*bench.stream, few)}, {self_values, few}, attributes);
          Shape index_shape{3, 7, 20};
          index_shape[dim] = 9;
          const HostTensor many = indices(index, index_shape, shape[dim]);
          expect_same(bench, "gather", {self, to_device(*bench.stream, many)}, {self_values, many}, attributes);
          Shape source_shape = shape;
          source_shape[dim] = 4;
          HostTensor source_values, target_values;
          const Tensor source = make(*bench.stream, view, source_shape, dtype, "normal", 4, source_values);
          const View& own = std::string_view(view.name).starts_with("expanded") ? views()[0] : view;
          const Tensor target = make(*bench.stream, own, shape, dtype, "normal", 5, target_values);
          expect_same(bench, "index_copy", {target, to_device(*bench.stream, few), source},
                      {target_values, few, source_values}, attributes);
        }
}

TEST(Index, CacheWritesLandAtEachRowsPosition) {
  Bench bench("host");
  ops::Context context = bench.context();
  for (const DType dtype : {DType::f32, DType::bf16})
    for (const std::int64_t rows : {1, 3, 16})
      for (const View& view : views()) {
        HostTensor cache(dtype, {3, 2, 16, 33}), position(DType::i32, {3}), source_values;
        fill(cache, "normal", 1);
        for (int b = 0; b < 3; ++b) position.set(b, static_cast<double>((16 - rows) * b / 2));
        const Tensor source = make(*bench.stream, view, {3, 2, rows, 33}, dtype, "normal", 6, source_values);
        const Tensor target = to_device(*bench.stream, cache);
        expect_same(bench, "cache_write", {target, to_device(*bench.stream, position), source},
                    {cache, position, source_values});
        EXPECT_EQ(to_host(*bench.stream, target).bytes,
                  reference("cache_write", {cache, position, source_values}).bytes);
      }
}

TEST(Index, AnIndexOutsideIsAFaultThatRisesAtTheNextSynchronize) {
  for (const char* name : {"embedding", "index_select", "gather", "index_copy", "cache_write"})
    for (const double bad : {-1.0, 8.0}) {
      Bench bench("host");
      ops::Context context = bench.context();
      const std::string_view op(name);
      const bool cache = op == "cache_write";
      HostTensor self(DType::f32, cache ? Shape{1, 1, 8, 4} : Shape{8, 4}),
          index(cache ? DType::i32 : DType::i64, op == "gather" ? Shape{1, 4} : Shape{1});
      index.set(0, bad);
      std::vector<Tensor> inputs = {to_device(*bench.stream, self), to_device(*bench.stream, index)};
      if (cache || op == "index_copy")
        inputs.push_back(to_device(*bench.stream, HostTensor(DType::f32, cache ? Shape{1, 1, 1, 4} : Shape{1, 4})));
      const ops::Attributes attributes =
          op == "embedding" || cache ? ops::Attributes{} : ops::Attributes{{"dim", std::int64_t{0}}};
      call_all(context, ops::OpName(op), inputs, attributes);
      EXPECT_THROW(bench.stream->synchronize(), Error) << name << " " << bad;
    }
}

}  // namespace
}  // namespace tilewright::test
