// A kernel of an operator as a tile program: what a kernel author writes in ops/<name>/kernel.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

#include "ops/core/inline_list.h"
#include "ops/core/op.h"
#include "tile/ir/program.h"

namespace tilewright::ops {

// What must be known when the program is compiled. Everything else (rows, lengths, strides) stays symbolic, so that it
// never leads to a compilation. `numbers` are named by TileKernel::numbers.
struct Specialisation {
  static constexpr int kMaxNumbers = 8;
  DType dtype = DType::f32;
  std::array<std::int64_t, kMaxNumbers> numbers{};
  bool operator==(const Specialisation&) const = default;
};

// The arguments of one launch, in the order of the program's tensors and scalars. Tensors have the rank that the
// program gives them; views of the call's tensors are free. Held inline: binding a launch takes nothing from the heap.
struct TileArguments {
  InlineList<Tensor, runtime::kMaxBufferArgs> tensors;
  InlineList<double, 16> scalars = {};
};

struct TileKernel {
  std::string name;
  CandidateKind kind = CandidateKind::tile;
  std::vector<std::string> numbers = {};  // names for `kernels show NAME --<number> N`: {"dim"}
  std::string guards = {};                // what calls it serves, in a few words for a list: "head sizes up to 1024"
  // Why this call cannot be served (a phrase a user can read), or empty. What the program itself demands (dtypes, unit
  // strides, one value per symbolic dim) is checked by the caller and need not be repeated.
  // May be empty. Asked anew for every call, before outputs are known.
  std::function<std::string(const OpCall&)> refuse;
  std::function<Specialisation(const OpCall&)> specialise;
  std::function<tile::Program(const Specialisation&)> build;
  // Outputs are known. While a call is only asked about they have no memory, so make views of them and nothing else.
  std::function<TileArguments(const OpCall&)> bind;
  // Compiled when the project is built, beside what the op's bench cases lead to (shipped.h).
  std::vector<Specialisation> shipped = {};
};

}  // namespace tilewright::ops
