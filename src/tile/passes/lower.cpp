#include "tile/passes/lower.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "tile/cost/buffers.h"
#include "tile/ir/printer.h"
#include "tile/passes/choose_tiles.h"
#include "tile/passes/cse.h"
#include "tile/passes/dead_code.h"
#include "tile/passes/fuse.h"
#include "tile/passes/split_tails.h"
#include "tile/passes/vectorise.h"
#include "tile/verify/verify.h"

namespace tilewright::tile {
namespace {

// Code outside of loops that writes becomes the body of a loop of one iteration: everything then runs in the grid.
Program enclosed(Program program) {
  const std::vector<ValueId>& top = program.block(0).nodes;
  if (std::none_of(top.begin(), top.end(), [&](ValueId id) { return program.node(id).op == OpCode::assemble; }))
    return program;
  const auto append = [&](Node node) {
    program.nodes.push_back(std::move(node));
    return static_cast<ValueId>(program.nodes.size()) - 1;
  };
  const ValueId zero = append({.op = OpCode::index_constant, .type = {.index = true}});
  const ValueId one = append({.op = OpCode::index_constant, .type = {.index = true}, .integer = 1});
  const ValueId variable = append({.op = OpCode::loop_variable, .type = {.index = true}});
  const auto body = static_cast<BlockId>(program.blocks.size());
  program.blocks.push_back({"once", {variable}, std::move(program.block(0).nodes), {}});
  const ValueId loop = append(
      {.op = OpCode::loop, .type = {.index = true}, .operands = {zero, one, one}, .parallel = true, .body = body});
  program.block(0).nodes = {zero, one, loop};
  return renumbered(program);
}

}  // namespace

const std::vector<LowerPass>& lower_passes() {
  static const std::vector<LowerPass> passes = {
      {"choose_tiles",
       [](Program program, const LowerOptions& options) {
         return choose_tiles(std::move(program), tile_target(options.target, options.level), {.dims = options.dims},
                             options.tiles);
       }},
      {"split_tails",
       [](Program program, const LowerOptions& options) {
         // The host's code has a vector tail in every tile: there, only short bodies over short tiles gain.
         const bool host = options.target == "host";
         return split_tails(std::move(program),
                            host ? SplitOptions{.most_step = 128, .most_nodes = 24} : SplitOptions{});
       }},
      {"cse", [](Program program, const LowerOptions&) { return cse(std::move(program)); }},
      {"dead_code", [](Program program, const LowerOptions&) { return dead_code(std::move(program)); }},
      {"fuse", [](Program program, const LowerOptions&) { return fuse(std::move(program)); }},
      {"vectorise",
       [](Program program, const LowerOptions& options) {
         return vectorise(std::move(program), vector_lanes(options.level));
       }},
  };
  return passes;
}

Program lower(Program program, const LowerOptions& options) {
  verify(program);
  if (options.dump) options.dump("input", program);
  program = enclosed(std::move(program));
  for (const LowerPass& pass : lower_passes()) {
    program = pass.run(std::move(program), options);
    try {
      verify(program);
    } catch (const Error& error) {
      fmt::print(stderr, "the pass {} broke a program: {}\n{}", pass.name, error.what(), print(program));
      TW_CHECK(!"a pass broke a program");
    }
    if (options.dump) options.dump(pass.name, program);
  }
  check_budget(program, tile_target(options.target, options.level));
  return program;
}

int vector_lanes(std::string_view level) {
  if (level == "neon") return 4;
  return level.starts_with("avx512") ? 16 : 8;
}

}  // namespace tilewright::tile
