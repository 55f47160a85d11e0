// The register tile: rows × vectors accumulators, one broadcast of a and `vectors` loads of the packed b per step of k.
#include "tile/llvm/matmul_parts.h"

namespace tilewright::tile::llvm_back_end::product {
namespace {

// Where the tile reads a: rows at a constant distance, f32 or (pairs) bf16, all m × k readable.
struct Left {
  Value* data;
  std::int64_t stride;
};

// a as it is, or copied to the stack: converted, and with a constant distance between rows, so that a step of k needs
// one address for all rows.
Left left_operand(Code& c, const Shape& shape, const Parts& p) {
  const std::int64_t size = c.element_size();
  if (shape.a_stride != 0 && shape.a_padded && (c.s.pairs || c.s.dtype == DType::f32)) return {p.a, shape.a_stride};
  const std::int64_t width = round_up(shape.k, 2 * c.s.lanes);
  Value* copy = c.scratch(shape.m * width * (c.s.pairs ? 2 : 4));
  c.loop(c.number(0), p.m, 1, [&](Value* row) {
    Value* from = c.at(p.a, c.mul(row, p.a_stride), size);
    Value* to = c.at(copy, c.mul(row, width), c.s.pairs ? 2 : 4);
    if (c.s.pairs) {
      Value* full = c.b.CreateAnd(p.k, static_cast<std::uint64_t>(-2 * c.s.lanes));
      c.loop(c.number(0), full, 2 * c.s.lanes,
             [&](Value* k) { c.store(c.load_pairs(c.at(from, k, 2)), c.at(to, k, 2), nullptr, 64); });
      c.when(c.b.CreateICmpSLT(full, p.k),
             [&] { c.store(c.load_pairs(c.at(from, full, 2), c.sub(p.k, full)), c.at(to, full, 2), nullptr, 64); });
    } else {
      Value* full = c.b.CreateAnd(p.k, static_cast<std::uint64_t>(-c.s.lanes));
      c.loop(c.number(0), full, c.s.lanes,
             [&](Value* k) { c.store(c.load_floats(c.at(from, k, size)), c.at(to, k, 4), nullptr, 4 * c.s.lanes); });
      c.when(c.b.CreateICmpSLT(full, p.k), [&] {
        c.store(c.load_floats(c.at(from, full, size), c.mask_below(c.sub(p.k, full), c.s.lanes)), c.at(to, full, 4),
                nullptr, 4 * c.s.lanes);
      });
    }
  });
  return {copy, width};
}

struct Register {
  int rows, vectors;
  int last_lanes;  // of the last vector, that out has room for
};

void register_tile(Code& c, const Shape& shape, const Left& a, Value* panel, Value* out, Value* k_count,
                   const Register& r) {
  const int lanes = c.s.lanes;
  Value* mask = r.last_lanes < lanes ? c.mask_below(c.number(r.last_lanes), lanes) : nullptr;
  const auto place = [&](int row, int v) { return c.at(out, row * shape.c_stride + v * lanes, 4); };
  const auto mask_of = [&](int v) { return v + 1 == r.vectors ? mask : nullptr; };
  std::vector<Value*> sums;
  for (int row = 0; row < r.rows; ++row)
    for (int v = 0; v < r.vectors; ++v)
      sums.push_back(shape.accumulate ? c.load(c.floats(), place(row, v), mask_of(v), 4) : c.zeros());

  const auto step = [&](std::vector<Value*> sum, Value* a_at, Value* b_at, bool half_pair) {
    std::vector<Value*> right;
    for (int v = 0; v < r.vectors; ++v)
      right.push_back(c.load(c.s.pairs ? c.integers() : c.floats(), c.at(b_at, v * lanes, 4), nullptr, 4 * lanes));
    if (half_pair)  // what b holds beyond k may be infinite
      for (Value*& value : right) value = c.b.CreateAnd(value, 0xffff);
    for (int row = 0; row < r.rows; ++row) {
      Value* address = c.at(a_at, row * a.stride, c.s.pairs ? 2 : 4);
      Value* left = nullptr;
      if (!c.s.pairs)
        left = c.b.CreateAlignedLoad(c.b.getFloatTy(), address, llvm::Align(1));
      else if (half_pair)
        left = c.b.CreateZExt(c.b.CreateAlignedLoad(c.b.getInt16Ty(), address, llvm::Align(1)), c.b.getInt32Ty());
      else
        left = c.b.CreateAlignedLoad(c.b.getInt32Ty(), address, llvm::Align(1));
      left = c.splat(left);
      for (int v = 0; v < r.vectors; ++v) {
        Value*& value = sum[static_cast<std::size_t>(row * r.vectors + v)];
        Value* other = right[static_cast<std::size_t>(v)];
        value = c.s.pairs ? c.dot(left, other, value) : c.multiply_add(left, other, value);
      }
    }
    return sum;
  };
  // k in words of 32 bits.
  Value* words = c.s.pairs ? c.b.CreateLShr(k_count, 1) : k_count;
  const auto a_word = [&](Value* k) { return c.at(a.data, k, 4); };
  const auto b_word = [&](Value* k) { return c.at(panel, c.mul(k, c.s.width()), 4); };
  sums = c.loop(c.number(0), words, 1, sums,
                [&](Value* k, const std::vector<Value*>& sum) { return step(sum, a_word(k), b_word(k), false); });
  if (c.s.pairs && !(shape.whole_k && shape.k % 2 == 0))
    sums = c.choose(c.b.CreateICmpNE(c.b.CreateAnd(k_count, 1), c.number(0)), sums,
                    [&] { return step(sums, a_word(words), b_word(words), true); });
  for (int row = 0; row < r.rows; ++row)
    for (int v = 0; v < r.vectors; ++v)
      c.store(sums[static_cast<std::size_t>(row * r.vectors + v)], place(row, v), mask_of(v), 4);
}

}  // namespace

void emit_register_tiles(Code& c, const Shape& shape, const Parts& p) {
  Value* panel = p.b;  // packed
  const Left a = left_operand(c, shape, p);
  const std::int64_t panel_bytes = panel_steps(c.s, shape.k) * c.s.width() * 4;
  const std::int64_t rows = c.s.rows, width = c.s.width();
  const std::int64_t whole_rows = shape.m / rows * rows, whole_columns = shape.n / width * width;
  const auto column_of_tiles = [&](Value* column, int vectors, int last_lanes) {
    Value* from = c.at(panel, c.mul(c.b.CreateUDiv(column, c.number(width)), panel_bytes), 1);
    const auto tile = [&](Value* row, std::int64_t count) {
      const Left part{c.at(a.data, c.mul(row, a.stride), c.s.pairs ? 2 : 4), a.stride};
      Value* to = c.at(c.at(p.out, c.mul(row, shape.c_stride), 4), column, 4);
      register_tile(c, shape, part, from, to, p.k, {static_cast<int>(count), vectors, last_lanes});
    };
    if (whole_rows > 0)
      c.loop(c.number(0), c.smaller(p.m, c.number(whole_rows)), rows, [&](Value* row) { tile(row, rows); });
    if (whole_rows < shape.m)
      c.when(c.b.CreateICmpSGT(p.m, c.number(whole_rows)), [&] { tile(c.number(whole_rows), shape.m - whole_rows); });
  };
  if (whole_columns > 0)
    c.loop(c.number(0), c.smaller(p.n, c.number(whole_columns)), width,
           [&](Value* column) { column_of_tiles(column, c.s.vectors, c.s.lanes); });
  if (whole_columns < shape.n)
    c.when(c.b.CreateICmpSGT(p.n, c.number(whole_columns)), [&] {
      const auto rest = static_cast<int>(shape.n - whole_columns);
      const int vectors = (rest + c.s.lanes - 1) / c.s.lanes;
      column_of_tiles(c.number(whole_columns), vectors, rest - (vectors - 1) * c.s.lanes);
    });
}

}  // namespace tilewright::tile::llvm_back_end::product
