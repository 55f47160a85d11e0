// Operations over whole tiles, valid extents and what is undefined.
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "matrix.h"

namespace tilewright::tile {
namespace {

// A 4 × 6 tile of which `rows` × `columns` are valid goes through `body`; the result (shape of y) is written as far as
// `body` leaves it valid. Untouched elements of y keep the value -99.
template <typename Body>
std::vector<double> through(std::int64_t rows, std::int64_t columns, Matrix y, const Body& body) {
  Builder b("through");
  const auto x = b.input("x", DType::f32, {b.dim("rows"), b.dim("columns")});
  const auto out = b.output("y", y.dtype, {y.rows, y.columns});
  once(b, [&] { b.assemble(body(b, b.view(x, {0, 0}, {{4}, {6}}, to_end)), out, {0, 0}); });
  const Program program = b.program();  // not verified: some bodies are wrong on purpose
  std::vector<double> values;
  for (int i = 0; i < 24; ++i) values.push_back(i % 7 - 3 + 0.25 * i);
  Matrix in(DType::f32, rows, columns, values);
  for (std::int64_t i = 0; i < y.rows * y.columns; ++i) store_element(y.dtype, y.at(i / y.columns, i % y.columns), -99);
  interpret_on(program, {&in, &y});
  return y.values();
}
double element(std::int64_t r, std::int64_t c, std::int64_t columns) {
  const std::int64_t i = r * columns + c;
  return static_cast<double>(i % 7 - 3) + 0.25 * static_cast<double>(i);
}

const std::pair<int, int> kExtents[] = {{4, 6}, {3, 5}, {1, 1}, {0, 6}, {4, 0}, {0, 0}};

TEST(Views, AreWrittenBackAsFarAsTheyAreValid) {
  for (const auto& [rows, columns] : kExtents) {
    const auto got = through(rows, columns, {DType::f32, 4, 6}, [](Builder&, Tile x) { return x * 2.0; });
    for (int r = 0; r < 4; ++r)
      for (int c = 0; c < 6; ++c)
        EXPECT_EQ(got[static_cast<std::size_t>(r * 6 + c)], r < rows && c < columns ? 2 * element(r, c, columns) : -99);
  }
}

TEST(Reductions, CoverTheValidExtentOnly) {
  for (const auto& [rows, columns] : kExtents)
    for (const OpCode op : {OpCode::reduce_sum, OpCode::reduce_max, OpCode::reduce_mean})
      for (const int axis : {0, 1}) {
        const auto got =
            through(rows, columns, {DType::f32, axis == 0 ? 1 : 4, axis == 0 ? 6 : 1}, [&](Builder&, Tile x) {
              return op == OpCode::reduce_sum ? sum(x, axis) : op == OpCode::reduce_max ? max(x, axis) : mean(x, axis);
            });
        const int kept = axis == 0 ? columns : rows, reduced = axis == 0 ? rows : columns;
        for (int k = 0; k < static_cast<int>(got.size()); ++k) {
          double expected = op == OpCode::reduce_max ? -kInf : 0;
          for (int i = 0; i < reduced; ++i) {
            const double v = axis == 0 ? element(i, k, columns) : element(k, i, columns);
            expected = op == OpCode::reduce_max ? std::fmax(expected, v) : expected + v;
          }
          if (op == OpCode::reduce_mean) expected = static_cast<double>(static_cast<float>(expected / reduced));
          if (k >= kept) expected = -99;
          const double value = got[static_cast<std::size_t>(k)];
          EXPECT_TRUE(value == expected || (std::isnan(value) && reduced == 0))
              << rows << "x" << columns << " axis " << axis << " " << value;
        }
      }
}

TEST(Reductions, MaxIsNaNIfAnyIs) {
  const auto got =
      map_row(DType::f32, DType::f32, {1, kNaN, 5}, [](Builder&, Tile x) { return broadcast(max(x, 1), {1}, {3}); });
  EXPECT_TRUE(std::isnan(got[0]));
}

TEST(Moves, PutElementsWhereTheySay) {
  const auto t = through(4, 6, {DType::f32, 6, 4}, [](Builder&, Tile x) { return transpose(x); });
  const auto s =
      through(4, 6, {DType::f32, 2, 3}, [](Builder& b, Tile x) { return slice(b.restrict(x, 4, 6), 1, 2, 2, 3); });
  for (int r = 0; r < 6; ++r)
    for (int c = 0; c < 4; ++c) {
      EXPECT_EQ(t[static_cast<std::size_t>(r * 4 + c)], element(c, r, 6));
      if (r < 2 && c < 3) {
        EXPECT_EQ(s[static_cast<std::size_t>(r * 3 + c)], element(r + 1, c + 2, 6));
      }
    }
  const auto moved = map_row(DType::f32, DType::f32, {1, 2, 3, 4, 5, 6}, [](Builder&, Tile x) {
    const Tile m = reshape(x, 2, 3);                                                    // 1 2 3 / 4 5 6
    const Tile both = concat({slice(m, 1, 0, 1, 3), slice(m, 0, 0, 1, 3)}, 0);          // 4 5 6 / 1 2 3
    const Tile turned = concat({slice(both, 0, 2, 2, 1), slice(both, 0, 0, 2, 2)}, 1);  // 6 4 5 / 3 1 2
    return reshape(turned, 1, 6);
  });
  EXPECT_EQ(moved, (std::vector<double>{6, 4, 5, 3, 1, 2}));
}

TEST(Moves, TransposeSwapsValidExtents) {
  const auto got = through(2, 5, {DType::f32, 6, 1}, [](Builder&, Tile x) { return sum(transpose(x), 1); });
  for (int c = 0; c < 6; ++c)
    EXPECT_EQ(got[static_cast<std::size_t>(c)], c < 5 ? element(0, c, 5) + element(1, c, 5) : -99);
}

TEST(Matmul, SumsOverTheValidInnerExtentInEveryDType) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16})
    for (const bool transposed : {false, true})
      for (const bool accumulates : {false, true})
        for (const int inner : {5, 3, 1, 0}) {
          Builder b("matmul");
          const auto k = b.dim("k");
          const auto x = b.input("a", dtype, {3, k});
          const auto w = transposed ? b.input("b", dtype, {4, k}) : b.input("b", dtype, {k, 4});
          const auto y = b.output("y", DType::f32, {3, 4});
          const Tile a = b.view(x, {0, 0}, {{3}, {5}}, to_end);
          const Tile m = transposed ? b.view(w, {0, 0}, {{4}, {5}}, to_end) : b.view(w, {0, 0}, {{5}, {4}}, to_end);
          const Tile start = b.constant(100, {3}, {4});
          once(b, [&] {
            b.assemble(accumulates ? (transposed ? matmul_transposed(a, m, start) : matmul(a, m, start))
                                   : (transposed ? matmul_transposed(a, m) : matmul(a, m)),
                       y, {0, 0});
          });
          const Program program = b.finish();
          Matrix left(dtype, 3, inner, {1, -2, 0.5, 3}), out(DType::f32, 3, 4);
          Matrix right =
              transposed ? Matrix(dtype, 4, inner, {2, 1, -1, 0.25, 7}) : Matrix(dtype, inner, 4, {2, 1, -1, 0.25, 7});
          interpret_on(program, {&left, &right, &out});
          for (int r = 0; r < 3; ++r)
            for (int c = 0; c < 4; ++c) {
              double expected = accumulates ? 100 : 0;
              for (int i = 0; i < inner; ++i)
                expected += left.value(r, i) * (transposed ? right.value(c, i) : right.value(i, c));
              EXPECT_EQ(out.value(r, c), expected);
            }
        }
}

