#include "tensor/shape.h"

#include <algorithm>

#include "base/error.h"

namespace tilewright {

Dims::Dims(std::span<const std::int64_t> values) {
  TW_CHECK(values.size() <= kMaxRank);
  for (std::int64_t v : values) push_back(v);
}

Dims Dims::filled(int rank, std::int64_t value) {
  Dims out;
  for (int i = 0; i < rank; ++i) out.push_back(value);
  return out;
}

std::int64_t Dims::elements() const {
  std::int64_t n = 1;
  for (std::int64_t v : *this) n *= v;
  return n;
}

void Dims::push_back(std::int64_t value) { insert(rank_, value); }

void Dims::insert(int at, std::int64_t value) {
  TW_CHECK(rank_ < kMaxRank && at >= 0 && at <= rank_);
  for (int i = rank_; i > at; --i) (*this)[i] = (*this)[i - 1];
  (*this)[at] = value;
  ++rank_;
}

void Dims::erase(int at) {
  TW_CHECK(at >= 0 && at < rank_);
  for (int i = at; i + 1 < rank_; ++i) (*this)[i] = (*this)[i + 1];
  --rank_;
}

std::string to_string(const Dims& dims) {
  std::string out = "[";
  for (int i = 0; i < dims.rank(); ++i) out += (i ? ", " : "") + std::to_string(dims[i]);
  return out + "]";
}

Strides contiguous_strides(const Shape& shape) {
  Strides out = Strides::filled(shape.rank(), 1);
  for (int i = shape.rank() - 2; i >= 0; --i) out[i] = out[i + 1] * std::max<std::int64_t>(1, shape[i + 1]);
  return out;
}

bool is_contiguous(const Shape& shape, const Strides& strides) {
  std::int64_t expected = 1;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    if (shape[i] == 0) return true;
    if (shape[i] == 1) continue;
    if (strides[i] != expected) return false;
    expected *= shape[i];
  }
  return true;
}

Shape broadcast_shapes(const Shape& a, const Shape& b) {
  const int rank = std::max(a.rank(), b.rank());
  Shape out = Shape::filled(rank, 1);
  for (int i = 0; i < rank; ++i) {
    const int ia = i - (rank - a.rank()), ib = i - (rank - b.rank());
    const std::int64_t da = ia < 0 ? 1 : a[ia], db = ib < 0 ? 1 : b[ib];
    if (da != db && da != 1 && db != 1)
      fail({.what = "shapes do not broadcast", .where = "", .expected = "equal dims or 1",
            .found = to_string(a) + " and " + to_string(b), .fix = ""});
    out[i] = da == 1 ? db : da;
  }
  return out;
}

Strides broadcast_strides(const Shape& shape, const Strides& strides, const Shape& target) {
  Strides out = Strides::filled(target.rank(), 0);
  const int shift = target.rank() - shape.rank();
  TW_CHECK(shift >= 0);
  for (int i = 0; i < shape.rank(); ++i) out[i + shift] = shape[i] == 1 && target[i + shift] != 1 ? 0 : strides[i];
  return out;
}

bool view_strides(const Shape& shape, const Strides& strides, const Shape& target, Strides& out) {
  if (shape.elements() != target.elements()) return false;
  out = contiguous_strides(target);
  if (shape.elements() == 0) return true;
  int view = target.rank() - 1;
  std::int64_t chunk = 1;  // elements of the current run of source dims that are contiguous with each other
  std::int64_t base = shape.rank() ? strides[shape.rank() - 1] : 1;
  std::int64_t filled = 1;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    chunk *= shape[i];
    const bool ends = i == 0 || (shape[i - 1] != 1 && strides[i - 1] != chunk * base);
    if (!ends) continue;
    while (view >= 0 && (filled < chunk || target[view] == 1)) {
      out[view] = filled * base;
      filled *= target[view--];
    }
    if (filled != chunk) return false;
    if (i > 0) {
      base = strides[i - 1];
      chunk = filled = 1;
    }
  }
  return view < 0;
}

int normal_axis(int axis, int rank) {
  const int out = axis < 0 ? axis + rank : axis;
  TW_CHECK(out >= 0 && out < rank);
  return out;
}

}  // namespace tilewright
