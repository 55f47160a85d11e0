// Every operation against the interpreter, on every instruction-set level of this processor.
#include <functional>

#include "tile/build/builder.h"
#include "tile_llvm/compiled.h"

namespace tilewright::tile {
namespace {

class CompiledOperations : public testing::Test {
  void SetUp() override {
    if (compile_function() == nullptr) GTEST_SKIP() << "not run: libtilewright_llvm.so is not built";
  }
};

using Body = std::function<Tile(Builder&, Tile, Tile)>;

// y = body(a, b) of [height, width] tiles, of which only valid parts are there.
Program two_inputs(DType from, DType to, std::int64_t height, std::int64_t width, const Body& body) {
  Builder b("two_inputs");
  const auto rows = b.dim("rows"), columns = b.dim("columns");
  const auto left = b.input("a", from, {rows, columns});
  const auto right = b.input("b", from, {rows, columns});
  const auto y = b.output("y", to, {rows, columns});
  b.parallel("i", 0, rows, height, [&](Index i) {
    b.parallel("j", 0, columns, width, [&](Index j) {
      b.assemble(body(b, b.view(left, {i, j}, {height, width}, to_end), b.view(right, {i, j}, {height, width}, to_end)),
                 y, {i, j});
    });
  });
  return b.finish();
}

// Whole tiles in, whatever shape out.
Program whole_tile(DType from, std::int64_t height, std::int64_t width, DType to, std::int64_t out_height,
                   std::int64_t out_width, const std::function<Tile(Builder&, Tile)>& body) {
  Builder b("whole_tile");
  const auto x = b.input("x", from, {height, width});
  const auto y = b.output("y", to, {out_height, out_width});
  b.assemble(body(b, b.view(x, {0, 0}, {height, width})), y, {0, 0});
  return b.finish();
}
void check_whole(DType from, std::int64_t height, std::int64_t width, DType to, std::int64_t out_height,
                 std::int64_t out_width, const std::function<Tile(Builder&, Tile)>& body, double low = -3,
                 double high = 3) {
  expect_like_interpreter(
      whole_tile(from, height, width, to, out_height, out_width, body),
      {TestTensor(from, {height, width}).fill(1, low, high), TestTensor(to, {out_height, out_width}).fill(2, 5, 6)}, {},
      1e-5, 1e-5);
}

TEST_F(CompiledOperations, ElementwiseOfFloats) {
  for (int code = static_cast<int>(OpCode::neg); code <= static_cast<int>(OpCode::gelu_tanh); ++code) {
    const auto op = static_cast<OpCode>(code);
    const bool positive = op == OpCode::log || op == OpCode::sqrt || op == OpCode::rsqrt || op == OpCode::reciprocal;
    SCOPED_TRACE(opcode_name(op));
    expect_like_interpreter(
        two_inputs(DType::f32, DType::f32, 2, 32, [&](Builder&, Tile a, Tile) { return unary(op, a); }),
        {TestTensor(DType::f32, {3, 45}).fill(1, positive ? 0.1 : -6, 6),
         TestTensor(DType::f32, {3, 45}).fill(2, -1, 1), TestTensor(DType::f32, {3, 45}).fill(3, 5, 6)});
  }
}

TEST_F(CompiledOperations, TwoOperands) {
  for (int code = static_cast<int>(OpCode::add); code <= static_cast<int>(OpCode::ge); ++code) {
    const auto op = static_cast<OpCode>(code);
    SCOPED_TRACE(opcode_name(op));
    for (const DType dtype : {DType::f32, DType::i32}) {
      if (dtype == DType::i32 && op == OpCode::div) continue;
      const bool compares = is_comparison(op);
      std::vector<TestTensor> tensors = {TestTensor(dtype, {3, 37}).fill(1, -4, 4),
                                         TestTensor(dtype, {3, 37}).fill(2, -4, 4),
                                         TestTensor(compares ? DType::b8 : dtype, {3, 37}).fill(3, 1, 1)};
      if (dtype == DType::f32) {  // NaN and equal values on both sides
        store_element(dtype, tensors[0].bytes.data() + 4, NAN);
        store_element(dtype, tensors[1].bytes.data() + 8, NAN);
        store_element(dtype, tensors[0].bytes.data() + 12, 1);
        store_element(dtype, tensors[1].bytes.data() + 12, 1);
      }
      expect_like_interpreter(two_inputs(dtype, compares ? DType::b8 : dtype, 2, 32,
                                         [&](Builder&, Tile a, Tile b) { return binary(op, a, b); }),
                              tensors);
    }
  }
}

TEST_F(CompiledOperations, HalfComparisonsChooseAndBooleanLogic) {
  for (const DType dtype : {DType::bf16, DType::f16, DType::f32})
    expect_like_interpreter(two_inputs(dtype, dtype, 1, 64,
                                       [&](Builder&, Tile a, Tile b) {
                                         const Tile c = logical_or(logical_and(less(a, b), logical_not(equal(a, b))),
                                                                   greater_equal(a, b));
                                         return where(logical_and(c, less_equal(a, b)), a, b);
                                       }),
                            {TestTensor(dtype, {2, 50}).fill(1, -4, 4), TestTensor(dtype, {2, 50}).fill(2, -4, 4),
                             TestTensor(dtype, {2, 50}).fill(3, 1, 1)},
                            {}, 0, 0);
}

TEST_F(CompiledOperations, CastsBetweenAllDtypes) {
  const std::vector<DType> all = {DType::f32, DType::f16, DType::bf16, DType::i32, DType::b8};
  for (const DType from : all)
    for (const DType to : all) {
      SCOPED_TRACE(std::string(dtype_name(from)) + " to " + std::string(dtype_name(to)));
      const Program program = two_inputs(from, to, 1, 64, [&](Builder&, Tile a, Tile) { return cast(a, to); });
      const double reach = from == DType::b8 ? 1.4 : 300;
      std::vector<TestTensor> tensors = {TestTensor(from, {1, 61}).fill(1, from == DType::b8 ? 0 : -reach, reach),
                                         TestTensor(from, {1, 61}), TestTensor(to, {1, 61})};
      // Equal bits, not nearly equal numbers.
      std::vector<TestTensor> expected = tensors;
      Arguments arguments{{expected[0].argument(), expected[1].argument(), expected[2].argument()}, {}};
      interpret(program, arguments);
      for (const std::string& level : runnable_levels()) {
        std::vector<TestTensor> found = tensors;
        const Loaded code(compile(program, level).at("code"));
        run(code, program, {{found[0].argument(), found[1].argument(), found[2].argument()}, {}});
        EXPECT_EQ(found[2].bytes, expected[2].bytes) << level;
      }
    }
}

TEST_F(CompiledOperations, Reductions) {
  for (const auto& reduce : {std::function<Tile(Tile, int)>(sum),
                             std::function<Tile(Tile, int)>([](Tile a, int axis) { return max(a, axis); }),
                             std::function<Tile(Tile, int)>(mean)})
    for (const int axis : {0, 1})
      for (const std::int64_t height : {1, 5})
        for (const std::int64_t width : {1, 8, 40}) {
          SCOPED_TRACE(axis);
          Builder b("reduce");
          const auto rows = b.dim("rows"), columns = b.dim("columns");
          const auto x = b.input("x", DType::f32, {rows, columns});
          const auto y = b.output("y", DType::f32, {height, width});
          const auto z = b.output("z", DType::f32, {axis == 0 ? 1 : height, axis == 0 ? width : 1});
          const Tile v = b.view(x, {0, 0}, {height, width}, to_end);
          const Tile reduced = reduce(v, axis);
          b.assemble(broadcast(reduced, height, width) + v, y, {0, 0});
          b.assemble(reduced, z, {0, 0});
          const Program program = b.finish();
          for (const std::int64_t given_width : {std::int64_t{1}, std::min<std::int64_t>(3, width), width})
            for (const std::int64_t given_height : {std::int64_t{1}, height})
              expect_like_interpreter(program,
                                      {TestTensor(DType::f32, {given_height, given_width}).fill(1, -3, -1),
                                       TestTensor(DType::f32, {height, width}),
                                       TestTensor(DType::f32, {axis == 0 ? 1 : height, axis == 0 ? width : 1})},
                                      {}, 1e-5, 1e-5);
        }
}

TEST_F(CompiledOperations, OtherShapes) {
  check_whole(DType::f32, 6, 20, DType::f32, 20, 6, [](Builder&, Tile x) { return transpose(x); });
  check_whole(DType::f32, 6, 20, DType::f32, 20, 6, [](Builder&, Tile x) { return transpose(exp(x) + max(x, 1)); });
  check_whole(DType::bf16, 6, 40, DType::bf16, 40, 6, [](Builder&, Tile x) { return transpose(x); });
  check_whole(DType::f32, 6, 20, DType::f32, 8, 15, [](Builder&, Tile x) { return reshape(x, 8, 15); });
  check_whole(DType::f32, 6, 20, DType::f32, 8, 15, [](Builder&, Tile x) { return reshape(exp(x), 8, 15) * 2.0; });
  check_whole(DType::f32, 1, 120, DType::f32, 8, 15, [](Builder&, Tile x) { return reshape(x, 8, 15); });
  check_whole(DType::f32, 8, 15, DType::f32, 1, 120, [](Builder&, Tile x) { return reshape(x, 1, 120); });
  check_whole(DType::f32, 40, 1, DType::f32, 1, 40, [](Builder&, Tile x) { return exp(transpose(x)); });
  check_whole(DType::f32, 1, 40, DType::f32, 40, 1, [](Builder&, Tile x) { return transpose(exp(x)); });
  check_whole(DType::f32, 7, 50, DType::f32, 3, 21, [](Builder&, Tile x) { return slice(x, 2, 17, 3, 21); });
  check_whole(DType::f32, 7, 50, DType::f32, 3, 1, [](Builder&, Tile x) { return slice(exp(x), 2, 17, 3, 1); });
  check_whole(DType::f32, 7, 50, DType::f32, 1, 1, [](Builder&, Tile x) { return slice(sum(x, 1), 3, 0, 1, 1) * 2.0; });
  check_whole(DType::f32, 4, 50, DType::f32, 4, 71, [](Builder&, Tile x) {
    return concat({slice(x, 0, 3, 4, 21), exp(slice(x, 0, 0, 4, 40)), slice(x, 0, 9, 4, 10)}, 1) + 1.0;
  });
  check_whole(DType::f32, 4, 50, DType::f32, 9, 50, [](Builder&, Tile x) {
    return concat({slice(x, 1, 0, 3, 50), max(x, 0), x, -slice(x, 0, 0, 1, 50)}, 0) * 2.0;
  });
  check_whole(DType::f32, 4, 50, DType::f32, 4, 1, [](Builder&, Tile x) {
    return sum(concat({slice(x, 0, 40, 4, 10), x, slice(x, 0, 0, 4, 3)}, 1), 1);
  });
  check_whole(DType::f32, 4, 50, DType::f32, 50, 5, [](Builder&, Tile x) {
    return transpose(concat({x, max(x, 0)}, 0));
  });
  check_whole(DType::f32, 4, 24, DType::f32, 4, 24, [](Builder&, Tile x) {
    return concat(
        {slice(concat({slice(x, 0, 12, 4, 12), slice(x, 0, 0, 4, 12)}, 1), 0, 5, 4, 12), slice(x, 0, 1, 4, 12)}, 1);
  });
  check_whole(DType::f32, 4, 50, DType::f32, 5, 50, [](Builder&, Tile x) {  // loops are split below a reshape, too
    return reshape(concat({max(x, 0), x}, 0) * 2.0, 5, 50) + 1.0;
  });
  check_whole(DType::f32, 4, 50, DType::f32, 4, 71, [](Builder&, Tile x) {
    return reshape(concat({exp(slice(x, 0, 3, 4, 21)), x}, 1), 4, 71) + 1.0;
  });
}

TEST_F(CompiledOperations, CountingAndIndices) {
  Builder b("counting");
  const auto n = b.dim("n");
  const auto table = b.input("table", DType::i32, {n});
  const auto big = b.input("big", DType::i64, {n});
  const auto y = b.output("y", DType::i32, {n, 24});
  const auto z = b.output("z", DType::i32, {24, 1});
  const Index shift = b.index_scalar("shift");
  b.parallel("i", 0, n, 1, [&](Index i) {
    const Index at = b.load(table, {i});
    const Index far = b.load(big, {min(at, n - 1)});
    const Tile numbers = b.iota(1, 24, 1, i * 3 + shift);
    b.assemble(numbers * b.from_index(far / 3 + at % 5 - max(at, 2)) + b.constant(7, 1, 24, DType::i32), y, {i, 0});
  });
  b.parallel("once", 0, 1, 1, [&](Index) { b.assemble(b.iota(24, 1, 0, shift / -4 + shift % -3), z, {0, 0}); });
  const Program program = b.finish();
  TestTensor table_values(DType::i32, {5}), big_values(DType::i64, {5});
  for (int i = 0; i < 5; ++i) {
    store_element(DType::i32, table_values.bytes.data() + 4 * i, i);
    store_element(DType::i64, big_values.bytes.data() + 8 * i, 10 - 7 * i);
  }
  expect_like_interpreter(
      program, {table_values, big_values, TestTensor(DType::i32, {5, 24}), TestTensor(DType::i32, {24, 1})}, {-11});
}

TEST_F(CompiledOperations, GatherReadsZerosOutside) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    Builder b("gather");
    const auto n = b.dim("n"), width = b.dim("width"), vocabulary = b.dim("vocabulary");
    const auto ids = b.input("ids", DType::i32, {n});
    const auto table = b.input("table", dtype, {vocabulary, width});
    const auto y = b.output("y", dtype, {n, width});
    b.parallel("i", 0, n, 4, [&](Index i) {
      const Tile rows = transpose(b.view(ids, {i}, {1, 4}, to_end));
      b.assemble(
          b.gather(table, rows, {0, 0}, {4, 40}, valid(min(Index(4), Index(n) - i), min(Index(40), Index(width)))), y,
          {i, 0});
    });
    const Program program = b.finish();
    TestTensor numbers(DType::i32, {6});
    const std::vector<int> chosen = {2, -1, 0, 7, 6, 1000000};
    for (std::size_t i = 0; i < chosen.size(); ++i) store_element(DType::i32, numbers.bytes.data() + 4 * i, chosen[i]);
    for (const std::int64_t columns : {3, 40})
      expect_like_interpreter(
          program,
          {numbers, TestTensor(dtype, {7, columns}).fill(1, -2, 2), TestTensor(dtype, {6, columns}).fill(2, 5, 6)}, {},
          0, 0);
  }
}

