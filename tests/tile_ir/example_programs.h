// Programs that several tests use, written with the builder.
#pragma once

#include "tile/build/builder.h"

namespace tilewright::tile {

// One row per iteration, width up to 8192.
inline Program rms_norm_program() {
  Builder b("rms_norm");
  const auto rows = b.dim("rows"), width = b.dim("width");
  const auto x = b.input("x", DType::bf16, {rows, width});
  const auto weight = b.input("weight", DType::bf16, {width});
  const auto y = b.output("y", DType::bf16, {rows, width});
  const Tile eps = b.scalar("eps");
  b.parallel("row", 0, rows, 1, [&](Index row) {
    const Tile v = cast(b.view(x, {row, 0}, {1, 8192}, to_end), DType::f32);
    const Tile scale = rsqrt(mean(v * v, 1) + eps);
    const Tile w = cast(b.view(weight, {0}, {1, 8192}, to_end), DType::f32);
    b.assemble(cast(v * scale * w, DType::bf16), y, {row, 0});
  });
  return b.finish();
}

// y = a · bᵀ by blocks, with chosen tiles and a carried accumulator; the length of the inner dim is read from a tensor.
inline Program product_program() {
  Builder b("product");
  const auto m = b.dim("m"), n = b.dim("n"), k = b.dim("k");
  const auto a = b.input("a", DType::f32, {m, k});
  const auto w = b.input("w", DType::f32, {n, k});
  const auto length = b.input("length", DType::i32, {1});
  const auto y = b.output("y", DType::f32, {m, n});
  const auto rows = b.tile("rows", {4, 8, 16}), columns = b.tile("columns", {16, 32}),
             inner = b.tile("inner", {32, 64});
  b.parallel("i", 0, m, rows, [&](Index i) {
    b.parallel("j", 0, n, columns, [&](Index j) {
      const Index stop = min(b.load(length, {0}), k);
      const auto sums =
          b.loop("p", 0, stop, inner, {b.constant(0, rows, columns)}, [&](Index p, const std::vector<Tile>& carried) {
            const Tile left = b.view(a, {i, p}, {rows, inner}, valid(min(rows, m - i), min(inner, stop - p)));
            const Tile right = b.view(w, {j, p}, {columns, inner}, valid(min(columns, n - j), min(inner, stop - p)));
            return std::vector<Tile>{matmul_transposed(left, right, carried[0])};
          });
      b.assemble(sums[0], y, {i, j});
    });
  });
  return b.finish();
}

// One of almost every other operation.
inline Program mixed_program() {
  Builder b("mixed");
  const auto s = b.dim("s");
  const auto x = b.input("x", DType::f32, {s, 4, 64});
  const auto table = b.input("table", DType::f16, {100, 64});
  const auto ids = b.input("ids", DType::i32, {s});
  const auto y = b.output("y", DType::f32, {s, 4, 64});
  const auto best = b.output("best", DType::i32, {s, 4, 2});
  const Index shift = b.index_scalar("shift");
  const Tile scale = b.scalar("scale");
  b.parallel("row", 0, s, 1, [&](Index row) {
    const Tile v = b.view(x, {row, 0, 0}, {4, 64});
    const Tile id = transpose(b.view(ids, {row}, {1, 1}));
    const Tile embedded = cast(b.gather(table, id, {0, 0}, {1, 64}), DType::f32);
    const Tile halves = concat({slice(v, 0, 32, 4, 32), -slice(v, 0, 0, 4, 32)}, 1);
    const Tile mask = less(b.iota(1, 64, 1, row % 7), b.from_index(max(shift, 3)));
    const Tile chosen = where(mask, halves * scale, v + embedded);
    const Tile flat = reshape(reshape(chosen, 1, 256), 4, 64);
    const Tile rest = b.restrict(flat, 4, min(Index(64), row + 1));
    const Tile scaled = flat - max(rest, 1) * 1e-30 + b.constant(-0.0);
    const auto result = b.loop("turn", 0, 3, 1, {scaled}, [&](Index turn, const std::vector<Tile>& carried) {
      return std::vector<Tile>{where(logical_or(b.is_first(turn), b.is_last(turn)), carried[0] / 3.0, exp(carried[0]))};
    });
    b.assemble(result[0], y, {row, 0, 0});
    b.assemble(top_k(v, 2).columns, best, {row, 0, 0});
  });
  return b.finish();
}

}  // namespace tilewright::tile
