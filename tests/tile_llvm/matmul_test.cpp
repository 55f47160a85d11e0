// Products of tiles against sums in double: every dtype and level, transposed or not, all tails. What lies beyond the
// valid part of an operand is NaN within a row, and no memory at all behind the last one.
#include <cmath>
#include <random>

#include "tile/build/builder.h"
#include "tile_llvm/compiled.h"

namespace tilewright::tile {
namespace {

struct Shape {
  std::int64_t m, n, k;
};

// Memory whose last byte is followed by none.
class Guarded {
 public:
  explicit Guarded(std::size_t bytes) : length_((bytes / kPage + 1) * kPage) {
    base_ =
        static_cast<char*>(mmap(nullptr, length_ + kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(base_ + length_, kPage, PROT_NONE);
    data = base_ + length_ - bytes;
  }
  ~Guarded() { munmap(base_, length_ + kPage); }
  Guarded(const Guarded&) = delete;
  char* data;

 private:
  static constexpr std::size_t kPage = 4096;
  std::size_t length_;
  char* base_;
};

// A matrix of normal values, NaN between its rows.
struct Matrix {
  Matrix(DType type, std::int64_t height, std::int64_t width, std::mt19937& random)
      : dtype(type),
        rows(height),
        columns(width),
        stride(width + 1 + static_cast<std::int64_t>(random() % 7)),
        memory(rows == 0 || columns == 0 ? 0
                                         : static_cast<std::size_t>((rows - 1) * stride + columns) * dtype_size(type)) {
    std::normal_distribution<double> normal;
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < (i + 1 < rows && columns > 0 ? stride : columns); ++j)
        store_element(dtype, place(i, j), j < columns ? normal(random) : std::nan(""));
  }
  char* place(std::int64_t i, std::int64_t j) const {
    return memory.data + static_cast<std::size_t>(i * stride + j) * dtype_size(dtype);
  }
  double at(std::int64_t i, std::int64_t j) const { return load_element(dtype, place(i, j)); }
  TensorArgument argument() const { return {memory.data, {rows, columns}, {stride, 1}}; }

  DType dtype;
  std::int64_t rows, columns, stride;
  Guarded memory;
};

Program product(const Shape& tile, DType dtype, bool transposed, bool accumulate) {
  Builder b("product");
  const auto m = b.dim("m"), n = b.dim("n"), k = b.dim("k");
  const auto left = b.input("a", dtype, {m, k});
  const auto right = transposed ? b.input("b", dtype, {n, k}) : b.input("b", dtype, {k, n});
  const auto c = b.input("c", DType::f32, {m, n});
  const auto y = b.output("y", DType::f32, {m, n});
  const Index rows = min(tile.m, m), columns = min(tile.n, n), inner = min(tile.k, k);
  b.parallel("once", 0, 1, 1, [&](Index) {
    const Tile x = b.view(left, {0, 0}, {tile.m, tile.k}, valid(rows, inner));
    const Tile z = transposed ? b.view(right, {0, 0}, {tile.n, tile.k}, valid(columns, inner))
                              : b.view(right, {0, 0}, {tile.k, tile.n}, valid(inner, columns));
    const Tile sum = b.view(c, {0, 0}, {tile.m, tile.n}, valid(rows, columns));
    b.assemble(!accumulate  ? transposed ? matmul_transposed(x, z) : matmul(x, z)
                : transposed ? matmul_transposed(x, z, sum)
                            : matmul(x, z, sum),
               y, {0, 0}, valid(rows, columns));
  });
  return b.finish();
}

void check(const Shape& tile, DType dtype, bool transposed, bool accumulate, std::uint32_t seed) {
  const Program program = product(tile, dtype, transposed, accumulate);
  for (const std::string& level : runnable_levels()) {
    const Loaded code(compile(program, level).at("code"));
    std::mt19937 random(seed);
    const auto up_to = [&](std::int64_t most) {
      return static_cast<std::int64_t>(random() % static_cast<std::uint32_t>(most + 1));
    };
    for (int run_number = 0; run_number < 10; ++run_number) {
      Shape now = tile;
      if (run_number > 0) now = {up_to(tile.m), up_to(tile.n), run_number < 3 ? tile.k : up_to(tile.k)};
      if (run_number == 4) now = {tile.m, tile.n, 0};
      if (run_number == 5) now.m = 0;
      if (run_number == 6) now.n = 0;
      const Matrix a(dtype, now.m, now.k, random), c(DType::f32, now.m, now.n, random);
      const Matrix b(dtype, transposed ? now.n : now.k, transposed ? now.k : now.n, random);
      const Matrix y(DType::f32, now.m, now.n, random);
      run(code, program, {{a.argument(), b.argument(), c.argument(), y.argument()}, {}}, 1);
      for (std::int64_t i = 0; i < now.m; ++i)
        for (std::int64_t j = 0; j < now.n; ++j) {
          double sum = accumulate ? c.at(i, j) : 0, magnitude = std::abs(sum);
          for (std::int64_t x = 0; x < now.k; ++x) {
            const double one = a.at(i, x) * (transposed ? b.at(j, x) : b.at(x, j));
            sum += one;
            magnitude += std::abs(one);
          }
          // Every addition rounds once; bf16 dot products also drop subnormal numbers.
          const double tolerance = static_cast<double>(now.k + 2) * 0x1p-24 * magnitude + 1e-30;
          ASSERT_NEAR(y.at(i, j), sum, tolerance)
              << level << ", " << dtype_name(dtype) << (transposed ? ", transposed" : "") << ", tile " << tile.m << "×"
              << tile.n << "×" << tile.k << ", valid " << now.m << "×" << now.n << "×" << now.k << ", at " << i << ", "
              << j;
        }
    }
  }
}

class CompiledProducts : public testing::Test {
  void SetUp() override {
    if (compile_function() == nullptr) GTEST_SKIP() << "not run: libtilewright_llvm.so is not built";
  }
};

void check_shapes(std::initializer_list<Shape> shapes) {
  std::uint32_t seed = 0;
  for (const Shape& shape : shapes)
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16})
      for (const bool transposed : {false, true}) {
        ++seed;
        check(shape, dtype, transposed, seed % 2 == 0, seed);
      }
}

TEST_F(CompiledProducts, OfFewRowsReadTheRightOperandInPlace) {
  check_shapes({{1, 40, 33}, {2, 128, 128}, {5, 70, 64}, {8, 17, 100}});
}

TEST_F(CompiledProducts, OfManyRowsRunOverPanels) {
  check_shapes({{9, 16, 16}, {24, 80, 70}, {64, 64, 128}, {33, 100, 37}});
}

}  // namespace
}  // namespace tilewright::tile