// One row for each place of the NaN, wherever it falls: unrolled vectors, single ones, the tail; and a row of numbers.
TEST_F(CompiledOperations, MaximumOfRowsWithOneNan) {
  Builder b("largest");
  const auto n = b.dim("n"), width = b.dim("width");
  const auto x = b.input("x", DType::f32, {n, width});
  const auto y = b.output("y", DType::f32, {n, 1});
  b.parallel("i", 0, n, 1, [&](Index i) { b.assemble(max(b.view(x, {i, 0}, {1, 512}, to_end), 1), y, {i, 0}); });
  const Program program = b.finish();
  for (const std::int64_t columns : {1, 5, 16, 40, 203}) {
    TestTensor in = TestTensor(DType::f32, {columns + 1, columns}).fill(1, -2, 2);
    for (std::int64_t row = 0; row < columns; ++row)
      store_element(DType::f32, in.bytes.data() + 4 * (row * in.strides[0] + row), NAN);
    expect_like_interpreter(program, {in, TestTensor(DType::f32, {columns + 1, 1})}, {}, 0, 0);
  }
}

// Signalling ones and such whose rounding would carry into the sign, from memory and from an operation.
TEST_F(CompiledOperations, NanStaysNanInBf16) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16})
    for (const bool computed : {false, true}) {
      Builder b("narrow");
      const auto n = b.dim("n");
      const auto x = b.input("x", dtype, {1, n});
      const auto y = b.output("y", DType::bf16, {1, n});
      b.parallel("i", 0, n, 64, [&](Index i) {
        const Tile read = cast(b.view(x, {0, i}, {1, 64}, to_end), DType::f32);
        b.assemble(cast(computed ? read + 1.0 : read, DType::bf16), y, {0, i}, to_end);
      });
      const Program program = b.finish();
      const std::size_t size = dtype_size(dtype);
      TestTensor in = TestTensor(dtype, {1, 53}).fill(1, -2, 2);
      const std::uint32_t words[] = {0x7f800001, 0xff800001, 0x7fbfffff, 0x7fc00000,
                                     0x7fffffff, 0xffffffff, 0x7fff8000, 0xff810000};
      for (std::size_t i = 0; i < 53; i += 2) {
        const std::uint32_t word = words[i / 2 % 8] | (size == 2 ? 0x10000 : 0);
        std::memcpy(in.bytes.data() + size * i, reinterpret_cast<const char*>(&word) + 4 - size, size);
      }
      expect_like_interpreter(program, {in, TestTensor(DType::bf16, {1, 53})}, {}, 0, 0);
    }
}

