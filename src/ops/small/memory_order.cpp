#include "ops/small/memory_order.h"

#include <algorithm>
#include <array>

namespace tilewright::ops {
namespace {

using runtime::Tensor;

// True if the elements fill a block of memory without gaps or overlap, in any order of the dims.
bool dense(const Shape& shape, const Strides& strides) {
  std::array<int, kMaxRank> order{};  // dims by growing stride
  int count = 0;
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i] == 1) continue;
    int at = count++;
    for (; at > 0 && strides[order[static_cast<std::size_t>(at - 1)]] > strides[i]; --at)
      order[static_cast<std::size_t>(at)] = order[static_cast<std::size_t>(at - 1)];
    order[static_cast<std::size_t>(at)] = i;
  }
  std::int64_t expected = 1;
  for (int k = 0; k < count; ++k) {
    const int i = order[static_cast<std::size_t>(k)];
    if (strides[i] != expected) return false;
    expected *= shape[i];
  }
  return true;
}

// Strides of the operand in the output's dims; 0 where it is broadcast.
Strides aligned_strides(const Shape& shape, const Tensor& operand) {
  Strides out = Dims::filled(shape.rank(), 0);
  const int shift = shape.rank() - operand.rank();
  for (int i = 0; i < operand.rank(); ++i) {
    const bool broadcast = operand.shape()[i] == 1 && shape[i + shift] != 1;
    out[i + shift] = broadcast ? 0 : operand.strides()[i];
  }
  return out;
}

}  // namespace

Strides elementwise_strides(const Shape& shape, std::span<const Tensor> operands) {
  bool all_contiguous = true;  // and of the output's shape
  bool all_same = true;        // same shape and strides, dense
  const Tensor* first = nullptr;
  for (const Tensor& t : operands) {
    if (!t.defined()) continue;
    if (!first) first = &t;
    const bool full = t.shape() == shape;
    all_contiguous = all_contiguous && full && t.contiguous();
    all_same = all_same && full && t.strides() == first->strides();
  }
  if (all_contiguous || !first || shape.rank() < 2) return contiguous_strides(shape);
  if (all_same && dense(shape, first->strides())) return first->strides();

  std::array<Strides, 4> strides;
  std::size_t count = 0;
  for (const Tensor& t : operands)
    if (t.defined() && count < strides.size()) strides[count++] = aligned_strides(shape, t);
  // > 0: dim `inner` moves slower in memory than `outer`, swap them; < 0: in order; 0: not told apart.
  const auto compare = [&](int inner, int outer) {
    for (std::size_t k = 0; k < count; ++k) {
      const std::int64_t a = strides[k][inner], b = strides[k][outer];
      if (a == 0 || b == 0) continue;
      if (a != b) return a < b ? -1 : 1;
      if (shape[inner] > shape[outer]) return 1;
    }
    return 0;
  };
  const int rank = shape.rank();
  std::array<int, kMaxRank> order{};  // fastest first
  for (int i = 0; i < rank; ++i) order[static_cast<std::size_t>(i)] = rank - 1 - i;
  for (int i = 1; i < rank; ++i) {
    int moving = i;
    for (int j = i - 1; j >= 0; --j) {
      const int told = compare(order[static_cast<std::size_t>(j)], order[static_cast<std::size_t>(moving)]);
      if (told < 0) break;
      if (told > 0) {
        std::swap(order[static_cast<std::size_t>(j)], order[static_cast<std::size_t>(moving)]);
        moving = j;
      }
    }
  }
  Strides out = Dims::filled(rank, 0);
  std::int64_t stride = 1;
  for (int i = 0; i < rank; ++i) {
    out[order[static_cast<std::size_t>(i)]] = stride;
    stride *= std::max<std::int64_t>(shape[order[static_cast<std::size_t>(i)]], 1);
  }
  return out;
}

}  // namespace tilewright::ops
