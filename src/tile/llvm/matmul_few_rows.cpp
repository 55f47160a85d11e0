// Products of few rows, with b read once and in place: decode's attention is bound by reading the cache.
#include <algorithm>

#include "tile/llvm/matmul_parts.h"

namespace tilewright::tile::llvm_back_end::product {
namespace {

std::size_t size(std::int64_t i) { return static_cast<std::size_t>(i); }

// How many rows of b ahead of use memory is asked for: what is on its way while a core reads at its full rate.
std::int64_t rows_ahead(const Code& c, std::int64_t columns) {
  constexpr std::int64_t kBytes = 4096;
  return std::max<std::int64_t>(2, kBytes / (columns * c.element_size()));
}

// Rows of a; those beyond m repeat the last valid one, so that nothing else is read. There is at least one.
std::vector<Value*> rows_of(Code& c, const Shape& shape, const Parts& p) {
  std::vector<Value*> rows;
  Value* last = c.add(p.m, -1);
  for (std::int64_t row = 0; row < shape.m; ++row) {
    Value* index = shape.a_padded ? c.number(row) : c.smaller(c.number(row), last);
    rows.push_back(c.at(p.a, c.mul(index, p.a_stride), c.element_size()));
  }
  return rows;
}

// `vectors` vectors of columns from `column` on; `left` columns exist (null: all).
void columns(Code& c, const Shape& shape, const Parts& p, const std::vector<Value*>& a_rows, Value* column, int vectors,
             Value* left) {
  const int lanes = c.s.lanes;
  std::vector<Value*> masks;
  for (int v = 0; v < vectors; ++v)
    masks.push_back(left ? c.mask_below(c.sub(left, c.number(v * lanes)), lanes) : nullptr);
  Value* from = c.at(p.b, column, c.element_size());
  Value* out = c.at(p.out, column, 4);
  const auto place = [&](std::int64_t row, int v) { return c.at(out, row * shape.c_stride + v * lanes, 4); };
  std::vector<Value*> sums;
  for (std::int64_t row = 0; row < shape.m; ++row)
    for (int v = 0; v < vectors; ++v)
      sums.push_back(shape.accumulate ? c.load(c.floats(), place(row, v), masks[size(v)], 4) : c.zeros());

  Value* ahead = c.mul(p.b_stride, rows_ahead(c, shape.n));
  const auto prefetch = [&](Value* row) {
    for (std::int64_t byte = 0; byte < vectors * lanes * c.element_size(); byte += 64) c.prefetch(c.at(row, byte, 1));
  };
  if (!c.s.pairs) {
    sums = c.loop(c.number(0), p.k, 1, sums, [&](Value* k, std::vector<Value*> sum) {
      Value* row = c.at(from, c.mul(k, p.b_stride), c.element_size());
      if (!left) prefetch(c.at(row, ahead, c.element_size()));
      std::vector<Value*> right;
      for (int v = 0; v < vectors; ++v)
        right.push_back(c.load_floats(c.at(row, v * lanes, c.element_size()), masks[size(v)]));
      for (std::size_t i = 0; i < a_rows.size(); ++i) {
        Value* left_value = c.splat(c.load_one(c.at(a_rows[i], k, c.element_size())));
        for (int v = 0; v < vectors; ++v) {
          Value*& value = sum[i * size(vectors) + size(v)];
          value = c.multiply_add(left_value, right[size(v)], value);
        }
      }
      return sum;
    });
  } else {
    llvm::Type* half = c.vector_of(c.b.getInt16Ty(), lanes);
    const auto step = [&](Value* k, std::vector<Value*> sum, bool two) {
      Value* row = c.at(from, c.mul(k, p.b_stride), 2);
      Value* second = c.at(row, p.b_stride, 2);
      if (!left) {
        prefetch(c.at(row, ahead, 2));
        prefetch(c.at(second, ahead, 2));
      }
      std::vector<Value*> right;
      for (int v = 0; v < vectors; ++v) {
        Value* x = c.load(half, c.at(row, v * lanes, 2), masks[size(v)], 1);
        Value* y =
            two ? c.load(half, c.at(second, v * lanes, 2), masks[size(v)], 1) : llvm::Constant::getNullValue(half);
        right.push_back(c.shuffle(
            x, y, [&](int l) { return l / 2 + (l % 2) * lanes; }, 2 * lanes));
      }
      for (std::size_t i = 0; i < a_rows.size(); ++i) {
        Value* at = c.at(a_rows[i], k, 2);
        Value* pair =
            two ? c.b.CreateAlignedLoad(c.b.getInt32Ty(), at, llvm::Align(1))
                : c.b.CreateZExt(c.b.CreateAlignedLoad(c.b.getInt16Ty(), at, llvm::Align(1)), c.b.getInt32Ty());
        pair = c.splat(pair);
        for (int v = 0; v < vectors; ++v) {
          Value*& value = sum[i * size(vectors) + size(v)];
          value = c.dot(pair, right[size(v)], value);
        }
      }
      return sum;
    };
    Value* full = c.b.CreateAnd(p.k, ~1LL);
    sums = c.loop(c.number(0), full, 2, sums,
                  [&](Value* k, const std::vector<Value*>& sum) { return step(k, sum, true); });
    sums = c.choose(c.b.CreateICmpSLT(full, p.k), sums, [&] { return step(full, sums, false); });
  }
  for (std::int64_t row = 0; row < shape.m; ++row)
    for (int v = 0; v < vectors; ++v) c.store(sums[size(row * vectors + v)], place(row, v), masks[size(v)], 4);
}

}  // namespace

void emit_few_rows(Code& c, const Shape& shape, const Parts& p) {
  const std::int64_t registers = c.s.lanes == 16 ? 24 : 10;
  const auto vectors =
      static_cast<int>(std::clamp(registers / shape.m, std::int64_t{1}, round_up(shape.n, c.s.lanes) / c.s.lanes));
  const std::int64_t width = vectors * c.s.lanes;
  c.when(c.b.CreateICmpSGT(p.m, c.number(0)), [&] {
    const std::vector<Value*> rows = rows_of(c, shape, p);
    Value* whole = c.mul(c.b.CreateUDiv(p.n, c.number(width)), width);
    c.loop(c.number(0), whole, width, [&](Value* column) { columns(c, shape, p, rows, column, vectors, nullptr); });
    c.loop(whole, p.n, c.s.lanes, [&](Value* column) { columns(c, shape, p, rows, column, 1, c.sub(p.n, column)); });
  });
}

// Dot products: `lanes` rows of b at a time, each read from front to end as the processor likes memory best. Their
// vectors of partial sums go to the stack, and a tree of shuffles then adds up the lanes of all of them together.
void emit_few_rows_transposed(Code& c, const Shape& shape, const Parts& p) {
  const int lanes = c.s.lanes;
  const std::int64_t chunk = c.s.pairs ? 2 * lanes : lanes;  // elements of k per vector
  const std::int64_t chunks = shape.k / chunk;
  const bool unrolled = shape.whole_k && shape.k % chunk == 0 && chunks <= 8;
  const std::int64_t registers = lanes == 16 ? 16 : 8;
  std::int64_t group = 1;  // rows of b in one step
  while (group * 2 * shape.m <= registers && group * 2 <= (unrolled ? 2 : std::min(8, lanes))) group *= 2;

  const auto load = [&](Value* row, Value* k, Value* left, Value* mask) {
    Value* from = c.at(row, k, c.element_size());
    return c.s.pairs ? c.load_pairs(from, left) : c.load_floats(from, mask);
  };
  const auto multiply_add = [&](Value* x, Value* y, Value* sum) {
    return c.s.pairs ? c.dot(x, y, sum) : c.multiply_add(x, y, sum);
  };
  // The sums of all lanes of x and y, side by side: after log2(lanes) levels lane l is the sum of vector l.
  const auto merge = [&](Value* x, Value* y, int distance) {
    Value* kept = c.shuffle(x, y, [&](int l) { return l & distance ? l + lanes : l; });
    Value* moved = c.shuffle(x, y, [&](int l) { return l & distance ? (l ^ distance) + lanes : l ^ distance; });
    return c.b.CreateFAdd(kept, moved);
  };
  const auto tree = [&](auto&& self, const std::vector<Value*>& vectors, std::size_t begin, int count) -> Value* {
    if (count == 1) return vectors[begin];
    const auto half = static_cast<std::size_t>(count / 2);
    // Neighbours meet first.
    Value* x = self(self, vectors, begin, count / 2);
    Value* y = self(self, vectors, begin + half, count / 2);
    return merge(x, y, count / 2);
  };

  c.when(c.b.CreateICmpSGT(p.m, c.number(0)), [&] {
    const std::vector<Value*> a_rows = rows_of(c, shape, p);
    std::vector<Value*> a_vectors;  // where they fit into registers
    if (unrolled && chunks * shape.m <= registers)
      for (Value* row : a_rows)
        for (std::int64_t x = 0; x < chunks; ++x) a_vectors.push_back(load(row, c.number(x * chunk), nullptr, nullptr));
    Value* partial = c.scratch(shape.m * lanes * lanes * 4);
    const auto place = [&](std::int64_t m, Value* row) {
      return c.at(partial, c.mul(c.add(row, m * lanes), lanes), 4);
    };
    Value* full = c.b.CreateAnd(p.k, static_cast<std::uint64_t>(-chunk));
    Value* last = c.add(p.n, -1);
    Value* ahead = c.mul(p.b_stride, rows_ahead(c, shape.k));
    c.loop(c.number(0), p.n, lanes, [&](Value* first) {
      c.loop(c.number(0), c.number(lanes), group, [&](Value* r) {
        std::vector<Value*> b_rows;
        for (std::int64_t i = 0; i < group; ++i)
          b_rows.push_back(c.at(p.b, c.mul(c.smaller(c.add(c.add(first, r), i), last), p.b_stride), c.element_size()));
        const auto step = [&](Value* k, std::vector<Value*> sum, bool whole, std::int64_t x) {
          Value* left = whole ? nullptr : c.sub(p.k, k);
          Value* mask = whole || c.s.pairs ? nullptr : c.mask_below(left, lanes);
          std::vector<Value*> a;
          for (std::size_t m = 0; m < a_rows.size(); ++m)
            a.push_back(a_vectors.empty() ? load(a_rows[m], k, left, mask) : a_vectors[m * size(chunks) + size(x)]);
          for (std::size_t i = 0; i < b_rows.size(); ++i) {
            Value* right = load(b_rows[i], k, left, mask);
            if (whole) c.prefetch(c.at(c.at(b_rows[i], k, c.element_size()), ahead, c.element_size()));
            for (std::size_t m = 0; m < a.size(); ++m)
              sum[i * a.size() + m] = multiply_add(a[m], right, sum[i * a.size() + m]);
          }
          return sum;
        };
        std::vector<Value*> sums(size(group * shape.m), c.zeros());
        if (unrolled) {
          for (std::int64_t x = 0; x < chunks; ++x) sums = step(c.number(x * chunk), sums, true, x);
        } else {
          sums = c.loop(c.number(0), full, chunk, sums,
                        [&](Value* k, const std::vector<Value*>& sum) { return step(k, sum, true, 0); });
          sums = c.choose(c.b.CreateICmpSLT(full, p.k), sums, [&] { return step(full, sums, false, 0); });
        }
        for (std::int64_t i = 0; i < group; ++i)
          for (std::int64_t m = 0; m < shape.m; ++m)
            c.store(sums[size(i * shape.m + m)], place(m, c.add(r, i)), nullptr, 4 * lanes);
      });
      Value* left = c.sub(p.n, first);
      Value* mask = c.mask_below(left, lanes);
      c.loop(c.number(0), c.number(shape.m), 1, [&](Value* m) {
        std::vector<Value*> vectors;
        for (std::int64_t r = 0; r < lanes; ++r)
          vectors.push_back(
              c.load(c.floats(), c.at(partial, c.mul(c.add(c.mul(m, lanes), r), lanes), 4), nullptr, 4 * lanes));
        Value* value = tree(tree, vectors, 0, lanes);
        Value* to = c.at(c.at(p.out, c.mul(m, shape.c_stride), 4), first, 4);
        if (shape.accumulate) value = c.b.CreateFAdd(value, c.load(c.floats(), to, mask, 4));
        c.store(value, to, mask, 4);
      });
    });
  });
}

}  // namespace tilewright::tile::llvm_back_end::product
