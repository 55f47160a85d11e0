// Random tile programs, each execution against the interpreter: before and after every pass of lower(), compiled code,
// and planted faults that must be found.
//
//   tile_differential --seeds 0..500                 every check on every program
//   tile_differential --planted NAME|all [--cap N]   seeds from the first on until the fault is found
//   options: --subject passes|compiled|all (default all), --level avx2|… (default: this processor's levels by turns),
//            --compile-options "…", --nodes N (size of programs), --coverage (nodes per OpCode, rewrites per pass),
//            --no-shrink, --show (print the program of each seed)
//
// A failure prints the seed, what differs, and the smallest program that still fails. Exit code 1 if something failed,
// or a planted fault was not found.
#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "tile/passes/lower.h"
#include "tile/random/coverage.h"
#include "tile/random/differential.h"
#include "tile/random/planted.h"
#include "tile/random/random_program.h"
#include "tile/random/shrink.h"
#include "tile_compiled.h"

namespace tilewright::tile {
namespace {

struct Options {
  std::uint64_t first = 0, last = 199;
  std::int64_t cap = 10000;
  std::string planted, subject = "all", level, compile_options;
  bool passes() const { return subject != "compiled"; }
  bool compiles() const { return subject != "passes"; }
  bool coverage = false, show = false, shrinks = true;
  RandomLimits limits;
};

struct Check {
  std::string name;
  Subject subject;
};

// The program after the first `count` passes. Choosing a tile may change what a program means (a loop then has another
// number of iterations), so that choose_tiles is told the sizes that the interpreter has.
Subject after_passes(std::size_t count) {
  return [count](const TileCase& tile_case, const Program& chosen, const CaseMemory& memory) {
    LowerOptions options;
    for (const TileParameter& tile : chosen.tiles) options.tiles[tile.name] = tile.chosen;
    Program program = tile_case.program;
    for (std::size_t i = 0; i < count; ++i) program = lower_passes()[i].run(std::move(program), options);
    interpret(lower_passes()[0].name == "choose_tiles" ? program : with_chosen_tiles(program, 1), memory.arguments());
  };
}

// The level that takes its turn.
std::string level_of(const Options& options, std::uint64_t seed) {
  if (!options.level.empty()) return options.level;
  const std::vector<std::string> levels = compiled_levels();
  return levels[static_cast<std::size_t>(seed) % levels.size()];
}

std::vector<Check> checks_of(const Options& options, std::uint64_t seed) {
  std::vector<Check> checks;
  if (options.compiles() && !compiled_levels().empty()) {
    const std::string level = level_of(options, seed);
    checks.push_back({"compiled for " + level, compiled(level, options.compile_options)});
  }
  if (!options.passes()) return checks;
  for (std::size_t i = 0; i < lower_passes().size(); ++i)
    checks.push_back({fmt::format("after pass {}", lower_passes()[i].name), after_passes(i + 1)});
  return checks;
}

void report(std::uint64_t seed, const TileCase& found, const Check& check, const std::string& what,
            const Options& options) {
  fmt::print("seed {}: {}: {}\n", seed, check.name, what);
  if (!options.shrinks) return;
  const TileCase small = shrink(found, [&](const TileCase& c) {
    const std::string text = difference(c, check.subject);
    return !text.empty() && !text.starts_with("the interpreter");
  });
  fmt::print("{} nodes of {} are left: {}\n{}\n", live_nodes(small.program), live_nodes(found.program),
             difference(small, check.subject), case_text(small));
  std::fflush(stdout);
}

void count_passes(Coverage& coverage, const TileCase& tile_case) {
  Program program = tile_case.program;
  for (const LowerPass& pass : lower_passes()) {
    Program after = pass.run(program, {});
    coverage.pass(std::string(pass.name), program, after);
    program = std::move(after);
  }
}

int run_seeds(const Options& options) {
  if (options.compiles() && compiled_levels().empty())
    fmt::print("nothing can be compiled here (lib/libtilewright_llvm.so is missing): compiled code is not checked\n");
  std::size_t checked = 0;
  Coverage coverage;
  Compared compared;
  int failures = 0;
  for (std::uint64_t seed = options.first; seed <= options.last; ++seed) {
    const TileCase tile_case = random_case(seed, options.limits);
    if (options.show) fmt::print("{}\n", case_text(tile_case));
    coverage.add(tile_case.program);
    if (options.coverage) count_passes(coverage, tile_case);
    for (const Check& check : checks_of(options, seed)) {
      ++checked;
      if (const std::string what = difference(tile_case, check.subject, &compared); !what.empty()) {
        report(seed, tile_case, check, what, options);
        if (++failures == 5) {
          fmt::print("five failures; the rest is not run\n");
          return 1;
        }
        break;
      }
    }
  }
  if (options.coverage) fmt::print("{}", coverage.text());
  fmt::print("{} programs, {} checks: {} failures; elements exact {}, within a bound {}, not judged {}\n",
             coverage.programs, checked, failures, compared.exact, compared.bounded, compared.unknown);
  return failures > 0 ? 1 : 0;
}

int find_fault(const std::string& name, bool in_code, const Options& options) {
  for (std::uint64_t seed = options.first; seed < options.first + static_cast<std::uint64_t>(options.cap); ++seed) {
    const TileCase tile_case = random_case(seed, options.limits);
    const Check check{"planted " + name,
                      in_code ? compiled(level_of(options, seed), "fault=" + name) : with_planted_fault(name)};
    const std::string what = difference(tile_case, check.subject);
    if (what.empty()) continue;
    // A fault of our own is not the planted one.
    if (in_code && !difference(tile_case, compiled(level_of(options, seed))).empty()) continue;
    report(seed, tile_case, check, what, options);
    fmt::print("{} in {} found by program {}\n\n", name, in_code ? "code" : "the program", seed - options.first + 1);
    return 0;
  }
  fmt::print("{} NOT found by {} programs\n", name, options.cap);
  return 1;
}

int run(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto value = [&]() -> std::string { return i + 1 < argc ? argv[++i] : ""; };
    if (word == "--coverage") {
      options.coverage = true;
    } else if (word == "--show") {
      options.show = true;
    } else if (word == "--no-shrink") {
      options.shrinks = false;
    } else if (word == "--planted") {
      options.planted = value();
    } else if (word == "--subject") {
      options.subject = value();
    } else if (word == "--level") {
      options.level = value();
    } else if (word == "--compile-options") {
      options.compile_options = value();
    } else if (word == "--nodes") {
      options.limits.nodes = std::stoi(value());
    } else if (word == "--cap") {
      options.cap = std::stoll(value());
    } else if (word == "--seeds") {
      const std::string range = value();
      options.first = options.last = std::stoull(range);
      if (const auto dots = range.find(".."); dots != std::string::npos)
        options.last = std::stoull(range.substr(dots + 2));
    } else {
      fail({.what = "an option is not known",
            .expected = "--seeds A..B, --planted NAME, --subject S, --level L, --compile-options O, --cap N, "
                        "--coverage, --show, --no-shrink",
            .found = word,
            .fix = "see the head of fuzz/tile_differential.cpp"});
    }
  }
  if (options.planted.empty()) return run_seeds(options);
  int missed = 0;
  for (const std::string& name : planted_faults())
    for (const bool in_code : {false, true})
      if ((in_code ? options.compiles() && !compiled_levels().empty() : options.passes()) &&
          (options.planted == "all" || options.planted == name))
        missed += find_fault(name, in_code, options);
  return missed > 0 ? 1 : 0;
}

}  // namespace
}  // namespace tilewright::tile

int main(int argc, char** argv) {
  try {
    return tilewright::tile::run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 2;
  }
}
