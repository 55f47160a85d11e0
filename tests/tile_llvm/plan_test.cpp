// What fusion stores and joins, and the vectors that are planned for it.
#include "tile/build/builder.h"
#include "tile/passes/fuse.h"
#include "tile/passes/iteration_space.h"
#include "tile/passes/lower.h"
#include "tile/passes/vectorise.h"
#include "tile/verify/verify.h"
#include "tile_llvm/compiled.h"

namespace tilewright::tile {
namespace {

std::vector<Node> all_of(const Program& program, OpCode op) {
  std::vector<Node> out;
  for (const Node& node : renumbered(program).nodes)
    if (node.op == op) out.push_back(node);
  return out;
}
Node only(const Program& program, OpCode op) {
  const std::vector<Node> all = all_of(program, op);
  EXPECT_EQ(all.size(), 1u) << opcode_name(op) << "\n" << print(program);
  return all.at(0);
}

template <typename Body>
Program of_rows(std::int64_t height, std::int64_t width, const Body& body) {
  Builder b("rows");
  const auto rows = b.dim("rows"), columns = b.dim("columns");
  const auto x = b.input("x", DType::f32, {rows, columns});
  const auto y = b.output("y", DType::f32, {rows, columns});
  const auto z = b.output("z", DType::f32, {rows, columns});
  b.parallel("i", 0, rows, height, [&](Index i) {
    bool second = false;
    const Tile v = b.view(x, {i, 0}, {height, width}, to_end);
    const auto to_z = [&](Tile tile) {
      second = true;
      b.assemble(tile, z, {i, 0});
    };
    body(
        b, v,
        [&](Tile tile) {
          b.assemble(tile, y, {i, 0});
        },
        to_z);
    if (!second) b.parallel("j", 0, 1, 1, [&](Index) { to_z(v); });
  });
  return lower(b.finish(), {.level = "avx512"});
}

TEST(Fuse, ChainsOfCheapOperationsStoreNothing) {
  const Program program = of_rows(1, 512, [](Builder&, Tile x, auto y, auto z) {
    const Tile v = x * x + 1.0;
    y(v * rsqrt(mean(v, 1)));
    z(v - 2.0);
  });
  for (const Node& node : program.nodes) EXPECT_FALSE(node.plan.stored) << opcode_name(node.op);
  // Both outputs are written by one loop, after the mean.
  const std::vector<Node> outputs = all_of(program, OpCode::assemble);
  EXPECT_EQ(outputs[0].plan.nest, outputs[1].plan.nest);
  EXPECT_GT(outputs[0].plan.nest, only(program, OpCode::reduce_mean).plan.nest);
}

TEST(Fuse, CostlyTilesOfTwoNestsAreStoredOnce) {
  const Program program = of_rows(1, 512, [](Builder&, Tile x, auto y, auto) {
    const Tile e = exp(x - max(x, 1));
    y(e * reciprocal(sum(e, 1)));
  });
  const Node e = only(program, OpCode::exp);
  EXPECT_TRUE(e.plan.stored);
  EXPECT_EQ(e.plan.nest, only(program, OpCode::reduce_sum).plan.nest);
  EXPECT_LT(only(program, OpCode::reduce_max).plan.nest, e.plan.nest);
  EXPECT_LT(e.plan.nest, all_of(program, OpCode::assemble).at(0).plan.nest);
}

TEST(Fuse, CostlyTilesOfOneNestAreNot) {
  const Program program = of_rows(1, 512, [](Builder&, Tile x, auto y, auto z) {
    const Tile e = exp(x);
    y(e * 2.0);
    z(e + 1.0);
  });
  EXPECT_FALSE(only(program, OpCode::exp).plan.stored);
  const std::vector<Node> outputs = all_of(program, OpCode::assemble);
  EXPECT_EQ(outputs[0].plan.nest, outputs[1].plan.nest);
}

TEST(Fuse, WhatAnInnerLoopUsesIsComputedBeforeIt) {
  const Program program = of_rows(4, 64, [](Builder& b, Tile x, auto y, auto) {
    const Tile e = exp(x);
    y(b.loop("k", 0, 3, 1, {b.constant(0, 4, 64)},
             [&](Index, const std::vector<Tile>& old) { return std::vector<Tile>{old[0] * e}; })[0]);
  });
  EXPECT_TRUE(only(program, OpCode::exp).plan.stored);
  EXPECT_LT(only(program, OpCode::exp).plan.nest, all_of(program, OpCode::loop)[1].plan.nest);
}

TEST(Fuse, OperandsOfProductsAreInMemory) {
  const Program program =
      of_rows(8, 16, [](Builder& b, Tile x, auto y, auto) { y(matmul(x * 2.0, b.constant(1, 16, 16))); });
  EXPECT_TRUE(only(program, OpCode::mul).plan.stored);
}

// Every root has a nest, and a root comes after what it depends on.
TEST(Fuse, OrderFollowsDependencies) {
  Builder builder("order");
  const auto x = builder.input("x", DType::f32, {4, 64});
  const auto y = builder.output("y", DType::f32, {4, 64});
  const auto z = builder.output("z", DType::f32, {4, 64});
  builder.parallel("i", 0, 1, 1, [&](Index) {
    const Tile a = exp(builder.view(x, {0, 0}, {4, 64})), b = sum(a, 1), c = silu(a * b), d = max(c, 0),
               e = tanh(c + d);
    builder.assemble(e * sum(e, 1), y, {0, 0});
    builder.assemble(transpose(reshape(e + b, 64, 4)), z, {0, 0});
  });
  const Program program = lower(builder.finish(), {.level = "avx512"});
  for (const Block& block : program.blocks)
    for (const ValueId id : block.nodes) {
      const Node& node = program.node(id);
      const bool root =
          node.op == OpCode::assemble || is_reduction(node.op) || node.op == OpCode::loop || node.plan.stored;
      EXPECT_EQ(node.plan.nest != kNone, root) << describe(program, id);
      if (!root) continue;
      const auto visit = [&](auto&& self, ValueId at) -> void {
        for (const ValueId operand : tile_operands(program, at)) {
          const Node& from = program.node(operand);
          if (from.plan.nest != kNone) {
            EXPECT_LE(from.plan.nest, node.plan.nest);
            if (is_reduction(from.op)) {
              EXPECT_LT(from.plan.nest, node.plan.nest);
            }
          } else {
            self(self, operand);
          }
        }
      };
      visit(visit, id);
    }
}

TEST(Vectorise, OneWidthForANestAndNoWiderThanItsRows) {
  for (const int lanes : {4, 8, 16})
    for (const std::int64_t width : {1, 3, 4, 8, 40, 512}) {
      Builder b("sum");
      const auto x = b.input("x", DType::f32, {4, width});
      const auto y = b.output("y", DType::f32, {4, width});
      b.parallel("i", 0, 1, 1, [&](Index) {
        const Tile v = b.view(x, {0, 0}, {4, width});
        b.assemble(v * sum(v, 1), y, {0, 0});
      });
      const Program program = vectorise(fuse(b.finish()), lanes);
      for (const OpCode op : {OpCode::reduce_sum, OpCode::assemble}) {
        const Node node = only(program, op);
        EXPECT_LE(node.plan.vector, std::min<std::int64_t>(lanes, width));
        EXPECT_GT(2 * node.plan.vector, std::min<std::int64_t>(lanes, width));
        EXPECT_EQ(node.plan.vector & (node.plan.vector - 1), 0);
        EXPECT_EQ(node.plan.unroll == 1, node.plan.vector == 1);
      }
    }
}

}  // namespace
}  // namespace tilewright::tile
