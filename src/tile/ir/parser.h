// Reads a program from the text that ir/printer writes. The text is not trusted: whatever it holds, the result is an
// Error with line and column, or a program whose structure is sound: names resolve, operands are defined before and in
// scope, counts of operands and offsets and all attributes fit the op, and types are those of type_rule.
// What verify/ checks beyond that is left to it.
#pragma once

#include <string>
#include <string_view>

#include "tile/ir/program.h"

namespace tilewright::tile {

// Larger texts and programs are refused.
struct TextLimits {
  static constexpr std::size_t bytes = 16u << 20;
  static constexpr std::size_t nodes = 1u << 14;
  static constexpr std::size_t depth = 32;         // of nested loops
  static constexpr std::size_t names = 256;        // dims, tensors, scalars, tile parameters: of each kind
  static constexpr std::size_t rank = 8;           // of a tensor
  static constexpr std::size_t operands = 256;     // of a node
  static constexpr std::int64_t extent = 1 << 24;  // of a tile
};

// `source` names the text in errors. Values are called %0, %1 … or by any word: %row. `#` begins a comment.
Program parse(std::string_view text, const std::string& source = "tile program text");

}  // namespace tilewright::tile