TEST_F(CompiledOperations, TopKOfShortRows) {
  Builder b("top");
  const auto n = b.dim("n"), experts = b.dim("experts");
  const auto x = b.input("x", DType::f32, {n, experts});
  const auto values = b.output("values", DType::f32, {n, 4});
  const auto columns = b.output("columns", DType::i32, {n, 4});
  b.parallel("i", 0, n, 2, [&](Index i) {
    const TopK best = top_k(b.view(x, {i, 0}, {2, 20}, to_end) * 1.0, 4);
    b.assemble(best.values, values, {i, 0});
    b.assemble(best.columns, columns, {i, 0});
  });
  const Program program = b.finish();
  for (const std::int64_t width : {2, 4, 20}) {
    TestTensor in = TestTensor(DType::f32, {5, width}).fill(1, -2, 2);
    for (std::size_t i = 0; i < in.elements(); ++i)
      store_element(DType::f32, in.bytes.data() + 4 * i, std::round(2 * in.at(i)));  // ties
    store_element(DType::f32, in.bytes.data() + 4, NAN);
    expect_like_interpreter(program, {in, TestTensor(DType::f32, {5, 4}), TestTensor(DType::i32, {5, 4})}, {}, 0, 0);
  }
}

TEST_F(CompiledOperations, Matmul) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16})
    for (const bool transposed : {false, true}) {
      Builder b("product");
      const auto m = b.dim("m"), n = b.dim("n"), k = b.dim("k");
      const auto left = b.input("a", dtype, {m, k});
      const auto right = transposed ? b.input("b", dtype, {n, k}) : b.input("b", dtype, {k, n});
      const auto y = b.output("y", DType::f32, {m, n});
      b.parallel("i", 0, m, 8, [&](Index i) {
        b.parallel("j", 0, n, 32, [&](Index j) {
          const auto sums =
              b.loop("p", 0, k, 16, {b.constant(0.5, 8, 32)}, [&](Index p, const std::vector<Tile>& carried) {
                const Tile a = b.view(left, {i, p}, {8, 16}, to_end);
                return std::vector<Tile>{
                    transposed ? matmul_transposed(a, b.view(right, {j, p}, {32, 16}, to_end), carried[0] * 0.5)
                               : matmul(a, b.view(right, {p, j}, {16, 32}, to_end), carried[0] * 0.5)};
              });
          b.assemble(sums[0], y, {i, j}, valid(min(Index(8), Index(m) - i), min(Index(32), Index(n) - j)));
        });
      });
      const Program program = b.finish();
      for (const std::int64_t size : {5, 16, 35})
        expect_like_interpreter(
            program,
            {TestTensor(dtype, {size, 21}).fill(1, -1, 1),
             TestTensor(dtype, transposed ? std::vector<std::int64_t>{33, 21} : std::vector<std::int64_t>{21, 33})
                 .fill(2, -1, 1),
             TestTensor(DType::f32, {size, 33})},
            {}, 1e-5, 1e-5);
    }
}

