// Loops, index arithmetic, tensor accesses and faults.
#include <gtest/gtest.h>

#include "base/error.h"
#include "matrix.h"

namespace tilewright::tile {
namespace {

// The message of the Error that `run` throws.
template <typename Run>
std::string message(const Run& run) {
  try {
    run();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}
#define EXPECT_MESSAGE(run, part) EXPECT_NE(message(run).find(part), std::string::npos) << message(run)

TEST(IndexArithmetic, DividesDownwardAndByZero) {
  Builder b("index");
  const Index a = b.index_scalar("a"), c = b.index_scalar("b");
  const auto y = b.output("y", DType::i32, {1, 7});
  const std::vector<Index> all = {a + c, a - c, a * c, a / c, a % c, min(a, c), max(a, c)};
  once(b, [&] {
    for (std::size_t i = 0; i < all.size(); ++i) b.assemble(b.from_index(all[i]), y, {0, static_cast<int>(i)});
  });
  const Program program = b.finish();
  const auto run = [&](double x, double z) {
    Matrix out(DType::i32, 1, 7);
    interpret_on(program, {&out}, {x, z});
    return out.values();
  };
  EXPECT_EQ(run(7, -2), (std::vector<double>{5, 9, -14, -4, -1, -2, 7}));
  EXPECT_EQ(run(-7, 2), (std::vector<double>{-5, -9, -14, -4, 1, -7, 2}));
  EXPECT_EQ(run(-7, -2), (std::vector<double>{-9, -5, 14, 3, -1, -7, -2}));
  EXPECT_EQ(run(-7, -1), (std::vector<double>{-8, -6, 7, 7, 0, -7, -1}));
  EXPECT_EQ(run(7, 0), (std::vector<double>{7, 7, 0, 0, 0, 0, 7}));
}

TEST(Loops, CarryTilesAndKnowTheirFirstAndLastIteration) {
  // Swapping two carried tiles, a sum of the variable, and where first and last are, for 0 … 3 iterations.
  Builder b("loops");
  const Index n = b.index_scalar("n");
  const auto y = b.output("y", DType::i32, {1, 5});
  const auto number = [&](double value) { return b.constant(value, {1}, {1}, DType::i32); };
  const auto out = b.loop("i", 2, n, 3, {number(10), number(20), number(0), number(0), number(0)},
                          [&](Index i, const std::vector<Tile>& t) {
                            const Tile at = b.from_index(i);
                            return std::vector<Tile>{t[1], t[0], t[2] + at, t[3] + where(b.is_first(i), at, number(0)),
                                                     t[4] + where(b.is_last(i), at, number(0))};
                          });
  once(b, [&] {
    for (int i = 0; i < 5; ++i) b.assemble(out[static_cast<std::size_t>(i)], y, {0, i});
  });
  const Program program = b.finish();
  const auto run = [&](double stop) {
    Matrix m(DType::i32, 1, 5);
    interpret_on(program, {&m}, {stop});
    return m.values();
  };
  EXPECT_EQ(run(2), (std::vector<double>{10, 20, 0, 0, 0}));
  EXPECT_EQ(run(-5), (std::vector<double>{10, 20, 0, 0, 0}));
  EXPECT_EQ(run(3), (std::vector<double>{20, 10, 2, 2, 2}));
  EXPECT_EQ(run(6), (std::vector<double>{10, 20, 7, 2, 5}));
  EXPECT_EQ(run(9), (std::vector<double>{20, 10, 15, 2, 8}));
}

Program copy_program(Index (*offset)(Index), bool parallel, std::int64_t tile = 2) {
  Builder b("copy");
  const auto rows = b.dim("rows");
  const auto x = b.input("x", DType::f32, {rows, 3}), y = b.output("y", DType::f32, {rows, 3});
  const auto body = [&](Index i) { b.assemble(b.view(x, {i, 0}, {{tile}, {3}}, to_end), y, {offset(i), 0}); };
  parallel ? b.parallel("i", 0, rows, tile, body) : b.loop("i", 0, rows, tile, body);
  return b.program();  // not verified: some uses are wrong on purpose
}

TEST(Accesses, WalkStridedTensorsAndTouchNothingElse) {
  const Program program = copy_program([](Index i) { return i; }, true);
  for (const std::int64_t rows : {0, 1, 2, 3, 5}) {
    Matrix in(DType::f32, rows, 3, {1, 2, 3, 4}, 5), out(DType::f32, rows, 3, {}, 2);
    interpret_on(program, {&in, &out});
    EXPECT_EQ(in.values(), out.values());
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t c = 3; c < 5; ++c) EXPECT_EQ(*static_cast<std::uint32_t*>(out.at(r, c)), 0x5a5a5a5au);
  }
}

TEST(Accesses, GatherReadsZerosForRowsOutside) {
  Builder b("gather");
  const auto rows = b.dim("rows");
  const auto table = b.input("table", DType::bf16, {rows, 4}), y = b.output("y", DType::bf16, {4, 3});
  const auto which = b.input("which", DType::i32, {4, 1});
  once(b, [&] { b.assemble(b.gather(table, b.view(which, {0, 0}, {{4}, {1}}), {0, 1}, {{4}, {3}}), y, {0, 0}); });
  const Program program = b.finish();
  Matrix t(DType::bf16, 2, 4, {1, 2, 3, 4, 5, 6, 7, 8}), w(DType::i32, 4, 1, {1, -1, 2, 0}), out(DType::bf16, 4, 3);
  interpret_on(program, {&t, &out, &w});
  EXPECT_EQ(out.values(), (std::vector<double>{6, 7, 8, 0, 0, 0, 0, 0, 0, 2, 3, 4}));
}

TEST(Accesses, LoadsIndicesFromTensors) {
  for (const DType dtype : {DType::i32, DType::i64}) {
    Builder b("load");
    const auto t = b.input("t", dtype, {1, 2}), y = b.output("y", DType::i32, {1, 1});
    once(b, [&] { b.assemble(b.from_index(b.load(t, {0, 1}) * 3), y, {0, 0}); });
    const Program program = b.finish();
    Matrix m(dtype, 1, 2, {4, -9}), out(DType::i32, 1, 1);
    interpret_on(program, {&m, &out});
    EXPECT_EQ(out.value(0, 0), -27);
  }
}

TEST(Faults, NameProgramNodeTensorAndIndex) {
  Matrix in(DType::f32, 3, 3, {1}), out(DType::f32, 3, 3);
  const Program outside = copy_program([](Index i) { return i + 1; }, false);
  // A hand-made access past the end: the valid extent of the write removed.
  Program wrong = outside;
  for (Node& node : wrong.nodes)
    if (node.op == OpCode::assemble) node.operands[node.operands.size() - 2] = kNone;
  const auto run = [&] { interpret_on(wrong, {&in, &out}); };
  EXPECT_MESSAGE(run, "tile program copy, assemble %");
  EXPECT_MESSAGE(run, "outside tensor y");
  EXPECT_MESSAGE(run, "[3, 0], element (0, 0)");
}

TEST(Faults, ParallelIterationsMayNotWriteOnePlace) {
  Matrix in(DType::f32, 4, 3, {1}), out(DType::f32, 4, 3);
  const auto first = [](Index) { return Index(0); };
  Program sequential = copy_program(first, false);
  EXPECT_NO_THROW(interpret_on(sequential, {&in, &out}));
  for (Node& node : sequential.nodes)
    if (node.op == OpCode::loop) node.parallel = true;
  EXPECT_MESSAGE([&] { interpret_on(sequential, {&in, &out}); }, "two iterations of a parallel loop write one element");
}

TEST(Faults, LoopsMustAdvance) {
  Builder b("still");
  b.loop("i", 0, 4, b.index_scalar("step"), [](Index) {});
  const Program program = b.finish();
  EXPECT_NO_THROW(interpret_on(program, {}, {1}));
  EXPECT_MESSAGE([&] { interpret_on(program, {}, {0}); }, "a step of at least 1");
}

TEST(Faults, TileParametersMustBeChosen) {
  Builder b("chosen");
  const auto t = b.tile("width", {4, 8});
  const auto y = b.output("y", DType::f32, {1, 8});
  b.loop("i", 0, 8, t, [&](Index i) { b.assemble(b.constant(1, {1}, t), y, {0, i}); });
  Program program = b.finish();
  Matrix out(DType::f32, 1, 8);
  EXPECT_MESSAGE([&] { interpret_on(program, {&out}); }, "tile parameter width is not chosen");
  program.tiles[0].chosen = 4;
  EXPECT_NO_THROW(interpret_on(program, {&out}));
}

TEST(Arguments, MustFitTheProgram) {
  const Program program = copy_program([](Index i) { return i; }, true);
  Matrix in(DType::f32, 4, 3, {1}), out(DType::f32, 4, 3), fewer(DType::f32, 3, 3), wide(DType::f32, 4, 4);
  EXPECT_MESSAGE([&] { interpret_on(program, {&in}); }, "number of tensors");
  EXPECT_MESSAGE([&] { interpret_on(program, {&in, &out}, {1}); }, "number of scalars");
  EXPECT_MESSAGE([&] { interpret_on(program, {&in, &fewer}); }, "rows = 4");
  EXPECT_MESSAGE([&] { interpret_on(program, {&in, &wide}); }, "dim 1 has the wrong extent");
  Arguments arguments{{in.argument(), out.argument()}, {}};
  arguments.tensors[0].strides = {1, 4};
  EXPECT_MESSAGE([&] { interpret(program, arguments); }, "another stride");
  arguments.tensors[0] = in.argument();
  arguments.tensors[1].shape = {12};
  EXPECT_MESSAGE([&] { interpret(program, arguments); }, "wrong rank");
  arguments.tensors[1] = out.argument();
  arguments.tensors[1].data = nullptr;
  EXPECT_MESSAGE([&] { interpret(program, arguments); }, "no memory");
}

}  // namespace
}  // namespace tilewright::tile
