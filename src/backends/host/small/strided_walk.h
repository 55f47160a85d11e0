// The iteration space of a launch over several strided operands: dims of one element dropped, dims ordered as operand 0
// lies in memory, neighbours merged where every operand allows it. Plain data, so that it travels in parameters.
#pragma once

#include <algorithm>
#include <cstdint>
#include <thread>

#include "tensor/shape.h"

namespace tilewright::backends::host {

template <int kOperands>
struct Walk {
  std::int64_t total = 1;
  int rank = 1;  // at least 1; the last dim is the inner one
  std::int64_t extent[kMaxRank] = {1};
  std::int64_t stride[kOperands][kMaxRank] = {};  // elements
  std::int64_t inner() const { return extent[rank - 1]; }
  std::int64_t inner_stride(int operand) const { return stride[operand][rank - 1]; }
};

// `strides[k]` are operand k's in dims of `shape`. A space of one element gets inner strides of 1.
template <int kOperands>
Walk<kOperands> collapse(const Shape& shape, const Strides* strides, int operands) {
  Walk<kOperands> walk;
  walk.total = shape.elements();
  int order[kMaxRank];
  int count = 0;
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i] == 1) continue;
    int at = count++;
    for (; at > 0 && strides[0][order[at - 1]] < strides[0][i]; --at) order[at] = order[at - 1];
    order[at] = i;
  }
  int rank = 0;
  for (int k = 0; k < count; ++k) {
    const int dim = order[k];
    bool merges = rank > 0;
    for (int operand = 0; merges && operand < operands; ++operand)
      merges = walk.stride[operand][rank - 1] == strides[operand][dim] * shape[dim];
    if (!merges) walk.extent[rank++] = 1;
    walk.extent[rank - 1] *= shape[dim];
    for (int operand = 0; operand < operands; ++operand) walk.stride[operand][rank - 1] = strides[operand][dim];
  }
  if (rank == 0) {
    rank = 1;
    for (int operand = 0; operand < operands; ++operand) walk.stride[operand][0] = 1;
  }
  walk.rank = rank;
  return walk;
}

// A place in a walk.
struct Cursor {
  std::int64_t at[kMaxRank];

  template <int kOperands>
  Cursor(const Walk<kOperands>& walk, std::int64_t position) {
    for (int i = walk.rank - 1; i > 0; --i) {
      at[i] = position % walk.extent[i];
      position /= walk.extent[i];
    }
    at[0] = position;
  }
  template <int kOperands>
  std::int64_t offset(const Walk<kOperands>& walk, int operand) const {
    std::int64_t out = 0;
    for (int i = 0; i < walk.rank; ++i) out += at[i] * walk.stride[operand][i];
    return out;
  }
  // Elements up to the end of the inner dim.
  template <int kOperands>
  std::int64_t segment(const Walk<kOperands>& walk) const {
    return walk.extent[walk.rank - 1] - at[walk.rank - 1];
  }
  // `count` is at most segment().
  template <int kOperands>
  void advance(const Walk<kOperands>& walk, std::int64_t count) {
    int i = walk.rank - 1;
    at[i] += count;
    for (; i > 0 && at[i] >= walk.extent[i]; --i) {
      at[i] = 0;
      ++at[i - 1];
    }
  }
};

// Calls f(offsets, n, rows) until [begin, end) of the walk is covered: `rows` runs of n elements along the inner dim,
// the runs one step of the dim before it apart. `offsets` are every operand's first element.
template <int kOperands, typename F>
void for_each_run(const Walk<kOperands>& walk, int operands, std::int64_t begin, std::int64_t end, F&& f) {
  if (begin >= end) return;
  Cursor cursor(walk, begin);
  std::int64_t offset[kOperands];
  for (int k = 0; k < operands; ++k) offset[k] = cursor.offset(walk, k);
  const int inner = walk.rank - 1;
  const std::int64_t line = walk.extent[inner];
  while (true) {
    const std::int64_t left = end - begin;
    if (inner == 0 || cursor.at[inner] != 0 || left < line) {  // part of a line
      const std::int64_t n = std::min(left, cursor.segment(walk));
      f(static_cast<const std::int64_t*>(offset), n, std::int64_t{1});
      begin += n;
      if (begin >= end) return;
      for (int k = 0; k < operands; ++k)
        offset[k] += walk.stride[k][inner - 1] - cursor.at[inner] * walk.stride[k][inner];
      cursor.at[inner] = 0;
      ++cursor.at[inner - 1];
    } else {
      const std::int64_t rows = std::min(left / line, walk.extent[inner - 1] - cursor.at[inner - 1]);
      f(static_cast<const std::int64_t*>(offset), line, rows);
      begin += rows * line;
      if (begin >= end) return;
      for (int k = 0; k < operands; ++k) offset[k] += rows * walk.stride[k][inner - 1];
      cursor.at[inner - 1] += rows;
    }
    for (int dim = inner - 1; dim > 0 && cursor.at[dim] == walk.extent[dim]; --dim) {
      for (int k = 0; k < operands; ++k) offset[k] += walk.stride[k][dim - 1] - cursor.at[dim] * walk.stride[k][dim];
      cursor.at[dim] = 0;
      ++cursor.at[dim - 1];
    }
  }
}

// How many elements a block takes: large work is cut in eight for each processor, so that threads read and write long
// runs of memory; no block is below 64 KiB, so that tiny work is one. Blocks are of about one size.
inline std::int64_t block_elements(std::int64_t total, std::int64_t bytes_per_element, std::uint32_t& grid) {
  static const std::int64_t most_blocks = 8 * std::max(1u, std::thread::hardware_concurrency());
  const std::int64_t bytes = std::clamp<std::int64_t>(total * bytes_per_element / most_blocks, 65536, 1048576);
  const std::int64_t target = std::max<std::int64_t>(bytes / std::max<std::int64_t>(bytes_per_element, 1), 1024);
  const std::int64_t blocks = (total + target - 1) / target;
  grid = static_cast<std::uint32_t>(blocks);
  if (blocks <= 1) return total;
  const std::int64_t each = ((total + blocks - 1) / blocks + 63) / 64 * 64;
  grid = static_cast<std::uint32_t>((total + each - 1) / each);
  return each;
}

}  // namespace tilewright::backends::host
