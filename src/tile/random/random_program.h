// A random program that keeps every rule of docs/tile-language.md, with arguments it accepts. The same seed gives the
// same case on every machine. Every OpCode occurs within a few hundred seeds (tests/tile_fuzz counts them).
#pragma once

#include <cstdint>

#include "tile/random/tile_case.h"

namespace tilewright::tile {

struct RandomLimits {
  int nodes = 90;               // about; leaves are written once this many exist
  std::int64_t area = 1100;     // elements of a tile
  bool tile_parameters = true;  // some tile sizes are left to choose_tiles (chosen = 0)
};

TileCase random_case(std::uint64_t seed, const RandomLimits& limits = {});

// A copy whose tile parameters have sizes, each picked among its choices by `seed`.
Program with_chosen_tiles(const Program& program, std::uint64_t seed);

}  // namespace tilewright::tile
