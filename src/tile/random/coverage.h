// What random programs consist of: nodes per OpCode, and how often each pass changed a program.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>

#include "tile/ir/program.h"

namespace tilewright::tile {

struct Coverage {
  std::int64_t programs = 0;
  std::array<std::int64_t, kOpCodes> nodes{};
  std::map<std::string, std::int64_t> features;  // "parallel loop", "column tail", …
  std::map<std::string, std::int64_t> passes;    // programs that the pass changed
  std::map<std::string, std::int64_t> rewrites;  // nodes less (dead_code, cse), plans set (fuse, vectorise) …

  void add(const Program& program);
  void pass(const std::string& name, const Program& before, const Program& after);
  // OpCodes that never occurred.
  std::vector<std::string> missing() const;
  std::string text() const;
};

}  // namespace tilewright::tile
