// b into panels [n / width][steps][width] of f32, or of pairs of bf16 (k, k + 1) for dot products. Columns beyond n are
// zero; steps beyond k are not written, but for the second half of a last odd pair, which is zero.
#include "tile/llvm/matmul_parts.h"

namespace tilewright::tile::llvm_back_end::product {
namespace {

// b [k, n]: rows are copied, pairs of rows interleaved.
void pack_rows(Code& c, const Parts& p, Value* panel, Value* column, Value* left, bool whole) {
  const int lanes = c.s.lanes, vectors = c.s.vectors;
  std::vector<Value*> masks(static_cast<std::size_t>(vectors), nullptr);
  if (!whole)
    for (int v = 0; v < vectors; ++v)
      masks[static_cast<std::size_t>(v)] = c.mask_below(c.sub(left, c.number(v * lanes)), lanes);
  Value* first = c.at(p.b, column, c.element_size());
  if (!c.s.pairs) {
    c.loop(c.number(0), p.k, 1, [&](Value* k) {
      Value* row = c.at(first, c.mul(k, p.b_stride), c.element_size());
      Value* to = c.at(panel, c.mul(k, c.s.width()), 4);
      for (int v = 0; v < vectors; ++v)
        c.store(c.load_floats(c.at(row, v * lanes, c.element_size()), masks[static_cast<std::size_t>(v)]),
                c.at(to, v * lanes, 4), nullptr, 64);
    });
    return;
  }
  llvm::Type* half = c.vector_of(c.b.getInt16Ty(), lanes);
  const auto interleave = [&](Value* x, Value* y, Value* to) {
    Value* pairs = c.shuffle(
        x, y, [&](int l) { return l / 2 + (l % 2) * lanes; }, 2 * lanes);
    c.store(pairs, to, nullptr, 64);
  };
  Value* full = c.b.CreateAnd(p.k, ~1LL);
  c.loop(c.number(0), full, 2, [&](Value* k) {
    Value* row = c.at(first, c.mul(k, p.b_stride), 2);
    Value* second = c.at(row, p.b_stride, 2);
    Value* to = c.at(panel, c.mul(k, c.s.width()), 2);
    for (int v = 0; v < vectors; ++v) {
      Value* mask = masks[static_cast<std::size_t>(v)];
      interleave(c.load(half, c.at(row, v * lanes, 2), mask, 1), c.load(half, c.at(second, v * lanes, 2), mask, 1),
                 c.at(to, v * lanes, 4));
    }
  });
  c.when(c.b.CreateICmpSLT(full, p.k), [&] {
    Value* row = c.at(first, c.mul(full, p.b_stride), 2);
    Value* to = c.at(panel, c.mul(full, c.s.width()), 2);
    for (int v = 0; v < vectors; ++v)
      interleave(c.load(half, c.at(row, v * lanes, 2), masks[static_cast<std::size_t>(v)], 1),
                 llvm::Constant::getNullValue(half), c.at(to, v * lanes, 4));
  });
}

// b [n, k]: blocks of lanes × lanes words are transposed. Rows beyond n repeat the last one.
void pack_columns(Code& c, const Shape& shape, const Parts& p, Value* panel, Value* column) {
  const int lanes = c.s.lanes;
  const bool words = c.s.dtype == DType::bf16;  // pairs are transposed as 32-bit words, and split where f32 is wanted
  const std::int64_t block = words ? 2 * lanes : lanes;  // columns of b at once
  const bool whole_blocks = shape.whole_k && shape.k % block == 0;
  Value* last = c.add(p.n, -1);
  c.loop(c.number(0), c.number(c.s.width()), lanes, [&](Value* from_column) {
    std::vector<Value*> rows;
    for (int r = 0; r < lanes; ++r)
      rows.push_back(
          c.at(p.b, c.mul(c.smaller(c.add(c.add(column, from_column), r), last), p.b_stride), c.element_size()));
    const auto do_block = [&](Value* k, bool whole) {
      Value* left = whole ? nullptr : c.sub(p.k, k);
      Value* mask = whole || words ? nullptr : c.mask_below(left, lanes);
      std::vector<Value*> block_rows;
      for (Value* row : rows) {
        Value* from = c.at(row, k, c.element_size());
        block_rows.push_back(words ? c.load_pairs(from, left) : c.load_floats(from, mask));
      }
      block_rows = c.transpose(block_rows);
      Value* step_0 = c.mul(c.s.pairs ? c.b.CreateLShr(k, 1) : k, c.s.width());
      Value* to = c.at(panel, c.add(step_0, from_column), 4);
      for (int i = 0; i < lanes; ++i) {
        Value* value = block_rows[static_cast<std::size_t>(i)];
        const auto put = [&](Value* what, int step) {
          c.store(what, c.at(to, step * c.s.width(), 4), nullptr, 4 * lanes);
        };
        if (words && !c.s.pairs) {
          put(c.b.CreateShl(value, 16), 2 * i);
          put(c.b.CreateAnd(value, 0xffff0000u), 2 * i + 1);
        } else {
          put(value, i);
        }
      }
    };
    Value* full = c.b.CreateAnd(p.k, static_cast<std::uint64_t>(-block));
    c.loop(c.number(0), full, block, [&](Value* k) { do_block(k, true); });
    if (!whole_blocks) c.when(c.b.CreateICmpSLT(full, p.k), [&] { do_block(full, false); });
  });
}

}  // namespace

void emit_pack(Code& c, const Shape& shape, const Parts& p, Value* panel) {
  const std::int64_t bytes = panel_steps(c.s, shape.k) * c.s.width() * 4;
  c.loop(c.number(0), p.n, c.s.width(), [&](Value* column) {
    Value* index = c.b.CreateUDiv(column, c.number(c.s.width()));
    Value* to = c.at(panel, c.mul(index, bytes), 1);
    if (shape.transposed) {
      pack_columns(c, shape, p, to, column);
      return;
    }
    Value* left = c.sub(p.n, column);
    if (shape.whole_n && shape.n % c.s.width() == 0) {
      pack_rows(c, p, to, column, left, true);
      return;
    }
    c.when(
        c.b.CreateICmpSGE(left, c.number(c.s.width())), [&] { pack_rows(c, p, to, column, left, true); },
        [&] { pack_rows(c, p, to, column, left, false); });
  });
}

}  // namespace tilewright::tile::llvm_back_end::product