TEST(TopK, IsDescendingWithTiesToTheLowerColumnAndNaNFirst) {
  const auto both = [](const std::vector<double>& x, std::int64_t k, std::int64_t valid_columns) {
    const auto n = static_cast<std::int64_t>(x.size());
    Builder b("top_k");
    const auto in = b.input("x", DType::f32, {1, n});
    const auto values = b.output("values", DType::f32, {1, k}), columns = b.output("columns", DType::i32, {1, k});
    const TopK top = top_k(b.restrict(b.view(in, {0, 0}, {{1}, {n}}), 1, valid_columns), k);
    once(b, [&] {
      b.assemble(top.values, values, {0, 0});
      b.assemble(top.columns, columns, {0, 0});
    });
    const Program program = b.finish();
    Matrix m(DType::f32, 1, n, x), v(DType::f32, 1, k), c(DType::i32, 1, k);
    interpret_on(program, {&m, &v, &c});
    return std::pair(v.values(), c.values());
  };
  const auto [values, columns] = both({1, 3, 3, kNaN, -kInf, 2}, 6, 6);
  EXPECT_TRUE(std::isnan(values[0]));
  EXPECT_EQ(columns, (std::vector<double>{3, 1, 2, 5, 0, 4}));
  const auto [few, which] = both({1, 3, 9, 9}, 3, 2);
  EXPECT_EQ(few, (std::vector<double>{3, 1, -kInf}));
  EXPECT_EQ(which, (std::vector<double>{1, 0, -1}));
}

