#include "tile/ir/opcode.h"

#include <array>

namespace tilewright::tile {
namespace {

constexpr std::array<std::string_view, kOpCodes> kNames = {"index.constant",
                                                           "index.dim",
                                                           "index.scalar",
                                                           "index.load",
                                                           "index.add",
                                                           "index.sub",
                                                           "index.mul",
                                                           "index.div",
                                                           "index.mod",
                                                           "index.min",
                                                           "index.max",
                                                           "constant",
                                                           "scalar",
                                                           "from_index",
                                                           "iota",
                                                           "view",
                                                           "gather",
                                                           "neg",
                                                           "abs",
                                                           "exp",
                                                           "log",
                                                           "sqrt",
                                                           "rsqrt",
                                                           "reciprocal",
                                                           "sin",
                                                           "cos",
                                                           "tanh",
                                                           "erf",
                                                           "sigmoid",
                                                           "silu",
                                                           "gelu",
                                                           "gelu_tanh",
                                                           "not",
                                                           "cast",
                                                           "add",
                                                           "sub",
                                                           "mul",
                                                           "div",
                                                           "minimum",
                                                           "maximum",
                                                           "eq",
                                                           "ne",
                                                           "lt",
                                                           "le",
                                                           "gt",
                                                           "ge",
                                                           "and",
                                                           "or",
                                                           "where",
                                                           "broadcast",
                                                           "slice",
                                                           "concat",
                                                           "transpose",
                                                           "reshape",
                                                           "restrict",
                                                           "sum",
                                                           "max",
                                                           "mean",
                                                           "matmul",
                                                           "top_k",
                                                           "loop",
                                                           "loop_variable",
                                                           "carried",
                                                           "result",
                                                           "is_first",
                                                           "is_last",
                                                           "assemble"};

}  // namespace

std::string_view opcode_name(OpCode op) { return kNames[static_cast<std::size_t>(op)]; }

std::optional<OpCode> opcode_from_name(std::string_view name) {
  for (int i = 0; i < kOpCodes; ++i)
    if (kNames[static_cast<std::size_t>(i)] == name) return static_cast<OpCode>(i);
  return std::nullopt;
}

}  // namespace tilewright::tile
