// Checks that the schemas of small operators share. Each throws Error naming the op, the argument, expected and found.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "ops/core/op.h"

namespace tilewright::ops {

[[noreturn]] void fail_argument(const OpCall& call, std::string_view argument, const std::string& expected,
                                const std::string& found);
// At least `least` and at most `most` inputs, the first `least` of them defined.
void require_inputs(const OpCall& call, int least, int most);
void require_dtype(const OpCall& call, int input, std::initializer_list<DType> allowed);
void require_float(const OpCall& call, int input);  // f32, f16 or bf16
void require_index(const OpCall& call, int input);  // i64 or i32
void require_same_dtype(const OpCall& call, int a, int b);
void require_rank(const OpCall& call, int input, int rank);
void require_extent(const OpCall& call, int input, int axis, std::int64_t extent);
// Attribute `dim` made non-negative for an input of that rank (rank 0 counts as 1).
int axis_attribute(const OpCall& call, int rank);
// The same for references, where the call has been checked already.
int axis_of(const Attributes& attributes, int rank);

// Where element [i0, i1, …] of `shape` stands, walked in row-major order; `next` returns false after the last one.
class Index {
 public:
  explicit Index(const Shape& shape) : shape_(shape), at_(Dims::filled(shape.rank(), 0)) {}
  std::int64_t operator[](int axis) const { return at_[axis]; }
  const Dims& dims() const { return at_; }
  std::int64_t offset(const Strides& strides) const;
  bool next();

 private:
  Shape shape_;
  Dims at_;
};

}  // namespace tilewright::ops
