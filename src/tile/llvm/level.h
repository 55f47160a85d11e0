// What an instruction-set level gives compiled tile programs.
#pragma once

#include <string_view>

namespace tilewright::tile::llvm_back_end {

struct Level {
  std::string_view name;      // as TILEWRIGHT_ISA takes it
  std::string_view triple;    // of LLVM
  std::string_view cpu;       // baseline of the architecture
  std::string_view features;  // in LLVM's words
  int lanes;                  // f32 values in a vector register
  int registers;              // vector registers
  bool masks;                 // loads and stores of any part of a vector, 8- and 16-bit elements too
  bool bf16;                  // f32 to bf16 conversion and bf16 dot products in hardware
  bool x86;
};

// Throws Error listing the names if there is no such level.
const Level& level_from_name(std::string_view name);

}  // namespace tilewright::tile::llvm_back_end
