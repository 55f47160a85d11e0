// One safetensors file, mapped: its tensors are views of the mapping.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/mapped_file.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace tilewright::hub {

struct TensorView {
  std::string name;
  std::string dtype_name;      // as the file spells it: "BF16"
  std::optional<DType> dtype;  // nothing for the format's dtypes that we do not compute with (U16, F64, F4 …)
  Shape shape;
  std::span<const std::byte> bytes;  // dense, row-major, little endian; valid as long as the file object lives
  const MappedFile* file = nullptr;

  // The format does not promise that a tensor's bytes are aligned for its dtype: who reads them through a typed pointer
  // asks this first and copies if it is false.
  bool aligned() const;
};

// Movable; views and the MappedFile keep their addresses when it moves.
class SafetensorsFile {
 public:
  // Throws Error as read_safetensors_header does, and for a file that cannot be mapped.
  static SafetensorsFile open(const std::filesystem::path& path);

  // The tensor, or null. A tensor that our shapes cannot hold (more than kMaxRank dims, a dim beyond 2^63) is an Error
  // when it is asked for, and only then.
  const TensorView* find(std::string_view name) const;
  // The tensor, or Error TensorNotFound naming those with the nearest names.
  const TensorView& get(std::string_view name) const;
  // Whether the file holds the name, also of a tensor that find() refuses.
  bool contains(std::string_view name) const;
  // In the order of their bytes; without those that find() refuses.
  std::span<const TensorView> tensors() const& { return tensors_; }
  std::span<const TensorView> tensors() const&& = delete;  // would outlive what it shows
  // The names that find() refuses, with their shapes in words.
  const std::map<std::string, std::string, std::less<>>& refused() const { return refused_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  const MappedFile& file() const { return *file_; }

 private:
  std::unique_ptr<MappedFile> file_;
  std::vector<TensorView> tensors_;
  std::unordered_map<std::string_view, const TensorView*> by_name_;
  std::map<std::string, std::string, std::less<>> refused_;
  std::map<std::string, std::string> metadata_;
};

// Throws the Error of a lookup that missed: names of `candidates` nearest to `name` are proposed.
[[noreturn]] void fail_tensor_not_found(std::string_view name, std::span<const std::string_view> candidates,
                                        const std::string& where);

}  // namespace tilewright::hub
