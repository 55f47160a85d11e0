// Runs a program by the interpreter on seeded inputs.
#pragma once

#include <cstring>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "tensor/dtype.h"
#include "tile/interp/interpreter.h"

namespace tilewright::tile {

// Outputs' bytes one after the other; what is not written stays 0xCD. Integers are in 0 … `most_integer`, i64
// scalars 5.
inline std::vector<std::byte> run(const Program& program, const std::map<std::string, std::int64_t>& dims,
                                  unsigned seed, int most_integer = 9) {
  std::mt19937 random(seed);
  std::vector<std::vector<std::byte>> memory;
  Arguments arguments;
  for (const TensorParameter& tensor : program.tensors) {
    TensorArgument argument;
    std::int64_t elements = 1;
    for (const TensorDim& dim : tensor.shape) {
      argument.shape.push_back(dim.symbol == kNone ? dim.size
                                                   : dims.at(program.dims[static_cast<std::size_t>(dim.symbol)]));
      elements *= argument.shape.back();
    }
    argument.strides.assign(argument.shape.size(), 1);
    for (std::size_t d = argument.shape.size(); d-- > 1;)
      argument.strides[d - 1] = argument.strides[d] * argument.shape[d];
    const std::size_t size = dtype_size(tensor.dtype);
    std::vector<std::byte>& bytes = memory.emplace_back(static_cast<std::size_t>(elements) * size, std::byte{0xCD});
    if (tensor.access == Access::read)
      for (std::int64_t i = 0; i < elements; ++i) {
        const double value = is_floating(tensor.dtype) ? std::normal_distribution<double>()(random)
                                                       : static_cast<double>(random() % (most_integer + 1));
        store_element(tensor.dtype, bytes.data() + static_cast<std::size_t>(i) * size, value);
      }
    arguments.tensors.push_back(argument);
  }
  for (std::size_t i = 0; i < memory.size(); ++i) arguments.tensors[i].data = memory[i].data();
  for (const ScalarParameter& scalar : program.scalars)
    arguments.scalars.push_back(scalar.dtype == DType::i64 ? 5 : 0.25);
  interpret(program, arguments);
  std::vector<std::byte> out;
  for (std::size_t i = 0; i < memory.size(); ++i)
    if (program.tensors[i].access == Access::write) out.insert(out.end(), memory[i].begin(), memory[i].end());
  return out;
}

}  // namespace tilewright::tile
