#include "tile/random/random_program.h"

#include <fmt/format.h>

#include <functional>

#include "base/error.h"
#include "tile/random/random_tiles.h"

namespace tilewright::tile {
namespace {

class RandomProgram {
 public:
  RandomProgram(std::uint64_t seed, int attempt, const RandomLimits& limits)
      : builder_(fmt::format("seed_{}", seed)),
        random_(seed * 64 + static_cast<std::uint64_t>(attempt)),
        large_(random_.chance(10)),
        tiles_(builder_, random_, case_, large_ ? larger(limits) : limits) {}

  TileCase write() {
    const std::int64_t statements = random_.chance(70) ? 1 : random_.between(2, 3);
    for (std::int64_t i = 0; i < statements; ++i) statement();
    case_.program = builder_.finish();
    return std::move(case_);
  }

 private:
  // Tiles as kernels have them: products over packed operands.
  static RandomLimits larger(RandomLimits limits) {
    limits.area *= 4;
    limits.nodes /= 2;
    return limits;
  }

  // A loop over `axis`' dim around `body`; parallel or not.
  void around(const std::string& name, const Dim& dim, Extent extent, Index step, std::int64_t most,
              const std::function<void(const Axis&)>& body) {
    const auto inner = [&](Index variable) {
      const Axis axis = tiles_.loop_axis(dim, variable, extent, step, most);
      tiles_.enter(nullptr, &variable);
      body(axis);
      tiles_.leave();
    };
    random_.chance(80) ? builder_.parallel(name, 0, dim, step, inner) : builder_.loop(name, 0, dim, step, inner);
  }
  void blocks(const std::string& name, const std::vector<std::int64_t>& sizes,
              const std::function<void(const Axis&)>& body) {
    const Dim dim = random_.chance(85) ? tiles_.symbol() : Dim(random_.between(1, 20));
    if (tiles_.wants_parameter()) {
      const Builder::Chosen chosen = tiles_.parameter();
      return around(name, dim, chosen, chosen, 16, body);
    }
    const std::int64_t size = random_.of(sizes);
    around(name, dim, {size}, size, size, body);
  }

  void statement() {
    const bool heads = random_.chance(20), row_loop = random_.chance(75), column_loop = random_.chance(25);
    const auto columns = [&](const Axis& rows) {
      if (column_loop) return blocks("j", {1, 4, 8, 16, 20}, [&](const Axis& axis) { body(rows, axis, true); });
      body(rows, random_.chance(50) ? tiles_.whole_symbol_axis() : tiles_.fixed_axis(random_.of(kWidths)), false);
    };
    const auto rows = [&] {
      if (row_loop && large_) return blocks("i", {8, 16, 32, 48}, columns);
      if (row_loop) return blocks("i", {1, 1, 2, 4, 8}, columns);
      const Axis axis = tiles_.fixed_axis(random_.of<std::int64_t>({1, 2, 3, 5}));
      if (heads || column_loop) return columns(axis);
      builder_.loop("once", 0, 1, 1, [&](Index variable) {
        tiles_.enter(nullptr, &variable);
        columns(axis);
        tiles_.leave();
      });
    };
    if (!heads) return rows();
    const Dim dim = random_.chance(50) ? tiles_.symbol() : Dim(random_.between(1, 3));
    around("h", dim, {1}, 1, 1, [&](const Axis& axis) {
      heads_ = dim;
      position_ = axis.offset;
      tiles_.set_heads(dim, axis.offset);
      rows();
      tiles_.clear_heads();
      heads_.reset();
    });
  }

  void body(const Axis& rows, const Axis& columns, bool column_loop) {
    const std::int64_t outputs = random_.chance(70) ? 1 : 2;
    for (std::int64_t i = 0; i < outputs; ++i) {
      const DType dtype = random_.of<DType>({DType::f32, DType::f32, DType::f32, DType::f32, DType::bf16, DType::bf16,
                                             DType::f16, DType::i32, DType::b8});
      Axis along = columns;
      if (!column_loop && random_.chance(25)) along = Axis{};
      const Tile tile = tiles_.make(rows, along, dtype, static_cast<int>(random_.between(2, 6)));
      write(tile, rows, along);
    }
  }

  void write(Tile tile, const Axis& rows, const Axis& columns) {
    Valid extents = to_end;
    if (rows.restricted && columns.restricted && !columns.by_node && random_.chance(30))
      extents = valid(tiles_.bound(rows.valid), tiles_.bound(columns.valid));
    if (heads_) {
      const TensorHandle y = tiles_.output(tile.dtype(), {*heads_, rows.dim, columns.dim});
      return builder_.assemble(tile, y, {position_, rows.offset, columns.offset}, extents);
    }
    if (random_.chance(12)) {
      const TensorHandle y = tiles_.output(tile.dtype(), {columns.dim, rows.dim});
      return builder_.assemble(tile, y, {columns.offset, rows.offset}, extents, 1, 0);
    }
    const TensorHandle y = tiles_.output(tile.dtype(), {rows.dim, columns.dim});
    builder_.assemble(tile, y, {rows.offset, columns.offset}, extents);
  }

  inline static const std::vector<std::int64_t> kWidths = {1, 2, 3, 5, 8, 15, 16, 17, 31, 33, 64, 70};
  TileCase case_;
  Builder builder_;
  Random random_;
  bool large_;
  RandomTiles tiles_;
  std::optional<Dim> heads_;
  Index position_ = 0;
};

}  // namespace

TileCase random_case(std::uint64_t seed, const RandomLimits& limits) {
  // verify/ is allowed to refuse what it cannot prove; the next attempt of the same seed is then taken.
  for (int attempt = 0;; ++attempt) {
    try {
      return RandomProgram(seed, attempt, limits).write();
    } catch (const Error&) {
      if (attempt == 50) throw;
    }
  }
}

Program with_chosen_tiles(const Program& program, std::uint64_t seed) {
  Random random(seed);
  Program out = program;
  for (TileParameter& tile : out.tiles)
    if (tile.chosen == 0) tile.chosen = random.of(tile.choices);
  for (Node& node : out.nodes)
    if (node.op == OpCode::index_constant && node.integer2 > 0)
      node.integer = out.tiles[static_cast<std::size_t>(node.integer2 - 1)].chosen;
  return out;
}

}  // namespace tilewright::tile
