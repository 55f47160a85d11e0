// From a program as written to one that llvm/ compiles: the passes in their order, with a verify after each.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tile/ir/program.h"

namespace tilewright::tile {

struct LowerOptions {
  std::string target = "host";                     // "host", or the name of a description: "910b2"
  std::string level = "avx2";                      // of the host: avx2, avx512, avx512_bf16, neon
  std::map<std::string, std::int64_t> tiles = {};  // sizes that the user sets, by the name of the tile parameter
  std::map<std::string, std::int64_t> dims = {};   // likely values, by name, for the choice of tiles
  // Called with "input" before the first pass and with the name of each pass after it.
  std::function<void(std::string_view pass, const Program&)> dump = {};
};

struct LowerPass {
  std::string_view name;
  Program (*run)(Program, const LowerOptions&);
};
const std::vector<LowerPass>& lower_passes();

// Throws Error if the program or what the user set is wrong; a pass that breaks a sound program is a broken invariant
// and aborts with the program printed.
Program lower(Program program, const LowerOptions& options = {});

// f32 elements of a vector of a level; 8 for names that are not known.
int vector_lanes(std::string_view level);

}  // namespace tilewright::tile
