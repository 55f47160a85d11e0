// Writes random tile expressions into a program: what stands in the loops of random_program.cpp.
#pragma once

#include <string>
#include <vector>

#include "tile/random/axis.h"
#include "tile/random/random.h"
#include "tile/random/random_program.h"

namespace tilewright::tile {

class RandomTiles {
 public:
  RandomTiles(Builder& builder, Random& random, TileCase& out, const RandomLimits& limits)
      : b(builder), r(random), out_(out), limits_(limits) {}

  // A tile of these axes. Where an axis is restricted, its elements beyond are undefined.
  Tile make(const Axis& rows, const Axis& columns, DType dtype, int depth);

  // Axes. `symbol`: along a dim that is known at run time only.
  Axis fixed_axis(std::int64_t size);
  Axis whole_symbol_axis();  // one tile from the beginning of such a dim
  Axis loop_axis(const Dim& dim, Index variable, Extent extent, Index extent_index, std::int64_t most);
  Axis inner_axis(const Axis& beside);
  Dim symbol();  // a new or an old one
  Builder::Chosen parameter();
  bool wants_parameter() { return limits_.tile_parameters && r.chance(12); }

  // Numbers. All are small: what they are made of is.
  Index index(int depth);
  Index bound(Index most);  // 0 … most, now and then read from a tensor

  // Between enter and leave: a loop's body, in which `axis` and `variable` exist.
  void enter(const Axis* axis, const Index* variable);
  void leave();
  // `axis` picks single positions of tensors with one dim more: heads.
  void set_heads(const Dim& dim, const Index& position) { heads_ = {dim, position}; }
  void clear_heads() { heads_.reset(); }
  TensorHandle output(DType dtype, const std::vector<Dim>& shape);
  std::int64_t chosen_size(std::int64_t most);
  void add_tensor_data(TileCase::Fill fill, std::int64_t low = 0, std::int64_t high = 1);

 private:
  struct Known {
    Tile tile;
    int rows, columns;
  };
  struct Scope {
    std::size_t known, axes, variables;
  };
  struct Input {
    DType dtype;
    std::vector<TensorDim> shape;
    bool turned;
    TileCase::Fill fill;
    std::int64_t low, high;
    TensorHandle handle;
  };
  struct Heads {
    Dim dim;
    Index position;
  };

  Tile fresh(const Axis& rows, const Axis& columns, DType dtype, int depth);
  Tile leaf(const Axis& rows, const Axis& columns, DType dtype);
  Tile plain_leaf(const Axis& rows, const Axis& columns, DType dtype);
  Tile view(const Axis& rows, const Axis& columns, DType dtype);
  Tile gather(const Axis& rows, const Axis& columns, DType dtype, int depth);
  Tile restrict(Tile tile, const Axis& rows, const Axis& columns);
  Tile filled(double value, const Axis& rows, const Axis& columns, DType dtype);
  Tile spread(Tile one, const Axis& rows, const Axis& columns);

  // Undefined tiles where an operation does not suit the axes.
  Tile moved(const Axis& rows, const Axis& columns, DType dtype, int depth);
  Tile reduced(const Axis& rows, const Axis& columns, int depth);
  Tile product(const Axis& rows, const Axis& columns, int depth);
  Tile looped(const Axis& rows, const Axis& columns, int depth);
  Tile top(const Axis& rows, const Axis& columns, DType dtype, int depth);
  Tile of_f32(const Axis& rows, const Axis& columns, int depth);
  Tile of_i32(const Axis& rows, const Axis& columns, int depth);
  Tile of_bool(const Axis& rows, const Axis& columns, int depth);
  Tile unary_f32(const Axis& rows, const Axis& columns, int depth);

  TensorHandle input(DType dtype, const std::vector<Dim>& shape, bool turned, TileCase::Fill fill, std::int64_t low,
                     std::int64_t high);
  TensorHandle input(DType dtype, const std::vector<Dim>& shape, bool turned = false);
  Index load();
  bool fits(const Axis& a, const Axis& c) const { return a.most * c.most <= limits_.area; }
  bool full() const { return static_cast<int>(b.program().nodes.size()) > limits_.nodes; }

  Builder& b;
  Random& r;
  TileCase& out_;
  RandomLimits limits_;
  int axes_made_ = 0, names_ = 0;
  std::vector<Known> known_;
  std::vector<Axis> axes_;        // of the loops around
  std::vector<Index> variables_;  // of the loops around
  std::vector<Scope> scopes_;
  std::vector<Input> inputs_;
  std::vector<Dim> symbols_;
  std::optional<Heads> heads_;
  int loops_ = 0;
};

}  // namespace tilewright::tile
