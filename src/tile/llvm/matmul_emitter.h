// c = a · b (+ c) for tiles in memory, by one register tile. f32, f16 or bf16 operands, f32 sums.
//
// b is packed into panels, and a register tile runs over them; products of few rows (m ≤ 8) read b in place and once.
// Every shape becomes one internal function of the module, so that a program with many products stays small.
#pragma once

#include "tile/llvm/emitter.h"

namespace tilewright::tile::llvm_back_end {

// A matrix in memory: element (i, j) at base + (i · row_stride + j) elements. Extents of the tile are known, of its
// valid part only at run time (i64, 0 … extent; constants where all is valid). Nothing may be read or written beyond
// the valid part, except in `padded` matrices (stack scratch): their rows may be read up to a multiple of 64 bytes
// (`row_stride` is one, and `base` is 64-byte aligned), and c may be written there.
// A left operand that is used again and again is best stored (padded, with a constant stride): anything else is copied
// by every product.
struct Matrix {
  llvm::Value* base = nullptr;
  llvm::Value* row_stride = nullptr;  // i64, elements
  DType dtype = DType::f32;
  std::int64_t rows = 0, columns = 0;
  llvm::Value* valid_rows = nullptr;
  llvm::Value* valid_columns = nullptr;
  bool padded = false;
  bool constant = false;  // an input tensor, not stack memory
};

struct Matmul {
  Matrix a;                 // m × k
  Matrix b;                 // k × n, or n × k if `transposed`
  Matrix c;                 // m × n, f32, always stack memory; valid extents are those of the result
  llvm::Value* inner;       // how many products are summed: the valid inner extent, i64
  bool transposed = false;  // b is n × k
  bool accumulate = false;  // else c's former contents are ignored
};

// Never fails; `inner` or an extent of 0 is allowed (sums are then 0, or c as it was).
void emit_matmul(Emitter& emitter, const Matmul& matmul);

// The same in two steps, so that several products share one packed b: those with the same b, n, k and valid columns of
// c, if panel_bytes is not 0. `inner` of the one that packs must be at least that of the others.
std::int64_t panel_bytes(const Emitter& emitter, const Matmul& matmul);      // 0: b is read in place, nothing to pack
void emit_pack(Emitter& emitter, const Matmul& matmul, llvm::Value* panel);  // panel: 64-byte aligned
void emit_product(Emitter& emitter, const Matmul& matmul, llvm::Value* panel);

}  // namespace tilewright::tile::llvm_back_end
