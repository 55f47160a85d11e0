// Bounds for single elements: what error_bound.h promises, one operation at a time. Each takes operands with their
// bounds and the interpreter's result, and gives the bound of the result. Infinite: nothing is known.
#pragma once

#include <limits>
#include <vector>

#include "tensor/dtype.h"
#include "tile/ir/opcode.h"

namespace tilewright::tile {

inline constexpr double kUnknown = std::numeric_limits<double>::infinity();

struct Approximate {
  double value = 0, error = 0;
};

double unary_error(OpCode op, DType dtype, Approximate a, double result);
double cast_error(DType from, DType to, Approximate a, double result);
double binary_error(OpCode op, DType dtype, Approximate a, Approximate b, double result);
double where_error(Approximate condition, Approximate a, Approximate b);
// Terms added in any order in f32, `roundings` times each; then divided by `divisor` (1: not).
double sum_error(const std::vector<Approximate>& terms, double divisor, double result);
double max_error(const std::vector<Approximate>& terms, double result);
// An error that cannot be stated: beyond the dtype's range, or of a number that is none.
double settled(DType dtype, double result, double error);

}  // namespace tilewright::tile
