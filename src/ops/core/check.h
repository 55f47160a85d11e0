// What schemas say when an argument does not fit: one form for every operator.
#pragma once

#include <string>

#include "ops/core/op.h"

namespace tilewright::ops {

// Throws Error naming the op, the input, `expected` and what was given.
[[noreturn]] void refuse_input(const OpCall& call, int input, const std::string& expected);

// Input `input` is there and strided, of this rank.
void expect_rank(const OpCall& call, int input, int rank);
void expect_rank_at_least(const OpCall& call, int input, int rank);
void expect_shape(const OpCall& call, int input, const Shape& shape);
// f32, f16 or bf16.
void expect_float(const OpCall& call, int input);
void expect_dtype(const OpCall& call, int input, DType dtype);

}  // namespace tilewright::ops
