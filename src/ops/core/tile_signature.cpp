#include "ops/core/tile_signature.h"

#include <fmt/format.h>

#include <bit>

#include "base/error.h"

namespace tilewright::ops {
namespace {

constexpr std::int64_t kUnknown = -1;

[[noreturn]] void refuse_program(const tile::Program& program, const std::string& what, const std::string& expected,
                                 const std::string& found) {
  fail({.what = what, .where = "tile program " + program.name, .expected = expected, .found = found, .fix = ""});
}

}  // namespace

TileSignature::TileSignature(const tile::Program& program) : name_(program.name), dims_(program.dims) {
  std::vector<bool> named(dims_.size(), false);
  value_count_ = dims_.size() + program.scalars.size();
  for (std::size_t i = 0; i < program.tensors.size(); ++i) {
    const tile::TensorParameter& t = program.tensors[i];
    TensorDemand demand{.name = t.name, .dtype = t.dtype, .written = t.access == tile::Access::write, .shape = t.shape};
    demand.unit_stride = program.unit_stride(static_cast<int>(i));
    for (const tile::Node& node : program.nodes)
      demand.holds_extents |= node.op == tile::OpCode::index_load && node.tensor == static_cast<int>(i);
    for (const tile::TensorDim& dim : t.shape)
      if (dim.symbol != tile::kNone) named[static_cast<std::size_t>(dim.symbol)] = true;
    value_count_ += t.shape.size();
    tensors_.push_back(std::move(demand));
  }
  for (const tile::ScalarParameter& s : program.scalars) scalars_.push_back(s.dtype);
  for (std::size_t i = 0; i < named.size(); ++i)
    if (!named[i])
      refuse_program(program, "a symbolic dim belongs to no tensor, so that nothing gives its value", "", dims_[i]);
  if (tensors_.size() > runtime::kMaxBufferArgs)
    refuse_program(program, "too many tensors for one launch", fmt::format("at most {}", runtime::kMaxBufferArgs),
                   std::to_string(tensors_.size()));
  if (value_count_ > kMaxTileValues)
    refuse_program(program, "too many dims, strides and scalars for one launch",
                   fmt::format("at most {}", kMaxTileValues), std::to_string(value_count_));
}

std::string TileSignature::check(const TileArguments& arguments,
                                 std::array<std::int64_t, kMaxTileValues>& values) const {
  if (arguments.tensors.size() != tensors_.size() || arguments.scalars.size() != scalars_.size())
    return fmt::format("the kernel binds {} tensors and {} scalars, its program has {} and {}",
                       arguments.tensors.size(), arguments.scalars.size(), tensors_.size(), scalars_.size());
  std::size_t at = dims_.size();
  for (std::size_t i = 0; i < at; ++i) values[i] = kUnknown;
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const TensorDemand& wanted = tensors_[i];
    const Tensor& given = arguments.tensors[i];
    if (!given.defined() && !wanted.written) return wanted.name + " is not given";
    if (given.dtype() != wanted.dtype)
      return fmt::format("{} is {}, the program takes {}", wanted.name, dtype_name(given.dtype()),
                         dtype_name(wanted.dtype));
    if (given.layout() != Layout::strided) return fmt::format("{} is packed ({})", wanted.name, given.describe());
    const int rank = static_cast<int>(wanted.shape.size());
    if (given.rank() != rank)
      return fmt::format("{} has {} dims, the program takes {}", wanted.name, given.rank(), rank);
    for (int d = 0; d < rank; ++d) {
      const tile::TensorDim& dim = wanted.shape[static_cast<std::size_t>(d)];
      const std::int64_t extent = given.shape()[d];
      if (dim.symbol == tile::kNone) {
        if (extent != dim.size)
          return fmt::format("dim {} of {} is {}, the program takes {}", d, wanted.name, extent, dim.size);
      } else {
        std::int64_t& value = values[static_cast<std::size_t>(dim.symbol)];
        if (value == kUnknown) value = extent;
        if (value != extent)
          return fmt::format("dim {} of {} is {}, but {} is {} elsewhere", d, wanted.name, extent,
                             dims_[static_cast<std::size_t>(dim.symbol)], value);
      }
      const std::int64_t stride = given.strides()[d];
      if (wanted.unit_stride[static_cast<std::size_t>(d)] && stride != 1 && extent > 1)
        return fmt::format("dim {} of {} has stride {}, the program reads it with stride 1", d, wanted.name, stride);
      values[at++] = stride;
    }
  }
  for (std::size_t i = 0; i < scalars_.size(); ++i)
    values[at++] =
        scalars_[i] == DType::f32
            ? static_cast<std::int64_t>(std::bit_cast<std::uint32_t>(static_cast<float>(arguments.scalars[i])))
            : static_cast<std::int64_t>(arguments.scalars[i]);
  return {};
}

void TileSignature::add_buffers(const TileArguments& arguments, runtime::Launch& launch) const {
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const Tensor& t = arguments.tensors[i];
    launch.add_buffer(tensors_[i].written ? runtime::write_arg(t) : runtime::read_arg(t));
    if (tensors_[i].holds_extents) launch.device_extents = &t.memory();
  }
}

}  // namespace tilewright::ops
