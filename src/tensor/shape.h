// Shapes and strides: up to eight dims, held inline, counted in elements.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

namespace tilewright {

inline constexpr int kMaxRank = 8;

// A short list of int64. Used for shapes (all >= 0), strides, permutations. Value semantics, comparable.
class Dims {
 public:
  Dims() = default;
  Dims(std::initializer_list<std::int64_t> values) : Dims(std::span(values.begin(), values.size())) {}
  explicit Dims(std::span<const std::int64_t> values);  // at most kMaxRank of them
  static Dims filled(int rank, std::int64_t value);

  int rank() const { return rank_; }
  std::int64_t operator[](int i) const { return values_[static_cast<std::size_t>(i)]; }
  std::int64_t& operator[](int i) { return values_[static_cast<std::size_t>(i)]; }
  std::int64_t back() const { return values_[static_cast<std::size_t>(rank_ - 1)]; }
  const std::int64_t* begin() const { return values_.data(); }
  const std::int64_t* end() const { return values_.data() + rank_; }
  std::int64_t elements() const;  // product; 1 for rank 0
  void push_back(std::int64_t value);
  void insert(int at, std::int64_t value);
  void erase(int at);
  friend bool operator==(const Dims& a, const Dims& b) {
    if (a.rank_ != b.rank_) return false;
    for (int i = 0; i < a.rank_; ++i)
      if (a[i] != b[i]) return false;
    return true;
  }

 private:
  std::array<std::int64_t, kMaxRank> values_{};
  int rank_ = 0;
};

using Shape = Dims;
using Strides = Dims;

std::string to_string(const Dims& dims);  // "[2, 16, 128]"
Strides contiguous_strides(const Shape& shape);
// Dims of extent 1 may have any stride.
bool is_contiguous(const Shape& shape, const Strides& strides);
// numpy's rule. Throws Error naming both shapes if they do not broadcast.
Shape broadcast_shapes(const Shape& a, const Shape& b);
// Strides of `shape` seen as `target` (0 along broadcast dims). The shapes must broadcast.
Strides broadcast_strides(const Shape& shape, const Strides& strides, const Shape& target);
// Strides of a view of (shape, strides) as `target`, or false if that needs a copy (torch's view rule).
bool view_strides(const Shape& shape, const Strides& strides, const Shape& target, Strides& out);
// -1 stands for the last dim, and so on. Aborts if out of range.
int normal_axis(int axis, int rank);

}  // namespace tilewright
