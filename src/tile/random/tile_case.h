// A program together with arguments it accepts, small enough to be made from a seed, printed, and made smaller.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tile/interp/interpreter.h"
#include "tile/ir/program.h"

namespace tilewright::tile {

struct TileCase {
  // grid: multiples of 1/8 in -4 … 4, whose short sums and products are exact in f32. normal: reals in -3 … 3.
  // edges: grid values mixed with NaN, infinities, zeros of both signs, denormals and huge numbers.
  // whole: whole numbers low … high.
  enum class Fill { grid, normal, edges, whole };
  struct TensorData {
    Fill fill = Fill::grid;
    std::int64_t low = 0, high = 1;
    std::int64_t padding = 0;  // elements between rows
    std::uint64_t seed = 0;
  };
  Program program;
  std::vector<std::int64_t> dims;   // the value of each symbolic dim
  std::vector<double> scalars;      // as Arguments::scalars
  std::vector<TensorData> tensors;  // per tensor of the program
};

// The program's text and the arguments.
std::string case_text(const TileCase& tile_case);

// The tensors of one run of a case. Each lies at the end of its own pages, with a page behind it and one before it that
// cannot be touched; the bytes between rows and outputs themselves are filled with a pattern, inputs between rows with
// ones (NaN, -1).
class CaseMemory {
 public:
  explicit CaseMemory(const TileCase& tile_case);
  CaseMemory(CaseMemory&&) = delete;
  ~CaseMemory();

  const Arguments& arguments() const { return arguments_; }
  // What was touched that must not be: an input, or bytes between the rows of an output. Empty if nothing.
  std::string damage() const;
  std::int64_t tensors() const { return static_cast<std::int64_t>(areas_.size()); }
  // Elements from the first to the last of tensor `i`, padding included.
  std::int64_t span(int i) const { return areas_[static_cast<std::size_t>(i)].elements; }
  // Whether element `at` belongs to the tensor (is not padding).
  bool belongs(int i, std::int64_t at) const {
    return areas_[static_cast<std::size_t>(i)].belongs[static_cast<std::size_t>(at)];
  }
  bool written(int i, std::int64_t at) const;  // differs from the pattern that outputs are filled with
  double value(int i, std::int64_t at) const;

 private:
  struct Area {
    std::string name;
    DType dtype = DType::f32;
    Access access = Access::read;
    std::byte* pages = nullptr;
    std::size_t size = 0;  // of the pages, guards included
    std::byte* data = nullptr;
    std::int64_t elements = 0;
    std::vector<bool> belongs;
    std::vector<std::byte> before;  // what inputs held
  };
  std::vector<Area> areas_;
  Arguments arguments_;
};

}  // namespace tilewright::tile
