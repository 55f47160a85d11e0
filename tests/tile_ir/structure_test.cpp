// Programs that no text can hold, since the parser refuses them: what a wrong pass or a wrong use of the builder makes.
#include <gtest/gtest.h>

#include <functional>

#include "tile_ir/example_programs.h"
#include "tile_ir/refusals.h"

namespace tilewright::tile {
namespace {

ValueId first(const Program& program, OpCode op, int skip = 0) {
  for (std::size_t id = 0; id < program.nodes.size(); ++id)
    if (program.nodes[id].op == op && skip-- == 0) return static_cast<ValueId>(id);
  ADD_FAILURE() << "no " << opcode_name(op);
  return 0;
}
// The body of the loop over `turn`, which carries one tile.
Block& turn(Program& program) { return program.block(program.node(first(program, OpCode::loop)).body); }

struct Fault {
  const char* name;
  const char* says;
  std::function<void(Program&)> plant;
};

TEST(VerifyStructure, RefusesWhatAWrongPassMakes) {
  const Fault faults[] = {
      {"used before its definition", "not defined where it is used",
       [](Program& p) { std::swap(p.block(1).nodes[0], p.block(1).nodes[10]); }},
      {"used out of its scope", "not defined where it is used",
       [](Program& p) {
         for (Node& node : p.nodes)
           if (node.op == OpCode::loop && node.parallel) node.operands[kLoopStop] = first(p, OpCode::index_mod);
       }},
      {"operand that does not exist", "does not exist",
       [](Program& p) { p.node(first(p, OpCode::add)).operands[1] = 9999; }},
      {"too few operands", "number of operands", [](Program& p) { p.node(first(p, OpCode::add)).operands.pop_back(); }},
      {"operand left out", "does not exist", [](Program& p) { p.node(first(p, OpCode::add)).operands[0] = kNone; }},
      {"node in two places", "two places", [](Program& p) { p.block(0).nodes.push_back(p.block(0).nodes[0]); }},
      {"node that does not exist", "does not exist", [](Program& p) { p.block(0).nodes.push_back(-7); }},
      {"stale type", "another type than its operands",
       [](Program& p) { p.node(first(p, OpCode::exp)).type.columns = Extent(32); }},
      {"wrong dtype", "has a dtype that tiles cannot have",
       [](Program& p) { p.node(first(p, OpCode::exp)).type.dtype = DType::i64; }},
      {"hidden cast", "write cast(x, f32) first", [](Program& p) { p.node(first(p, OpCode::cast)).op = OpCode::abs; }},
      {"top_k used as a tile", "used as if it had one value",
       [](Program& p) {
         Node& write = p.node(first(p, OpCode::assemble, 1));
         write.operands[0] = first(p, OpCode::top_k);
         write.tensor = p.node(first(p, OpCode::assemble)).tensor;
       }},
      {"body without its variable", "wrong arguments", [](Program& p) { turn(p).arguments[0] = 0; }},
      {"carried and yielded differ", "another number of tiles", [](Program& p) { turn(p).yields.clear(); }},
      {"body shared", "no body of its own", [](Program& p) { p.node(first(p, OpCode::loop)).body = 0; }},
      {"loop variable unnamed", "no usable name", [](Program& p) { turn(p).variable = "two words"; }},
      {"tensor that does not exist", "does not exist", [](Program& p) { p.node(first(p, OpCode::view)).tensor = 99; }},
      {"dim that a tensor does not have", "does not have",
       [](Program& p) { p.node(first(p, OpCode::view)).row_dim = 5; }},
      {"axis of three", "does not have", [](Program& p) { p.node(first(p, OpCode::reduce_max)).axis = 2; }},
      {"extent zero", "out of range", [](Program& p) { p.node(first(p, OpCode::constant)).type.rows = Extent(0); }},
      {"too many elements", "too many elements",
       [](Program& p) { p.node(first(p, OpCode::constant)).type = {.rows = 1 << 20, .columns = 1 << 20}; }},
      {"name twice", "used twice", [](Program& p) { p.scalars[0].name = "x"; }},
      {"name of two words", "cannot be used", [](Program& p) { p.name = "two words"; }},
      {"dim without a tensor", "has no value", [](Program& p) { p.dims.push_back("q"); }},
      {"scalar of f16", "not served", [](Program& p) { p.scalars[0].dtype = DType::f16; }},
      {"choices not ascending", "no usable choices",
       [](Program& p) {
         p.tiles.push_back({"t", {8, 4}, 0});
       }},
      {"edge of something else than a loop", "not a loop's variable",
       [](Program& p) { p.node(first(p, OpCode::is_first)).operands[0] = first(p, OpCode::index_dim); }},
  };
  for (const Fault& fault : faults) {
    SCOPED_TRACE(fault.name);
    Program program = mixed_program();
    expect_accepted(program);
    fault.plant(program);
    expect_refused(program, fault.says, "");
  }
}

// Elements shared again and again: a check that asks both operands each time would never end.
TEST(VerifyStructure, SharedOperandsAreAskedOnce) {
  Builder b("shared");
  const auto n = b.dim("n");
  const auto x = b.input("x", DType::f32, {n});
  const auto y = b.output("y", DType::f32, {n});
  b.parallel("i", 0, n, 16, [&](Index i) {
    Tile v = b.constant(1, 1, 16);
    Index many = i;
    for (int k = 0; k < 500; ++k) {
      v = v + v;
      many = min(many * many, max(many, n));
    }
    v = v + cast(broadcast(b.from_index(many % 3), 1, 16), DType::f32);
    b.assemble(v + b.view(x, {i}, {1, 16}, to_end), y, {i});
  });
  expect_accepted(b.finish());
}

}  // namespace
}  // namespace tilewright::tile
