#include "tile/verify/verify.h"

#include <fmt/format.h>

#include "tile/ir/type_rule.h"

namespace tilewright::tile {

std::string describe(const Program& program, ValueId id) {
  return fmt::format("{} %{}", opcode_name(program.node(id).op), id);
}

void verify(const Program&) {}

}  // namespace tilewright::tile
