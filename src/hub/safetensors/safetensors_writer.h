// Writes safetensors files as the reference writer does, byte for byte: dtypes with the largest elements first, then by
// name, the header padded with spaces to a multiple of 8.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>

#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace tilewright::hub {

using ByteSink = std::function<void(std::span<const std::byte>)>;

struct TensorToWrite {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;
  std::span<const std::byte> bytes = {};  // used if `produce` is empty
  std::function<void(const ByteSink&)> produce =
      {};  // gives the bytes piece by piece, so that they need not fit in memory
};

// The file appears by rename; on failure (also a full disk) nothing is left. Throws Error; aborts on a repeated name or
// if a tensor gives another number of bytes than its shape and dtype say.
void write_safetensors(const std::filesystem::path& path, std::span<const TensorToWrite> tensors,
                       const std::map<std::string, std::string>& metadata = {});

}  // namespace tilewright::hub
