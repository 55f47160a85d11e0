// Whole programs against the interpreter, on every instruction-set level of this processor.
#include "tile/build/builder.h"
#include "tile_llvm/compiled.h"

namespace tilewright::tile {
namespace {

class CompiledPrograms : public testing::Test {
  void SetUp() override {
    if (compile_function() == nullptr) GTEST_SKIP() << "not run: libtilewright_llvm.so is not built";
  }
};

Program rms_norm(DType dtype) {
  Builder b("rms_norm");
  const auto rows = b.dim("rows"), width = b.dim("width");
  const auto x = b.input("x", dtype, {rows, width});
  const auto weight = b.input("weight", dtype, {width});
  const auto y = b.output("y", dtype, {rows, width});
  const Tile eps = b.scalar("eps");
  b.parallel("row", 0, rows, 1, [&](Index row) {
    const Tile v = cast(b.view(x, {row, 0}, {1, 512}, to_end), DType::f32);
    const Tile scale = rsqrt(mean(v * v, 1) + eps);
    const Tile w = cast(b.view(weight, {0}, {1, 512}, to_end), DType::f32);
    b.assemble(cast(v * scale * w, dtype), y, {row, 0});
  });
  return b.finish();
}

TEST_F(CompiledPrograms, RmsNormOfEveryLengthOfTail) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    const Program program = rms_norm(dtype);
    for (const std::int64_t width : {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 128, 129, 511, 512})
      expect_like_interpreter(program,
                              {TestTensor(dtype, {5, width}).fill(1, -2, 2), TestTensor(dtype, {width}).fill(2, 0, 2),
                               TestTensor(dtype, {5, width}).fill(3, 7, 8)},
                              {1e-6}, 2e-5);
  }
}

TEST_F(CompiledPrograms, SoftmaxOfRowsByTiles) {
  Builder b("softmax");
  const auto rows = b.dim("rows"), width = b.dim("width");
  const auto x = b.input("x", DType::f32, {rows, width});
  const auto y = b.output("y", DType::f32, {rows, width});
  b.parallel("row", 0, rows, 4, [&](Index row) {
    const Tile v = b.view(x, {row, 0}, {4, 256}, to_end);
    const Tile e = exp(v - max(v, 1));
    b.assemble(e / sum(e, 1), y, {row, 0});
  });
  const Program program = b.finish();
  for (const std::int64_t width : {1, 5, 16, 37, 256})
    for (const std::int64_t height : {1, 4, 7})
      expect_like_interpreter(program,
                              {TestTensor(DType::f32, {height, width}).fill(1, -9, 9),
                               TestTensor(DType::f32, {height, width}).fill(2, 0, 1)},
                              {}, 2e-5);
}

TEST_F(CompiledPrograms, RotaryHalvesAreConcatenated) {
  Builder b("rope");
  const auto rows = b.dim("rows");
  const auto x = b.input("x", DType::bf16, {rows, 3, 128});
  const auto cosine = b.input("cos", DType::f32, {rows, 128});
  const auto sine = b.input("sin", DType::f32, {rows, 128});
  const auto y = b.output("y", DType::bf16, {3, rows, 128});
  b.parallel("row", 0, rows, 1, [&](Index row) {
    const Tile v = cast(b.view(x, {row, 0, 0}, {3, 128}), DType::f32);
    const Tile turned = concat({-slice(v, 0, 64, 3, 64), slice(v, 0, 0, 3, 64)}, 1);
    const Tile c = b.view(cosine, {row, 0}, {1, 128}), s = b.view(sine, {row, 0}, {1, 128});
    b.assemble(cast(v * c + turned * s, DType::bf16), y, {0, row, 0}, to_end, 0, 2);
  });
  const Program program = b.finish();
  expect_like_interpreter(
      program,
      {TestTensor(DType::bf16, {5, 3, 128}).fill(1, -2, 2), TestTensor(DType::f32, {5, 128}).fill(2, -1, 1),
       TestTensor(DType::f32, {5, 128}).fill(3, -1, 1), TestTensor(DType::bf16, {3, 5, 128}).fill(4, 7, 8)},
      {}, 2e-5);
}

// Outputs larger than caches are stored past them, which must not change a bit, whether rows are aligned or not.
TEST_F(CompiledPrograms, LargeOutputsAreTheSameAsSmallOnes) {
  Builder b("silu");
  const auto rows = b.dim("rows"), width = b.dim("width");
  const auto x = b.input("x", DType::f32, {rows, width});
  const auto y = b.output("y", DType::f32, {rows, width});
  b.parallel("row", 0, rows, 1, [&](Index row) {
    b.assemble(silu(b.view(x, {row, 0}, {1, 8192}, to_end)), y, {row, 0});
  });
  const Program program = b.finish();
  const std::int64_t columns = 8100, many = 1100, few = 8;
  for (const std::int64_t padding : {92, 3}) {  // rows of 8192 elements, and of 8103
    const std::int64_t stride = columns + padding;
    std::vector<float> in(static_cast<std::size_t>(many * stride + 16)), out(in.size(), 7), expected(in.size(), 7);
    for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i % 8103) * 0.001f - 4;
    for (const std::string& level : runnable_levels()) {
      const Loaded code(compile(program, level).at("code"));
      std::fill(out.begin(), out.end(), 7);
      float* const to = reinterpret_cast<float*>((reinterpret_cast<std::uintptr_t>(out.data()) + 63) / 64 * 64);
      const auto part = [&](std::int64_t first, std::int64_t count, float* target) {
        run(code, program,
            {{{in.data() + first * stride, {count, columns}, {stride, 1}},
              {target + first * stride, {count, columns}, {stride, 1}}},
             {}});
      };
      part(0, many, to);
      for (std::int64_t row = 0; row < many; row += few) part(row, std::min(few, many - row), expected.data());
      EXPECT_EQ(std::memcmp(to, expected.data(), static_cast<std::size_t>(many * stride) * 4), 0) << level;
    }
  }
}

}  // namespace
}  // namespace tilewright::tile
