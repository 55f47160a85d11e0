// Which calls share one decision of what is fastest.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ops/core/op.h"

namespace tilewright::ops {

// Rows are told apart as 1, 2 to 4, 5 to 16, and then by powers of two: the upper border of n's class.
std::int64_t row_class(std::int64_t n);

// "rms_norm bf16[~1,~512,2048]c bf16[2048]c": op, then every input with dtype, extents and how it lies in memory (c:
// contiguous, s: columns with stride 1, x: other; or the name of a packed layout; "-": not given), then attributes that
// are no floating numbers. Extents that a longer prompt or a larger batch changes are classes and marked ~: all but the
// last one of a tensor, except heads ([batch, heads, rows, width]); the last one where it counts keys. Outputs need not
// be known.
std::string call_class(const OpCall& call);

// A class without its ~ extents, and these: classes of one form differ by them alone.
struct ClassForm {
  std::string form;
  std::vector<std::int64_t> extents;
};
ClassForm class_form(std::string_view text);
// How far apart two classes of one form are, in powers of two; infinite where they are not to be compared: single rows
// with several, or more than a factor of sixteen in one extent.
double class_distance(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b);

// A number for the exact geometry (dtypes, layouts, extents, strides, attributes that are no floating numbers).
std::uint64_t geometry_hash(const OpCall& call);

}  // namespace tilewright::ops
