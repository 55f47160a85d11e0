#include "tile/passes/choose_tiles.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "tile/cost/buffers.h"
#include "tile/ir/substitute.h"
#include "tile/passes/fuse.h"

namespace tilewright::tile {
namespace {

constexpr int kMostRounds = 4;          // of improving one parameter after the other
constexpr std::size_t kAllAtOnce = 64;  // combinations that are all tried

void check_overrides(const Program& program, const std::map<std::string, std::int64_t>& overrides) {
  for (const auto& [name, size] : overrides) {
    const std::string& wanted = name;
    const auto tile = std::find_if(program.tiles.begin(), program.tiles.end(),
                                   [&](const TileParameter& one) { return one.name == wanted; });
    std::vector<std::string> names;
    for (const TileParameter& one : program.tiles) names.push_back(one.name);
    if (tile == program.tiles.end())
      fail({.what = "a tile size is set that the program does not have",
            .where = fmt::format("tile program {}", program.name),
            .expected =
                names.empty() ? "none: all its tiles are fixed" : fmt::format("one of {}", fmt::join(names, ", ")),
            .found = name,
            .fix = "leave it out"});
    if (std::find(tile->choices.begin(), tile->choices.end(), size) == tile->choices.end())
      fail({.what = fmt::format("tile {} cannot have this size", name),
            .where = fmt::format("tile program {}", program.name),
            .expected = fmt::format("one of {}", fmt::join(tile->choices, ", ")),
            .found = std::to_string(size),
            .fix = "use one of its choices"});
  }
}

struct Candidate {
  std::vector<std::int64_t> sizes;
  bool fits = false;
  double seconds = 0;
  // Faster, or as fast and larger; what fits goes first.
  bool better_than(const Candidate& other) const {
    if (fits != other.fits) return fits;
    if (std::abs(seconds - other.seconds) > 0.01 * other.seconds) return seconds < other.seconds;
    return sizes > other.sizes;
  }
};

}  // namespace

Program choose_tiles(Program program, const TileTarget& target, const CostQuestion& question,
                     const std::map<std::string, std::int64_t>& overrides) {
  check_overrides(program, overrides);
  if (program.tiles.empty()) return program;
  std::vector<std::vector<std::int64_t>> choices;
  std::size_t all = 1;
  for (const TileParameter& tile : program.tiles) {
    const auto set = overrides.find(tile.name);
    if (set != overrides.end())
      choices.push_back({set->second});
    else if (tile.chosen != 0)
      choices.push_back({tile.chosen});
    else
      choices.push_back(tile.choices);
    all = std::min<std::size_t>(all * choices.back().size(), kAllAtOnce + 1);
  }
  const auto judge = [&](std::vector<std::int64_t> sizes) {
    const Program chosen = with_tiles(program, sizes);
    const TileCost cost = predict_cost(chosen, target, question);
    // Where only stored tiles count, it takes fuse to say which these are.
    const std::int64_t bytes = target.only_stored ? buffer_table(fuse(chosen), target).peak : cost.buffer_bytes;
    return Candidate{std::move(sizes), bytes <= target.buffer_bytes, cost.seconds};
  };
  std::vector<std::int64_t> sizes;
  for (const auto& list : choices) sizes.push_back(list.front());
  Candidate best = judge(sizes);
  if (all <= kAllAtOnce) {
    std::vector<std::size_t> at(choices.size(), 0);
    for (std::size_t i = 0; i < at.size();) {
      if (++at[i] == choices[i].size()) {
        at[i++] = 0;
        continue;
      }
      i = 0;
      for (std::size_t t = 0; t < at.size(); ++t) sizes[t] = choices[t][at[t]];
      Candidate candidate = judge(sizes);
      if (candidate.better_than(best)) best = std::move(candidate);
    }
  } else {
    for (int round = 0; round < kMostRounds; ++round) {
      const std::vector<std::int64_t> before = best.sizes;
      for (std::size_t t = 0; t < choices.size(); ++t)
        for (const std::int64_t choice : choices[t]) {
          sizes = best.sizes;
          sizes[t] = choice;
          Candidate candidate = judge(sizes);
          if (candidate.better_than(best)) best = std::move(candidate);
        }
      if (best.sizes == before) break;
    }
  }
  Program out = with_tiles(program, best.sizes);
  if (!best.fits) check_budget(out, target, &program);
  return out;
}

}  // namespace tilewright::tile