TEST(Iota, CountsAlongItsAxis) {
  EXPECT_EQ(through(4, 6, {DType::i32, 4, 6}, [](Builder& b, Tile) { return b.iota({4}, {6}, 1, 10); })[7], 11);
  EXPECT_EQ(through(4, 6, {DType::i32, 4, 6}, [](Builder& b, Tile) { return b.iota({4}, {6}, 0, 10); })[7], 11);
  EXPECT_EQ(through(4, 6, {DType::i32, 1, 1}, [](Builder& b, Tile) { return b.from_index(-5); })[0], -5);
}

TEST(Undefined, ElementsMayBeComputedButNotWritten) {
  // Outside the valid extent: computing is fine, reducing over it is not seen, writing is a fault.
  const auto widen = [](Builder& b, Tile x) { return b.restrict(x * 2.0, 4, 6); };
  EXPECT_NO_THROW(through(4, 6, {DType::f32, 4, 6}, widen));
  EXPECT_THROW(through(4, 5, {DType::f32, 4, 6}, widen), Error);
  EXPECT_THROW(through(3, 6, {DType::f32, 4, 6}, widen), Error);
  // A reduction, a product and a choice over an undefined element are undefined; `where` too, whichever arm it takes.
  EXPECT_THROW(through(4, 5, {DType::f32, 4, 1}, [](Builder& b, Tile x) { return sum(b.restrict(x, 4, 6), 1); }),
               Error);
  EXPECT_THROW(
      through(4, 5, {DType::f32, 4, 1}, [](Builder& b, Tile x) { return top_k(b.restrict(x, 4, 6), 1).values; }),
      Error);
  EXPECT_THROW(through(4, 5, {DType::f32, 4, 4},
                       [](Builder& b, Tile x) {
                         const Tile wide = b.restrict(x, 4, 6);
                         return matmul_transposed(wide, wide);
                       }),
               Error);
  EXPECT_THROW(through(4, 5, {DType::f32, 4, 6},
                       [](Builder& b, Tile x) {
                         const Tile one = b.constant(1, {4}, {6});
                         return b.restrict(where(equal(one, one), one, x), 4, 6);
                       }),
               Error);
  // Carried tiles count as wholly valid: what was undefined stays undefined.
  EXPECT_THROW(through(4, 5, {DType::f32, 4, 6},
                       [](Builder& b, Tile x) {
                         return b.loop("i", 0, 2, 1, {x}, [](Index, const std::vector<Tile>& t) { return t; })[0];
                       }),
               Error);
}

}  // namespace
}  // namespace tilewright::tile
