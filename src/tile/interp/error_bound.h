// How far another execution of a program may stray from the interpreter's results: a bound for every element written,
// propagated from node to node beside the interpreter's values. Not a tolerance but a consequence of what consumers are
// allowed to do (docs/tile-language.md, "Accuracy"):
//   exact      add sub mul div sqrt neg abs minimum maximum, comparisons, logic, where, casts, integers, moves: IEEE.
//              With exact operands the result is exact, except that a product which is added may be left unrounded.
//   ulps       exp log rsqrt reciprocal sin cos tanh erf sigmoid silu gelu gelu_tanh: kUlps of f32.
//   any order  sums, means and matrix products may add in any order, fused or not, in f32: n·2^-24·Σ|terms|. Where all
//              terms are multiples of one power of two so small in number that every partial sum is exact, so is the
//              result.
// An inexact operand widens the result by the operation's own slope (monotone functions: by their values at the ends).
// A comparison within the bounds of its operands is unknown, and so is what depends on it. The bound is infinite where
// nothing can be said; coverage of a test is what has a finite one.
#pragma once

#include <unordered_map>
#include <vector>

#include "tile/interp/interpreter.h"

namespace tilewright::tile {

// Errors of compiled elementary functions in units of the last place of the result (gelu, gelu_tanh: of x/2), against
// the exact value. tests/tile_llvm holds the compiler to them.
double allowed_ulps(OpCode op);

class ErrorBound : public Watcher {
 public:
  explicit ErrorBound(const Program& program);
  void computed(ValueId node, const Environment& environment) override;
  void carried(std::span<const ValueId> arguments, std::span<const ValueId> sources,
               const Environment& environment) override;
  void moved(ValueId node, std::size_t element, std::int64_t at) override;

  struct Written {
    double value = 0;
    double error = 0;  // infinite: anything may be there
  };
  // By tensor and element of its data: the last write.
  const std::unordered_map<std::int64_t, Written>& written(int tensor) const {
    return written_[static_cast<std::size_t>(tensor)];
  }

 private:
  using Errors = std::vector<double>;  // one per element of the tile; nothing: all exact
  Errors of(ValueId id, const Environment& environment) const;
  Errors elementwise(const Node& node, const TileValue& value, const Environment& environment) const;
  Errors whole(ValueId id, const Node& node, const TileValue& value, const Environment& environment) const;

  const Program& program_;
  std::vector<Errors> errors_;
  std::vector<std::unordered_map<std::int64_t, Written>> written_;
  std::vector<std::pair<std::size_t, std::int64_t>> moves_;  // of the assemble that runs
};

}  // namespace tilewright::tile
