#include "tile/llvm/matmul_emitter.h"

namespace tilewright::tile::llvm_back_end {

// One element after the other: correct, not fast.
void emit_matmul(Emitter& emitter, const Matmul& matmul) {
  llvm::IRBuilder<>& b = emitter.builder;
  const auto place = [&](const Matrix& matrix, llvm::Value* row, llvm::Value* column) {
    return emitter.at(matrix.base, b.CreateAdd(b.CreateMul(row, matrix.row_stride), column), matrix.dtype);
  };
  const auto value = [&](const Matrix& matrix, llvm::Value* row, llvm::Value* column) {
    llvm::Value* raw = emitter.load(matrix.dtype, place(matrix, row, column), {}, matrix.constant);
    return emitter.cast(raw, matrix.dtype, DType::f32);
  };
  llvm::Value* zero = emitter.number(0);
  emitter.loop("matmul_row", zero, matmul.c.valid_rows, 1, [&](llvm::Value* row) {
    emitter.loop("matmul_column", zero, matmul.c.valid_columns, 1, [&](llvm::Value* column) {
      llvm::Value* to = place(matmul.c, row, column);
      const Variable sum = emitter.variable(
          b.getFloatTy(), matmul.accumulate ? emitter.load(DType::f32, to, {}, false) : emitter.real(0));
      emitter.loop("matmul_inner", zero, matmul.inner, 1, [&](llvm::Value* k) {
        llvm::Value* other = matmul.transposed ? value(matmul.b, column, k) : value(matmul.b, k, column);
        emitter.set(sum, b.CreateFAdd(emitter.get(sum), b.CreateFMul(value(matmul.a, row, k), other)));
      });
      emitter.store(DType::f32, emitter.get(sum), to, {});
    });
  });
}

}  // namespace tilewright::tile::llvm_back_end
