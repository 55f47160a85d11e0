// Elementary functions of f32 vectors (or one float) without branches (but for sines of
// 2^47 and more). Nothing is called.
//
// Errors against the exact value in units of the last place of f32, checked over the whole range by tests/tile_llvm
// (results below 2^-126 in magnitude: that many times 2^-126 · 2^-23, or, of exp and sigmoid, 2^-125, of silu and
// gelu_tanh 2^-119, at all):
//   sqrt, reciprocal 0.5; rsqrt, exp, log, tanh, sigmoid, silu 3; sin, cos 3;
//   erf 6; gelu_tanh 8 and gelu 8, both of the last place of x/2, as their formulas cancel for negative x.
// NaN gives NaN; infinities give the limits, or NaN where the formula has none (sin, silu(-inf)).
#pragma once

#include "tile/ir/opcode.h"
#include "tile/llvm/emitter.h"

namespace tilewright::tile::llvm_back_end {

// `op`: neg … gelu_tanh of f32, neg and abs of i32 too.
llvm::Value* emit_unary(Emitter& emitter, OpCode op, llvm::Value* x);
// e^x of x that are NaN, at most zero, or a rounding above. ln2 is taken off in one step, whose rounding counts up to
// 126 times: the error grows from 3 units of the last place to 6 where results are smallest (4.9 were measured).
llvm::Value* emit_exponential_to_one(Emitter& emitter, llvm::Value* x);
// `a` or `b`; `b` where either is NaN (f32).
llvm::Value* emit_larger_number(Emitter& emitter, llvm::Value* a, llvm::Value* b);
// NaN if either is.
llvm::Value* emit_maximum(Emitter& emitter, llvm::Value* a, llvm::Value* b);
llvm::Value* emit_minimum(Emitter& emitter, llvm::Value* a, llvm::Value* b);

}  // namespace tilewright::tile::llvm_back_end