TEST_F(CompiledOperations, LoopsCarryTiles) {
  Builder b("carry");
  const auto n = b.dim("n"), columns = b.dim("columns");
  const auto x = b.input("x", DType::f32, {n, columns});
  const auto y = b.output("y", DType::f32, {5, 24});
  const auto z = b.output("z", DType::f32, {4, 1});
  const auto carried = b.loop("i", 0, n, 2,
                              {b.constant(1, 4, 24), b.constant(2, 4, 24), b.constant(-1, 4, 1), b.constant(3),
                               b.constant(0, 1, 1, DType::i32)},
                              [&](Index i, const std::vector<Tile>& old) {
                                const Tile row = b.view(x, {i, 0}, {1, 24}, valid(1, 24));
                                const Tile first = where(broadcast(b.is_first(i), 4, 24), old[0] * 3.0, old[0] + row);
                                const Tile last = where(b.is_last(i), old[3] * 10.0, old[3] + max(row, 1));
                                // The first two change places; the third reads the first one's old rows.
                                return std::vector<Tile>{old[1] + transpose(slice(transpose(old[1]), 0, 0, 24, 4)),
                                                         first, maximum(old[2], max(old[0], 1)) + last * 0.001, last,
                                                         old[4] + b.constant(1, 1, 1, DType::i32)};
                              });
  b.assemble(concat({carried[0] + carried[1], broadcast(carried[3] + cast(carried[4], DType::f32), 1, 24)}, 0), y,
             {0, 0});
  b.assemble(carried[2], z, {0, 0});
  const Program program = b.finish();
  for (const std::int64_t size : {0, 1, 2, 7})
    expect_like_interpreter(program,
                            {TestTensor(DType::f32, {size, 24}).fill(1, -1, 1), TestTensor(DType::f32, {5, 24}),
                             TestTensor(DType::f32, {4, 1})},
                            {}, 1e-5, 1e-5);
}

