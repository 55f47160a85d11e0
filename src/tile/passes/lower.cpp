#include "tile/passes/lower.h"

#include <fmt/format.h>

#include "base/error.h"
#include "tile/ir/printer.h"
#include "tile/passes/cse.h"
#include "tile/passes/dead_code.h"
#include "tile/passes/fuse.h"
#include "tile/passes/vectorise.h"
#include "tile/verify/verify.h"

namespace tilewright::tile {

const std::vector<LowerPass>& lower_passes() {
  static const std::vector<LowerPass> passes = {
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
  return program;
}

int vector_lanes(std::string_view level) {
  if (level == "neon") return 4;
  return level.starts_with("avx512") ? 16 : 8;
}

}  // namespace tilewright::tile
