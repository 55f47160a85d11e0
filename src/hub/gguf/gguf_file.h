// A GGUF file, mapped: its metadata and its tensors as views. Versions 2 and 3, little endian.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/mapped_file.h"
#include "tensor/shape.h"

namespace tilewright::hub {

enum class GgufKind : std::uint32_t { u8, i8, u16, i16, u32, i32, f32, boolean, string, array, u64, i64, f64 };
std::string_view gguf_kind_name(GgufKind kind);

// A value of the metadata: a view into the file. A scalar has count 1.
struct GgufValue {
  GgufKind kind =
      GgufKind::u8;  // of the elements, if it is an array; never GgufKind::array (nested arrays are refused)
  bool is_array = false;
  std::uint64_t count = 1;
  std::span<const std::byte> bytes;  // the elements one after the other, as the file holds them
};

struct GgufTensor {
  std::string name;
  std::uint32_t type = 0;  // see dequantize.h
  Shape shape;             // outermost first: the reverse of the file's order, the order of the published model
  std::span<const std::byte> bytes;  // empty for a type whose size we do not know
};

// Views into `file`, which must outlive it.
class GgufContent {
 public:
  // Checks magic, version, every count, string and offset before use; a key or tensor name that occurs twice, more than
  // four dims, sizes that overflow, an alignment that is no power of two, tensors that are misaligned, beyond the file
  // or overlap are refused. `where` names the file in errors. Throws Error.
  static GgufContent parse(std::span<const std::byte> file, const std::string& where);

  const std::string& where() const { return where_; }
  const GgufValue* find(std::string_view key) const;
  // The value of a key converted, or nothing if the key is absent; Error if it is of another kind. Integers of every
  // width and sign are taken for one another as long as the value fits.
  std::optional<std::string> text(std::string_view key) const;
  std::optional<std::int64_t> integer(std::string_view key) const;
  std::optional<double> real(std::string_view key) const;  // also from integers; a 32-bit float as its shortest decimal
  std::optional<bool> boolean(std::string_view key) const;
  std::optional<std::vector<std::string_view>> texts(std::string_view key) const;
  std::optional<std::vector<std::int64_t>> integers(std::string_view key) const;
  std::optional<std::vector<float>> reals(std::string_view key) const;
  // text() and integer() of a key that must be there.
  std::string required_text(std::string_view key) const;
  std::int64_t required_integer(std::string_view key) const;

  std::span<const GgufTensor> tensors() const { return tensors_; }  // in the file's order
  const GgufTensor* tensor(std::string_view name) const;

 private:
  friend class GgufParser;
  std::string where_;
  std::unordered_map<std::string, GgufValue> values_;
  std::vector<GgufTensor> tensors_;
  std::unordered_map<std::string, std::size_t> tensor_index_;
};

struct GgufFile {
  std::unique_ptr<MappedFile> file;
  GgufContent content;
  static GgufFile open(const std::filesystem::path& path);
};

}  // namespace tilewright::hub
