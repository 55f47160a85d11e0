#include "tile/verify/verify.h"

#include <fmt/format.h>

#include "base/error.h"
#include "tile/ir/printer.h"
#include "tile/verify/checks.h"

namespace tilewright::tile {

std::string describe(const Program& program, ValueId id) {
  const int number = printed_numbers(program)[static_cast<std::size_t>(id)];
  return fmt::format("{} %{}", opcode_name(program.node(id).op), number == kNone ? "?" : std::to_string(number));
}

void refuse(const Program& program, ValueId id, std::string what, std::string expected, std::string found,
            std::string fix) {
  const std::string node = id == kNone ? "" : ", " + describe(program, id);
  fail({.what = std::move(what),
        .where = fmt::format("tile program {}{}", program.name, node),
        .expected = std::move(expected),
        .found = std::move(found),
        .fix = std::move(fix)});
}

void verify(const Program& program) {
  check_parameters(program);
  check_structure(program);
  IndexForms forms(program);
  check_tensors(program, forms);
  check_extents(program, forms);
  check_loops(program, forms);
  check_parallel(program, forms);
}

}  // namespace tilewright::tile
