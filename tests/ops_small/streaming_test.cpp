// Outputs of at least the last cache's size are written past the caches, by loops of their own. The law: a large call
// gives, bit for bit, what calls on its parts give.
#include <cstring>

#include "base/cpu.h"
#include "ops_small/views_fixture.h"

namespace tilewright::test {
namespace {

constexpr std::int64_t kColumns = 4099;  // odd: rows begin at every alignment

// As many rows as make an output of `dtype` larger than the last cache.
std::int64_t rows_beyond_the_caches(DType dtype) {
  const std::int64_t cache = cpu_info().l3_bytes > 0 ? cpu_info().l3_bytes : 32 << 20;
  return cache / (kColumns * static_cast<std::int64_t>(dtype_size(dtype))) + 70;
}

Tensor pattern(Bench& bench, DType dtype, std::int64_t rows, std::uint32_t seed) {
  HostTensor values(DType::f32, {rows, kColumns});
  for (std::int64_t i = 0; i < values.elements(); ++i)
    values.data<float>()[i] =
        static_cast<float>((static_cast<std::uint32_t>(i) * 2654435761u + seed) >> 12) * 0x1p-18f - 1.5f;
  return to_device(*bench.stream, values.cast(dtype));
}

struct Row {
  const char* op;
  int inputs;
  DType dtype;
  DType out;
};

TEST(Streaming, ALargeCallEqualsCallsOnItsParts) {
  Bench bench("host");
  ops::Context context = bench.context();
  for (const Row& row : {Row{"add", 2, DType::f32, DType::f32}, Row{"exp", 1, DType::f32, DType::f32},
                         Row{"softmax", 1, DType::f32, DType::f32}, Row{"copy", 1, DType::f32, DType::f32},
                         Row{"neg", 1, DType::bf16, DType::bf16}, Row{"mul", 2, DType::bf16, DType::bf16},
                         Row{"to", 1, DType::f32, DType::bf16}, Row{"to", 1, DType::bf16, DType::f32}}) {
    const std::int64_t rows = rows_beyond_the_caches(row.out);
    std::vector<Tensor> whole;
    for (int i = 0; i < row.inputs; ++i)  // sliced, so that copies have something to do and inputs are not aligned
      whole.push_back(pattern(bench, row.dtype, rows + 1, static_cast<std::uint32_t>(i)).slice(0, 1, rows + 1));
    const ops::Attributes attributes =
        std::string_view(row.op) == "to" ? ops::Attributes{{"dtype", row.out}} : ops::Attributes{};
    const Tensor large = ops::call_all(context, ops::OpName(std::string_view(row.op)), whole, attributes)[0];
    for (std::int64_t begin = 0; begin < rows; begin += rows / 7) {
      const std::int64_t end = std::min(rows, begin + 9);
      std::vector<Tensor> part;
      for (const Tensor& t : whole) part.push_back(t.slice(0, begin, end));
      const HostTensor small =
          to_host(*bench.stream, ops::call_all(context, ops::OpName(std::string_view(row.op)), part, attributes)[0]);
      const HostTensor same = to_host(*bench.stream, large.slice(0, begin, end));
      ASSERT_EQ(small.bytes.size(), same.bytes.size());
      EXPECT_EQ(std::memcmp(small.bytes.data(), same.bytes.data(), small.bytes.size()), 0)
          << row.op << " " << dtype_name(row.dtype) << " rows " << begin;
    }
    const HostTensor last = to_host(*bench.stream, large.slice(0, rows - 1, rows));
    std::vector<Tensor> part;
    for (const Tensor& t : whole) part.push_back(t.slice(0, rows - 1, rows));
    const HostTensor expected =
        to_host(*bench.stream, ops::call_all(context, ops::OpName(std::string_view(row.op)), part, attributes)[0]);
    EXPECT_EQ(std::memcmp(last.bytes.data(), expected.bytes.data(), last.bytes.size()), 0) << row.op << " last row";
  }
}

}  // namespace
}  // namespace tilewright::test
