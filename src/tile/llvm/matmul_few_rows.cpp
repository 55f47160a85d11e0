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

// 2 · lanes bf16 as two vectors of f32: those at even places, and those at odd ones. Half the work of keeping the
// order.
std::pair<Value*, Value*> load_even_odd(Code& c, Value* from) {
  Value* pairs = c.load_pairs(from);
  return {c.b.CreateBitCast(c.b.CreateShl(pairs, 16), c.floats()),
          c.b.CreateBitCast(c.b.CreateAnd(pairs, 0xffff0000u), c.floats())};
}

// Rows of f16 or bf16 as f32 on the stack, so that nothing is converted again and again.
std::vector<Value*> widened(Code& c, const Shape& shape, const Parts& p, const std::vector<Value*>& rows) {
  const std::int64_t width = round_up(shape.k, c.s.lanes);
  Value* copy = c.scratch(shape.m * width * 4);
  Value* full = c.b.CreateAnd(p.k, static_cast<std::uint64_t>(-c.s.lanes));
  std::vector<Value*> out;
  for (Value* row : rows) {
    Value* to = c.at(copy, static_cast<std::int64_t>(out.size()) * width, 4);
    c.loop(c.number(0), full, c.s.lanes,
           [&](Value* k) { c.store(c.load_floats(c.at(row, k, 2)), c.at(to, k, 4), nullptr, 4 * c.s.lanes); });
    c.when(c.b.CreateICmpSLT(full, p.k), [&] {
      c.store(c.load_floats(c.at(row, full, 2), c.mask_below(c.sub(p.k, full), c.s.lanes)), c.at(to, full, 4), nullptr,
              4 * c.s.lanes);
    });
    out.push_back(to);
  }
  return out;
}

// `vectors` vectors of columns from `column` on; `left` columns exist (null: all). Rows of a are f32
// unless they are multiplied in pairs.
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
    // Sums of bf16 lie apart, too, while they grow.
    const bool apart = c.s.dtype == DType::bf16 && !left && vectors % 2 == 0;
    const auto exchange = [&](const std::function<int(int)>& first, const std::function<int(int)>& second) {
      for (std::size_t i = 0; apart && i < sums.size(); i += 2) {
        Value* x = sums[i];
        sums[i] = c.shuffle(x, sums[i + 1], first);
        sums[i + 1] = c.shuffle(x, sums[i + 1], second);
      }
    };
    exchange([](int l) { return 2 * l; }, [](int l) { return 2 * l + 1; });
    sums = c.loop(c.number(0), p.k, 1, sums, [&](Value* k, std::vector<Value*> sum) {
      Value* row = c.at(from, c.mul(k, p.b_stride), c.element_size());
      if (!left) prefetch(c.at(row, ahead, c.element_size()));
      std::vector<Value*> right;
      for (int v = 0; v < vectors; v += apart ? 2 : 1) {
        Value* from_row = c.at(row, v * lanes, c.element_size());
        if (apart) {
          const auto [even, odd] = load_even_odd(c, from_row);
          right.insert(right.end(), {even, odd});
        } else {
          right.push_back(c.load_floats(from_row, masks[size(v)]));
        }
      }
      for (std::size_t i = 0; i < a_rows.size(); ++i) {
        Value* left_value = c.splat(c.b.CreateAlignedLoad(c.b.getFloatTy(), c.at(a_rows[i], k, 4), llvm::Align(1)));
        for (int v = 0; v < vectors; ++v) {
          Value*& value = sum[i * size(vectors) + size(v)];
          value = c.multiply_add(left_value, right[size(v)], value);
        }
      }
      return sum;
    });
    exchange([&](int l) { return l / 2 + (l % 2) * lanes; }, [&](int l) { return (l + lanes) / 2 + (l % 2) * lanes; });
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
  const std::int64_t all = round_up(shape.n, c.s.lanes) / c.s.lanes;
  auto vectors = static_cast<int>(std::clamp(registers / shape.m, std::int64_t{1}, all));
  while (vectors > 1 && all % vectors != 0) --vectors;  // no rest of one vector at a time
  const std::int64_t width = vectors * c.s.lanes;
  c.when(c.b.CreateICmpSGT(p.m, c.number(0)), [&] {
    std::vector<Value*> rows = rows_of(c, shape, p);
    if (!c.s.pairs && c.s.dtype != DType::f32) rows = widened(c, shape, p, rows);
    Value* whole = c.mul(c.b.CreateUDiv(p.n, c.number(width)), width);
    const auto product = [&](const Parts& part, const std::vector<Value*>& a_rows) {
      c.loop(c.number(0), whole, width,
             [&](Value* column) { columns(c, shape, part, a_rows, column, vectors, nullptr); });
      c.loop(whole, p.n, c.s.lanes,
             [&](Value* column) { columns(c, shape, part, a_rows, column, 1, c.sub(p.n, column)); });
    };
    if (!shape.accumulate || vectors == all) return product(p, rows);
    // Some rows of b at a time: memory is read from front to end, though columns take more than one pass.
    const std::int64_t block = round_up(rows_ahead(c, shape.n), 2);
    c.loop(c.number(0), p.k, block, [&](Value* k) {
      Parts part = p;
      part.b = c.at(p.b, c.mul(k, p.b_stride), c.element_size());
      part.k = c.smaller(c.sub(p.k, k), c.number(block));
      std::vector<Value*> a_rows;
      for (Value* row : rows) a_rows.push_back(c.at(row, k, c.s.pairs ? 2 : 4));
      product(part, a_rows);
    });
  });
}