TEST_F(CompiledOperations, OnlineSoftmaxAttention) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    Builder b("attention");
    const auto rows = b.dim("rows"), keys = b.dim("keys");
    const auto q = b.input("q", dtype, {rows, 32});
    const auto k = b.input("k", dtype, {keys, 32});
    const auto v = b.input("v", dtype, {keys, 32});
    const auto y = b.output("y", dtype, {rows, 32});
    b.parallel("i", 0, rows, 8, [&](Index i) {
      const Tile query = b.view(q, {i, 0}, {8, 32}, valid(min(Index(8), Index(rows) - i), 32));
      const auto last = b.loop(
          "j", 0, min(Index(keys), i + 8), 16, {b.constant(-1e30, 8, 1), b.constant(0, 8, 1), b.constant(0, 8, 32)},
          [&](Index j, const std::vector<Tile>& old) {
            const Tile scores = matmul_transposed(query, b.view(k, {j, 0}, {16, 32}, to_end)) * 0.17;
            const Tile allowed =
                less_equal(broadcast(b.iota(1, 16, 1, j), 8, 16), broadcast(b.iota(8, 1, 0, i), 8, 16));
            const Tile masked = where(allowed, scores, b.constant(-1e30, 8, 16));
            const Tile next = maximum(old[0], max(masked, 1));
            const Tile weights = exp(masked - next);
            const Tile scale = exp(old[0] - next);
            return std::vector<Tile>{next, old[1] * scale + sum(weights, 1),
                                     matmul(cast(weights, dtype), b.view(v, {j, 0}, {16, 32}, to_end), old[2] * scale)};
          });
      b.assemble(cast(last[2] / last[1], dtype), y, {i, 0}, valid(min(Index(8), Index(rows) - i), 32));
    });
    Program program;
    try {
      program = b.finish();
    } catch (const std::exception& error) {
      FAIL() << error.what();
    }
    for (const std::int64_t size : {3, 16, 37})
      expect_like_interpreter(
          program,
          {TestTensor(dtype, {size, 32}).fill(1, -2, 2), TestTensor(dtype, {size, 32}).fill(2, -2, 2),
           TestTensor(dtype, {size, 32}).fill(3, -2, 2), TestTensor(dtype, {size, 32})},
          {}, 2e-5, dtype == DType::bf16 ? 2e-2 : 2e-5);
  }
}

}  // namespace
}  // namespace tilewright::tile
