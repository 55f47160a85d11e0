#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "tile/interp/interpreter.h"

namespace tilewright::tile {
namespace {

[[noreturn]] void refuse(const Program& program, const std::string& tensor, const std::string& what,
                         const std::string& expected, const std::string& found, const std::string& fix) {
  fail({.what = what,
        .where = tensor.empty() ? fmt::format("tile program {}", program.name)
                                : fmt::format("tile program {}, tensor {}", program.name, tensor),
        .expected = expected,
        .found = found,
        .fix = fix});
}

void check_strides(const Program& program, int i, const TensorArgument& argument) {
  const TensorParameter& parameter = program.tensor(i);
  const std::vector<bool> unit = program.unit_stride(i);
  bool empty = false;
  for (std::size_t d = 0; d < parameter.shape.size(); ++d) {
    empty = empty || argument.shape[d] == 0;
    if (unit[d] && argument.strides[d] != 1 && argument.shape[d] > 1)
      refuse(program, parameter.name, fmt::format("dim {} has another stride than the program reads with", d), "1",
             std::to_string(argument.strides[d]), "copy the tensor, or let columns run along another dim");
  }
  if (!empty && argument.data == nullptr)
    refuse(program, parameter.name, "a tensor has no memory", "an address", "null", "pass its data");
}

}  // namespace

std::vector<std::int64_t> bind_arguments(const Program& program, const Arguments& arguments) {
  if (arguments.tensors.size() != program.tensors.size())
    refuse(program, "", "the number of tensors is wrong", std::to_string(program.tensors.size()),
           std::to_string(arguments.tensors.size()), "pass one argument per tensor of the program");
  if (arguments.scalars.size() != program.scalars.size())
    refuse(program, "", "the number of scalars is wrong", std::to_string(program.scalars.size()),
           std::to_string(arguments.scalars.size()), "pass one argument per scalar of the program");
  std::vector<std::int64_t> dims(program.dims.size(), -1);
  for (std::size_t i = 0; i < program.tensors.size(); ++i) {
    const TensorParameter& parameter = program.tensors[i];
    const TensorArgument& argument = arguments.tensors[i];
    const std::size_t rank = parameter.shape.size();
    if (argument.shape.size() != rank || argument.strides.size() != rank)
      refuse(program, parameter.name, "a tensor has the wrong rank", std::to_string(rank),
             fmt::format("{} extents, {} strides", argument.shape.size(), argument.strides.size()),
             "reshape it to the program's rank");
    for (std::size_t d = 0; d < rank; ++d) {
      const TensorDim& dim = parameter.shape[d];
      const std::int64_t found = argument.shape[d];
      std::int64_t expected = dim.size;
      if (dim.symbol != kNone) {
        std::int64_t& value = dims[static_cast<std::size_t>(dim.symbol)];
        if (value < 0) value = found;
        expected = value;
      }
      if (found != expected || found < 0)
        refuse(program, parameter.name, fmt::format("dim {} has the wrong extent", d),
               dim.symbol == kNone ? std::to_string(expected)
                                   : fmt::format("{} = {}, as other tensors have",
                                                 program.dims[static_cast<std::size_t>(dim.symbol)], expected),
               fmt::format("[{}]", fmt::join(argument.shape, ", ")), "pass tensors that fit one another");
    }
    check_strides(program, static_cast<int>(i), argument);
  }
  for (std::size_t s = 0; s < dims.size(); ++s)
    if (dims[s] < 0)
      refuse(program, "", fmt::format("nothing gives dim {} a value", program.dims[s]), "a tensor with that dim",
             "none", "use it in a tensor's shape, or make it a scalar");
  return dims;
}

}  // namespace tilewright::tile
