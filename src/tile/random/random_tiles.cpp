#include "tile/random/random_tiles.h"

#include <fmt/format.h>

#include <algorithm>

namespace tilewright::tile {
namespace {

const Axis kUnit{};

Tile append(Builder& b, Node node) { return {b, b.append(std::move(node))}; }

}  // namespace

Tile RandomTiles::make(const Axis& rows, const Axis& columns, DType dtype, int depth) {
  if (depth <= 0 || full() || !fits(rows, columns)) return leaf(rows, columns, dtype);
  if (r.chance(30)) {
    std::vector<Tile> candidates;
    for (const Known& known : known_)
      if (known.rows == rows.id && known.columns == columns.id && known.tile.dtype() == dtype)
        candidates.push_back(known.tile);
    if (!candidates.empty()) return r.of(candidates);
  }
  const Tile tile = fresh(rows, columns, dtype, depth);
  known_.push_back({tile, rows.id, columns.id});
  return tile;
}

Tile RandomTiles::fresh(const Axis& rows, const Axis& columns, DType dtype, int depth) {
  Tile tile;
  if (r.chance(18)) tile = moved(rows, columns, dtype, depth);
  if (!tile.defined() && r.chance(6))
    tile = where(make(rows, columns, DType::b8, depth - 1), make(rows, columns, dtype, depth - 1),
                 make(rows, columns, dtype, depth - 1));
  if (!tile.defined()) {
    switch (dtype) {
      case DType::f32:
        tile = of_f32(rows, columns, depth);
        break;
      case DType::i32:
        tile = of_i32(rows, columns, depth);
        break;
      case DType::b8:
        tile = of_bool(rows, columns, depth);
        break;
      default:
        if (r.chance(60)) tile = cast(make(rows, columns, DType::f32, depth - 1), dtype);
    }
  }
  return tile.defined() ? tile : leaf(rows, columns, dtype);
}

Tile RandomTiles::unary_f32(const Axis& rows, const Axis& columns, int depth) {
  const auto op = static_cast<OpCode>(r.between(static_cast<int>(OpCode::neg), static_cast<int>(OpCode::gelu_tanh)));
  const Tile x = make(rows, columns, DType::f32, depth - 1);
  if (r.chance(20)) return unary(op, x);  // as it comes
  // Kept where values stay useful: small, and away from poles.
  switch (op) {
    case OpCode::exp:
      return exp(minimum(x, filled(4, rows, columns, DType::f32)));
    case OpCode::log:
    case OpCode::sqrt:
    case OpCode::rsqrt:
    case OpCode::reciprocal:
      return unary(op, abs(x) + filled(0.5, rows, columns, DType::f32));
    default:
      return unary(op, x);
  }
}

Tile RandomTiles::of_f32(const Axis& rows, const Axis& columns, int depth) {
  const auto operand = [&] { return make(rows, columns, DType::f32, depth - 1); };
  const std::int64_t what = r.below(100);
  Tile tile;
  if (what < 24) return unary_f32(rows, columns, depth);
  if (what < 52) {
    const OpCode op = r.of<OpCode>({OpCode::add, OpCode::add, OpCode::sub, OpCode::sub, OpCode::mul, OpCode::mul,
                                    OpCode::minimum, OpCode::maximum, OpCode::div});
    const Tile a = operand(), c = operand();
    if (op == OpCode::div && r.chance(80)) return a / (abs(c) + filled(1, rows, columns, DType::f32));
    return binary(op, a, c);
  }
  if (what < 62) {
    const DType from = r.of<DType>({DType::bf16, DType::f16, DType::bf16, DType::f16, DType::i32, DType::b8});
    return cast(make(rows, columns, from, depth - 1), DType::f32);
  }
  if (what < 78) tile = reduced(rows, columns, depth);
  if (!tile.defined() && what < 86) tile = product(rows, columns, depth);
  if (!tile.defined() && what < 94) tile = looped(rows, columns, depth);
  if (!tile.defined() && what < 97) tile = top(rows, columns, DType::f32, depth);
  return tile.defined() ? tile : operand() + operand();
}

Tile RandomTiles::of_i32(const Axis& rows, const Axis& columns, int depth) {
  const auto operand = [&] { return make(rows, columns, DType::i32, depth - 1); };
  const std::int64_t what = r.below(100);
  if (what < 35)
    return binary(r.of<OpCode>({OpCode::add, OpCode::sub, OpCode::mul, OpCode::minimum, OpCode::maximum}), operand(),
                  operand());
  if (what < 45) return unary(r.of<OpCode>({OpCode::neg, OpCode::abs}), operand());
  if (what < 60) {
    // Only numbers in range have a value as i32: clamp, and replace NaN.
    const Tile x = make(rows, columns, DType::f32, depth - 1);
    const Tile clamped =
        minimum(maximum(x, filled(-1000, rows, columns, DType::f32)), filled(1000, rows, columns, DType::f32));
    return cast(where(equal(x, x), clamped, filled(0, rows, columns, DType::f32)), DType::i32);
  }
  if (what < 68) return cast(make(rows, columns, DType::b8, depth - 1), DType::i32);
  if (what < 82) {
    const Index first = min(max(index(2), -100000), 100000);
    if (r.chance(40)) return spread(b.from_index(first), rows, columns);
    return b.iota(rows.extent, columns.extent, static_cast<int>(r.below(2)), first);
  }
  if (what < 90) return top(rows, columns, DType::i32, depth);
  return {};
}

Tile RandomTiles::of_bool(const Axis& rows, const Axis& columns, int depth) {
  const std::int64_t what = r.below(100);
  if (what < 55) {
    const auto op = static_cast<OpCode>(r.between(static_cast<int>(OpCode::eq), static_cast<int>(OpCode::ge)));
    const DType of = r.of<DType>({DType::f32, DType::f32, DType::i32, DType::bf16, DType::f16});
    return binary(op, make(rows, columns, of, depth - 1), make(rows, columns, of, depth - 1));
  }
  if (what < 65) return logical_not(make(rows, columns, DType::b8, depth - 1));
  if (what < 80)
    return binary(r.of<OpCode>({OpCode::logical_and, OpCode::logical_or}), make(rows, columns, DType::b8, depth - 1),
                  make(rows, columns, DType::b8, depth - 1));
  if (what < 92 && !variables_.empty()) {
    const Index variable = r.of(variables_);
    return spread(r.chance(50) ? b.is_first(variable) : b.is_last(variable), rows, columns);
  }
  return cast(make(rows, columns, r.chance(50) ? DType::f32 : DType::i32, depth - 1), DType::b8);
}

Tile RandomTiles::reduced(const Axis& rows, const Axis& columns, int depth) {
  const OpCode op = r.of<OpCode>({OpCode::reduce_sum, OpCode::reduce_max, OpCode::reduce_mean});
  const auto reduce = [&](Tile x, int axis) { return append(b, {.op = op, .operands = {x.id()}, .axis = axis}); };
  if (columns.one() && (!rows.one() || r.chance(70))) {
    const Axis over = inner_axis(rows);
    return reduce(make(rows, over, DType::f32, depth - 1), 1);
  }
  if (rows.one()) {
    const Axis over = inner_axis(columns);
    return reduce(make(over, columns, DType::f32, depth - 1), 0);
  }
  return {};
}

Tile RandomTiles::product(const Axis& rows, const Axis& columns, int depth) {
  const Axis inner = inner_axis(rows);
  if (!fits(inner, columns)) return {};
  const DType dtype = r.of<DType>({DType::f32, DType::f16, DType::bf16, DType::bf16});
  const bool transposed = r.chance(50);
  const Tile a = make(rows, inner, dtype, depth - 1);
  const Tile c = transposed ? make(columns, inner, dtype, depth - 1) : make(inner, columns, dtype, depth - 1);
  const Tile start = r.chance(40) ? make(rows, columns, DType::f32, depth - 1) : Tile{};
  const Tile result = append(b, {.op = OpCode::matmul,
                                 .operands = {a.id(), c.id(), start.defined() ? start.id() : kNone},
                                 .transposed = transposed});
  // The extents of a product are those of a and b; the accumulator's may be smaller.
  return start.defined() ? restrict(result, rows, columns) : result;
}

Tile RandomTiles::top(const Axis& rows, const Axis& columns, DType dtype, int depth) {
  if (!columns.plain() || columns.extent.size > 8) return {};
  const std::int64_t k = columns.extent.size;
  Axis from = fixed_axis(k + r.below(12));
  if (r.chance(30)) {
    from.restricted = from.by_node = true;
    from.valid = bound(from.extent.size);
  }
  if (!fits(rows, from)) return {};
  const TopK best = top_k(make(rows, from, DType::f32, depth - 1), k);
  return dtype == DType::f32 ? best.values : best.columns;
}

Tile RandomTiles::moved(const Axis& rows, const Axis& columns, DType dtype, int depth) {
  const auto cut = [&](const Axis& axis) { return fixed_axis(axis.extent.size + 1 + r.below(5)); };
  switch (r.below(6)) {
    case 0: {
      const bool both = r.chance(20);
      const Axis& from_rows = both || !rows.one() ? kUnit : rows;
      const Axis& from_columns = both || rows.one() || r.chance(50) ? kUnit : columns;
      const Axis& kept_rows = both || (&from_columns != &kUnit && r.chance(50)) ? kUnit : rows;
      const Tile part = &from_columns == &kUnit && !both ? make(kept_rows, kUnit, dtype, depth - 1)
                                                         : make(from_rows, from_columns, dtype, depth - 1);
      return spread(part, rows, columns);
    }
    case 1:
      return transpose(make(columns, rows, dtype, depth - 1));
    case 2: {
      const bool along_rows = rows.plain() && (!columns.plain() || r.chance(50));
      if (!along_rows && !columns.plain()) return {};
      const Axis& axis = along_rows ? rows : columns;
      const Axis bigger = cut(axis);
      if (!fits(along_rows ? bigger : rows, along_rows ? columns : bigger)) return {};
      const Tile from = along_rows ? make(bigger, columns, dtype, depth - 1) : make(rows, bigger, dtype, depth - 1);
      const std::int64_t start = r.between(0, bigger.extent.size - axis.extent.size);
      return append(b, {.op = OpCode::slice,
                        .type = {.rows = rows.extent, .columns = columns.extent},
                        .operands = {from.id()},
                        .integer = along_rows ? start : 0,
                        .integer2 = along_rows ? 0 : start});
    }
    case 3: {
      const bool along_rows = rows.plain() && (!columns.plain() || r.chance(50));
      const Axis& axis = along_rows ? rows : columns;
      if (!axis.plain() || axis.extent.size < 2) return {};
      std::vector<Tile> parts;
      for (std::int64_t left = axis.extent.size; left > 0;) {
        const Axis part = fixed_axis(parts.size() == 2 ? left : r.between(1, left));
        parts.push_back(along_rows ? make(part, columns, dtype, depth - 1) : make(rows, part, dtype, depth - 1));
        left -= part.extent.size;
      }
      return concat(parts, along_rows ? 0 : 1);
    }
    case 4: {
      if (!rows.plain() || !columns.plain()) return {};
      const std::int64_t count = rows.extent.size * columns.extent.size;
      std::int64_t other = r.between(1, std::min<std::int64_t>(count, 16));
      while (count % other != 0) --other;
      const Tile from = make(fixed_axis(other), fixed_axis(count / other), dtype, depth - 1);
      return reshape(from, rows.extent.size, columns.extent.size);
    }
    default:
      return gather(rows, columns, dtype, depth);
  }
}

Tile RandomTiles::looped(const Axis& rows, const Axis& columns, int depth) {
  if (loops_ >= 3) return {};
  const Dim dim = symbol();
  Extent extent{r.of<std::int64_t>({1, 3, 4, 8, 16})};
  Index step = extent.size, size = extent.size;
  std::int64_t most = extent.size;
  if (wants_parameter()) {
    const Builder::Chosen chosen = parameter();
    extent = chosen;
    step = size = chosen;
    most = 16;
  }
  if (r.chance(15)) step = max(step + r.between(-1, 1), 1);
  // A single position must exist; a block of them is cut at the tensor's end.
  const Index stop = extent.one() ? bound(dim) : r.chance(70) ? bound(dim) : min(load(), 24);
  const Index start = r.chance(75) ? Index(0) : Index(r.below(4));
  std::vector<Tile> initial = {r.chance(60) ? filled(r.of<double>({0, 0, 1, -1e30}), rows, columns, DType::f32)
                                            : make(rows, columns, DType::f32, depth - 1)};
  if (r.chance(35)) initial.push_back(filled(1, rows, kUnit, DType::f32));
  ++loops_;
  const std::vector<Tile> results = b.loop(
      fmt::format("k{}", ++names_), start, stop, step, initial, [&](Index variable, const std::vector<Tile>& carried) {
        const Axis axis = loop_axis(dim, variable, extent, size, most);
        enter(&axis, &variable);
        std::vector<Tile> next;
        for (std::size_t i = 0; i < carried.size(); ++i) {
          const Axis& along = i == 0 ? columns : kUnit;
          const Tile own = restrict(carried[i], rows, along);
          known_.push_back({own, rows.id, along.id});
          const auto fresh_part = [&] {
            const bool reduces = r.chance(50) && (along.one() || rows.one());
            const Tile part = reduces ? reduced(rows, along, depth) : product(rows, along, depth);
            return part.defined() ? part : make(rows, along, DType::f32, depth - 1);
          };
          switch (r.below(6)) {
            case 0:
              next.push_back(maximum(own, fresh_part()));
              break;
            case 1:
              next.push_back(where(spread(b.is_first(variable), rows, along), fresh_part(),
                                   own * filled(0.5, rows, along, DType::f32)));
              break;
            case 2:
              next.push_back(own * filled(0.5, rows, along, DType::f32) + fresh_part());
              break;
            default:
              next.push_back(own + fresh_part());
          }
        }
        leave();
        return next;
      });
  --loops_;
  if (results.size() > 1)
    return restrict(results[0], rows, columns) + spread(restrict(results[1], rows, kUnit), rows, columns);
  return restrict(results[0], rows, columns);
}

}  // namespace tilewright::tile
