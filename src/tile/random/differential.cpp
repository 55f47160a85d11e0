#include "tile/random/differential.h"

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"
#include "tile/interp/error_bound.h"
#include "tile/random/random_program.h"

namespace tilewright::tile {
namespace {

std::string compare_tensor(const TileCase& tile_case, int tensor, const ErrorBound& bound, const CaseMemory& actual,
                           Compared& compared) {
  const std::string& name = tile_case.program.tensor(tensor).name;
  const auto& written = bound.written(tensor);
  for (std::int64_t at = 0; at < actual.span(tensor); ++at) {
    if (!actual.belongs(tensor, at)) continue;
    const auto entry = written.find(at);
    if (entry == written.end()) {
      if (actual.written(tensor, at)) return fmt::format("element {} of {} is written, but must not be", at, name);
      continue;
    }
    const auto& [value, error] = entry->second;
    if (!std::isfinite(error)) {
      ++compared.unknown;
      continue;
    }
    ++(error == 0 ? compared.exact : compared.bounded);
    const double found = actual.value(tensor, at);
    const bool same = std::isnan(value) ? std::isnan(found) : value == found || std::fabs(value - found) <= error;
    if (!same)
      return fmt::format("element {} of {}: {} instead of {}, which may be off by {}", at, name, found, value, error);
  }
  return "";
}

}  // namespace

std::string difference(const TileCase& tile_case, const Subject& subject, Compared* compared) {
  const Program program = with_chosen_tiles(tile_case.program, 1);
  const CaseMemory expected(tile_case), actual(tile_case);
  ErrorBound bound(program);
  try {
    interpret(program, expected.arguments(), &bound);
  } catch (const Error& error) {
    return fmt::format("the interpreter refuses it: {}", error.what());
  }
  if (const std::string damage = expected.damage(); !damage.empty()) return "the interpreter: " + damage;
  try {
    subject(tile_case, program, actual);
  } catch (const Error& error) {
    return fmt::format("an error: {}", error.what());
  }
  if (const std::string damage = actual.damage(); !damage.empty()) return damage;
  Compared seen;
  for (int i = 0; i < static_cast<int>(program.tensors.size()); ++i)
    if (program.tensor(i).access == Access::write)
      if (const std::string text = compare_tensor(tile_case, i, bound, actual, seen); !text.empty()) return text;
  if (compared) compared->add(seen);
  return "";
}

Subject interpreted(std::function<Program(const Program&)> change) {
  return [change = std::move(change)](const TileCase&, const Program& program, const CaseMemory& memory) {
    interpret(change(program), memory.arguments());
  };
}

}  // namespace tilewright::tile
