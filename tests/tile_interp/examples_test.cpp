// The examples of docs/tile-language.md, compiled and run. The document's code must stand here word by word, and the
// document must speak of every operation.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "matrix.h"

namespace tilewright::tile {
namespace {

// clang-format off
Program rms_norm_example() {
  Builder b("rms_norm");
  const auto rows = b.dim("rows"), width = b.dim("width");
  const auto x = b.input("x", DType::bf16, {rows, width});
  const auto weight = b.input("weight", DType::bf16, {width});
  const auto y = b.output("y", DType::bf16, {rows, width});
  const Tile eps = b.scalar("eps");
  b.parallel("row", 0, rows, 1, [&](Index row) {
    const Tile v = cast(b.view(x, {row, 0}, {1, 8192}, to_end), DType::f32);
    const Tile scale = rsqrt(mean(v * v, 1) + eps);
    const Tile w = cast(b.view(weight, {0}, {1, 8192}, to_end), DType::f32);
    b.assemble(cast(v * scale * w, DType::bf16), y, {row, 0});
  });
  return b.finish();
}

Program row_sums_example() {
  Builder b("row_sums");
  const auto rows = b.dim("rows"), width = b.dim("width");
  const auto x = b.input("x", DType::f32, {rows, width});
  const auto y = b.output("y", DType::f32, {rows, 1});
  b.parallel("block", 0, rows, 4, [&](Index block) {
    const auto total = b.loop("at", 0, width, 16, {b.constant(0, 4, 1)}, [&](Index at, const std::vector<Tile>& sums) {
      const Tile part = b.view(x, {block, at}, {4, 16}, to_end);  // 4 × 16, fewer at both ends
      return std::vector<Tile>{sums[0] + sum(part, 1)};
    });
    b.assemble(total[0], y, {block, 0});
  });
  return b.finish();
}

Program masked_max_example() {
  Builder b("masked_max");
  const auto sequences = b.dim("sequences"), longest = b.dim("longest");
  const auto x = b.input("x", DType::f32, {sequences, longest});
  const auto lengths = b.input("lengths", DType::i32, {sequences});
  const auto y = b.output("y", DType::f32, {sequences, 1});
  b.parallel("sequence", 0, sequences, 1, [&](Index sequence) {
    const Index length = min(longest, max(b.load(lengths, {sequence}), 0));
    const auto best = b.loop("at", 0, length, 8, {b.constant(-1e30)}, [&](Index at, const std::vector<Tile>& carried) {
      const Tile part = b.view(x, {sequence, at}, {1, 8}, valid(1, min(8, length - at)));
      const Tile largest = max(part, 1);
      return std::vector<Tile>{where(b.is_first(at), largest, maximum(carried[0], largest))};
    });
    b.assemble(best[0], y, {sequence, 0});
  });
  return b.finish();
}

Program matmul_example() {
  Builder b("matmul");
  const auto m = b.dim("m"), n = b.dim("n"), k = b.dim("k");
  const auto x = b.input("x", DType::bf16, {m, k}), w = b.input("w", DType::bf16, {n, k});
  const auto y = b.output("y", DType::bf16, {m, n});
  const auto columns = b.tile("columns", {16, 32, 64});
  b.parallel("i", 0, m, 8, [&](Index i) {
    b.parallel("j", 0, n, columns, [&](Index j) {
      const auto sums = b.loop("at", 0, k, 32, {b.constant(0, 8, columns)}, [&](Index at, const std::vector<Tile>& acc) {
        const Tile a = b.view(x, {i, at}, {8, 32}, to_end), c = b.view(w, {j, at}, {columns, 32}, to_end);
        return std::vector<Tile>{matmul_transposed(a, c, acc[0])};
      });
      b.assemble(cast(sums[0], DType::bf16), y, {i, j});
    });
  });
  return b.finish();
}
// clang-format on

std::string read_file(const std::string& path) {
  std::ifstream file(std::string(TILEWRIGHT_SOURCE_DIR) + "/" + path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(LanguageDocument, SpeaksOfEveryOperation) {
  const std::string text = read_file("docs/tile-language.md");
  for (int i = 0; i < kOpCodes; ++i) {
    const std::string name(opcode_name(static_cast<OpCode>(i)));
    EXPECT_NE(text.find("`" + name + "`"), std::string::npos) << name;
  }
}

TEST(LanguageDocument, ShowsCodeThatIsCompiledHere) {
  const std::string text = read_file("docs/tile-language.md"), here = read_file("tests/tile_interp/examples_test.cpp");
  const std::string open = "```cpp\n", close = "```";
  int blocks = 0;
  for (std::size_t at = text.find(open); at != std::string::npos; at = text.find(open, at + 1)) {
    const std::size_t begin = at + open.size();
    const std::string block = text.substr(begin, text.find(close, begin) - begin);
    EXPECT_NE(here.find(block), std::string::npos) << block;
    ++blocks;
  }
  EXPECT_EQ(blocks, 4);
}

TEST(LanguageExamples, NormaliseRows) {
  const Program program = rms_norm_example();
  for (const std::int64_t rows : {0, 1, 3}) {
    Matrix x(DType::bf16, rows, 5, {1, -2, 3, 0.5, 4, 2, -1}), y(DType::bf16, rows, 5);
    std::vector<std::uint16_t> weight(5);
    for (auto& w : weight) w = float_to_bf16(2);
    interpret(program, {{x.argument(), {weight.data(), {5}, {1}}, y.argument()}, {1e-6}});
    for (std::int64_t r = 0; r < rows; ++r) {
      double squares = 0;
      for (int c = 0; c < 5; ++c) squares += x.value(r, c) * x.value(r, c);
      for (int c = 0; c < 5; ++c) {
        const double expected = 2 * x.value(r, c) / std::sqrt(squares / 5 + 1e-6);
        EXPECT_NEAR(y.value(r, c), expected, std::fabs(expected) * 0x1p-8);  // half a step of bf16
      }
    }
  }
}

TEST(LanguageExamples, SumRowsOfAnyLength) {
  const Program program = row_sums_example();
  for (const std::int64_t rows : {0, 1, 4, 7})
    for (const std::int64_t width : {0, 1, 16, 37}) {
      Matrix x(DType::f32, rows, width, {1, 2, -4, 0.5, 8}), y(DType::f32, rows, 1);
      interpret_on(program, {&x, &y});
      for (std::int64_t r = 0; r < rows; ++r) {
        double total = 0;
        for (std::int64_t c = 0; c < width; ++c) total += x.value(r, c);
        EXPECT_EQ(y.value(r, 0), total);
      }
    }
}

TEST(LanguageExamples, StopAtEverySequencesLength) {
  const Program program = masked_max_example();
  Matrix x(DType::f32, 3, 20, {3, -1, 4, 1, -5, 9, 2, 6, -5, 3, 50}), y(DType::f32, 3, 1);
  std::vector<std::int32_t> lengths = {10, 0, 99};
  interpret(program, {{x.argument(), {lengths.data(), {3}, {1}}, y.argument()}, {}});
  EXPECT_EQ(y.value(0, 0), 9);
  EXPECT_EQ(y.value(1, 0), static_cast<double>(-1e30f));
  EXPECT_EQ(y.value(2, 0), 50);
}

TEST(LanguageExamples, MultiplyInBlocksOfAnyChosenSize) {
  Program program = matmul_example();
  for (const std::int64_t size : program.tiles[0].choices) {
    program.tiles[0].chosen = size;
    Matrix x(DType::bf16, 9, 40, {1, -2, 0.5}), w(DType::bf16, 35, 40, {2, 1, -1, 3}), y(DType::bf16, 9, 35);
    interpret_on(program, {&x, &w, &y});
    for (int i = 0; i < 9; ++i)
      for (int j = 0; j < 35; ++j) {
        double total = 0;
        for (int k = 0; k < 40; ++k) total += x.value(i, k) * w.value(j, k);
        EXPECT_NEAR(y.value(i, j), total, std::fabs(total) * 0x1p-8);
      }
  }
}

}  // namespace
}  // namespace tilewright::tile