// Dot products: `lanes` rows of b at a time, each read from front to end as the processor likes memory best. Their
// vectors of partial sums go to the stack, and a tree of shuffles then adds up the lanes of all of them together.
void emit_few_rows_transposed(Code& c, const Shape& shape, const Parts& p) {
  const int lanes = c.s.lanes;
  const bool apart = !c.s.pairs && c.s.dtype == DType::bf16 && shape.whole_k && shape.k % (2 * lanes) == 0;
  const std::int64_t chunk = c.s.pairs || apart ? 2 * lanes : lanes;  // elements of k per vector, or two of them
  const std::int64_t chunks = shape.k / chunk;
  // Chunks of a line of memory, which is asked for once.
  std::int64_t line = std::max<std::int64_t>(1, 64 / (chunk * c.element_size()));
  if (!shape.whole_k || chunks % line != 0 || shape.k % chunk != 0) line = 1;
  const bool unrolled = !apart && shape.whole_k && shape.k % chunk == 0 && chunks <= 8;
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
    Value* queries = nullptr;  // f32, apart as the rows of b will be
    if (apart) {
      queries = c.scratch(shape.m * shape.k * 4);
      for (std::size_t m = 0; m < a_rows.size(); ++m)
        c.loop(c.number(0), c.number(shape.k), chunk, [&](Value* k) {
          const auto [even, odd] = load_even_odd(c, c.at(a_rows[m], k, 2));
          Value* to = c.at(queries, c.add(k, static_cast<std::int64_t>(m) * shape.k), 4);
          c.store(even, to, nullptr, 4 * lanes);
          c.store(odd, c.at(to, lanes, 4), nullptr, 4 * lanes);
        });
    }
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
          for (std::size_t m = 0; m < a_rows.size(); ++m) {
            if (apart) {
              Value* from = c.at(queries, c.add(k, static_cast<std::int64_t>(m) * shape.k), 4);
              a.push_back(c.load(c.floats(), from, nullptr, 4 * lanes));
              a.push_back(c.load(c.floats(), c.at(from, lanes, 4), nullptr, 4 * lanes));
              continue;
            }
            a.push_back(a_vectors.empty() ? load(a_rows[m], k, left, mask) : a_vectors[m * size(chunks) + size(x)]);
          }
          for (std::size_t i = 0; i < b_rows.size(); ++i) {
            if (whole && x % line == 0) c.prefetch(c.at(c.at(b_rows[i], k, c.element_size()), ahead, c.element_size()));
            if (apart) {
              const auto [even, odd] = load_even_odd(c, c.at(b_rows[i], k, 2));
              for (std::size_t m = 0; m < a_rows.size(); ++m) {
                Value*& value = sum[i * a_rows.size() + m];
                value = multiply_add(a[2 * m + 1], odd, multiply_add(a[2 * m], even, value));
              }
              continue;
            }
            Value* right = load(b_rows[i], k, left, mask);
            for (std::size_t m = 0; m < a.size(); ++m)
              sum[i * a.size() + m] = multiply_add(a[m], right, sum[i * a.size() + m]);
          }
          return sum;
        };
        std::vector<Value*> sums(size(group * shape.m), c.zeros());
        if (unrolled) {
          for (std::int64_t x = 0; x < chunks; ++x) sums = step(c.number(x * chunk), sums, true, x);
        } else {
          sums = c.loop(c.number(0), full, chunk * line, sums, [&](Value* k, std::vector<Value*> sum) {
            for (std::int64_t x = 0; x < line; ++x) sum = step(c.add(k, x * chunk), sum, true, x);
            return sum;
          });
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
