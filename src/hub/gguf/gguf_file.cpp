#include "hub/gguf/gguf_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "base/error.h"
#include "hub/gguf/dequantize.h"

namespace tilewright::hub {
namespace {

constexpr const char* kAgain = "download or convert the file again";
constexpr int kMaxGgufDims = 4;

struct KindRow {
  const char* name;
  std::size_t bytes;  // of one element; 0: it varies
};
constexpr KindRow kKinds[] = {{"u8", 1},   {"i8", 1},     {"u16", 2},   {"i16", 2}, {"u32", 4}, {"i32", 4}, {"f32", 4},
                              {"bool", 1}, {"string", 0}, {"array", 0}, {"u64", 8}, {"i64", 8}, {"f64", 8}};

template <typename T>
T load(const std::byte* p) {
  T out;
  std::memcpy(&out, p, sizeof out);
  return out;
}

// Takes what it needs from the front; whatever the file promises is compared with what is left first.
class Reader {
 public:
  Reader(std::span<const std::byte> bytes, const std::string& where) : bytes_(bytes), where_(where) {}
  std::size_t left() const { return bytes_.size() - at_; }
  std::size_t at() const { return at_; }
  std::span<const std::byte> take(std::uint64_t size, const std::string& what) {
    if (size > left())
      fail({.what = "the file ends inside " + what,
            .where = where_,
            .expected = fmt::format("{} more bytes at offset {}", size, at_),
            .found = fmt::format("{}", left()),
            .fix = kAgain});
    const auto out = bytes_.subspan(at_, size);
    at_ += size;
    return out;
  }
  template <typename T>
  T number(const std::string& what) {
    return load<T>(take(sizeof(T), what).data());
  }
  std::string_view string(const std::string& what) {
    const auto bytes = take(number<std::uint64_t>(what), what);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  // A count of things that take at least `least` bytes each.
  std::uint64_t checked_count(std::uint64_t count, std::size_t least, const std::string& what) const {
    if (count > left() / least)
      fail({.what = "the file cannot hold as many " + what + " as it claims",
            .where = where_,
            .expected = fmt::format("at most {}", left() / least),
            .found = fmt::format("{}", count),
            .fix = kAgain});
    return count;
  }

 private:
  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
  const std::string& where_;
};

std::vector<std::string_view> split_strings(const GgufValue& value) {
  std::vector<std::string_view> out;
  out.reserve(value.count);
  const std::byte* p = value.bytes.data();
  for (std::uint64_t i = 0; i < value.count; ++i) {
    const auto size = load<std::uint64_t>(p);
    out.emplace_back(reinterpret_cast<const char*>(p + 8), size);
    p += 8 + size;
  }
  return out;
}

// The element at `p` as an integer, or nothing if it is none or does not fit.
std::optional<std::int64_t> integer_at(GgufKind kind, const std::byte* p) {
  switch (kind) {
    case GgufKind::u8:
      return load<std::uint8_t>(p);
    case GgufKind::i8:
      return load<std::int8_t>(p);
    case GgufKind::u16:
      return load<std::uint16_t>(p);
    case GgufKind::i16:
      return load<std::int16_t>(p);
    case GgufKind::u32:
      return load<std::uint32_t>(p);
    case GgufKind::i32:
      return load<std::int32_t>(p);
    case GgufKind::i64:
      return load<std::int64_t>(p);
    case GgufKind::u64: {
      const auto value = load<std::uint64_t>(p);
      if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return std::nullopt;
      return static_cast<std::int64_t>(value);
    }
    default:
      return std::nullopt;
  }
}

// 1e-5 stored as a 32-bit float is meant, and published, as 1e-05, not as 9.99999974737875e-06.
double shortest_decimal(float value) {
  if (!std::isfinite(value)) return value;
  return std::strtod(fmt::format("{}", value).c_str(), nullptr);
}

}  // namespace

std::string_view gguf_kind_name(GgufKind kind) { return kKinds[static_cast<std::size_t>(kind)].name; }

class GgufParser {
 public:
  GgufParser(std::span<const std::byte> file, const std::string& where) : file_(file), reader_(file, where) {
    out_.where_ = where;
  }

  GgufContent run() {
    std::uint64_t tensors = 0, values = 0;
    read_counts(tensors, values);
    for (std::uint64_t i = 0; i < values; ++i) read_pair();
    alignment_ = read_alignment();
    std::vector<std::uint64_t> offsets;
    for (std::uint64_t i = 0; i < tensors; ++i) offsets.push_back(read_tensor());
    place_tensors(offsets);
    return std::move(out_);
  }

 private:
  [[noreturn]] void refuse(std::string what, std::string expected, std::string found) const {
    fail({.what = std::move(what),
          .where = out_.where_,
          .expected = std::move(expected),
          .found = std::move(found),
          .fix = kAgain});
  }

  void read_counts(std::uint64_t& tensors, std::uint64_t& values) {
    const auto magic = reader_.take(4, "its magic number");
    if (std::memcmp(magic.data(), "GGUF", 4) != 0)
      refuse("this is not a GGUF file", "the letters GGUF at its start", "other bytes");
    const auto version = reader_.number<std::uint32_t>("its version");
    if (version != 2 && version != 3)
      refuse("this GGUF version cannot be read", "version 2 or 3, little endian",
             (version & 0xffff) == 0 ? "a big-endian file" : fmt::format("version {}", version));
    tensors = reader_.number<std::uint64_t>("the tensor count");
    values = reader_.number<std::uint64_t>("the metadata count");
    reader_.checked_count(values, 13, "metadata entries");  // key length, kind, one byte of value
    reader_.checked_count(tensors, 24, "tensors");          // name length, dim count, type, offset
  }

  GgufKind read_kind(const std::string& what) {
    const auto kind = reader_.number<std::uint32_t>(what);
    if (kind >= std::size(kKinds)) refuse(what + " is of an unknown kind", "0 to 12", fmt::format("{}", kind));
    return static_cast<GgufKind>(kind);
  }

  void read_pair() {
    const std::string key(reader_.string("a metadata key"));
    const std::string what = "metadata \"" + key.substr(0, 80) + "\"";
    GgufValue value{.kind = read_kind(what)};
    if (value.kind == GgufKind::array) {
      value.is_array = true;
      value.kind = read_kind(what);
      if (value.kind == GgufKind::array) refuse(what + " is an array of arrays", "a flat array", "a nested one");
      value.count = reader_.number<std::uint64_t>(what);
    }
    const std::size_t size = kKinds[static_cast<std::size_t>(value.kind)].bytes;
    reader_.checked_count(value.count, size ? size : 8, "elements in " + what);
    if (size) {
      value.bytes = reader_.take(value.count * size, what);
    } else {
      const std::size_t from = reader_.at();
      for (std::uint64_t i = 0; i < value.count; ++i) reader_.string(what);
      value.bytes = file_.subspan(from, reader_.at() - from);
    }
    if (!out_.values_.emplace(key, value).second) refuse(what + " occurs twice", "each key once", "");
  }

  std::uint64_t read_alignment() const {
    const GgufValue* value = out_.find("general.alignment");
    if (!value) return 32;
    const std::int64_t alignment = out_.integer("general.alignment").value();
    if (alignment <= 0 || alignment > (1 << 30) || !std::has_single_bit(static_cast<std::uint64_t>(alignment)))
      refuse("\"general.alignment\" is no alignment", "a power of two", fmt::format("{}", alignment));
    return static_cast<std::uint64_t>(alignment);
  }

  // Returns the offset of its bytes in the data part; `bytes` holds nothing but its size for now (see place_tensors).
  std::uint64_t read_tensor() {
    GgufTensor tensor{.name = std::string(reader_.string("a tensor's name"))};
    const std::string what = "tensor \"" + tensor.name.substr(0, 80) + "\"";
    const auto rank = reader_.number<std::uint32_t>(what);
    if (rank > kMaxGgufDims) refuse(what + " has too many dims", "at most 4", fmt::format("{}", rank));
    std::int64_t product = 1;  // of dims without zeros: what strides multiply
    for (std::uint32_t i = 0; i < rank; ++i) {
      const auto dim = reader_.number<std::uint64_t>(what);
      const auto nonzero = static_cast<std::int64_t>(std::max<std::uint64_t>(1, dim));
      if (dim > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) ||
          __builtin_mul_overflow(product, nonzero, &product))
        refuse(what + " is impossibly large", "a size that fits 64 bits", fmt::format("a dim of {}", dim));
      tensor.shape.insert(0, static_cast<std::int64_t>(dim));
    }
    tensor.type = reader_.number<std::uint32_t>(what);
    const auto offset = reader_.number<std::uint64_t>(what);
    if (offset % alignment_ != 0)
      refuse(what + " is misaligned", fmt::format("an offset that is a multiple of {}", alignment_),
             fmt::format("{}", offset));
    if (!out_.tensor_index_.emplace(tensor.name, out_.tensors_.size()).second)
      refuse(what + " occurs twice", "each name once", "");
    out_.tensors_.push_back(std::move(tensor));
    return offset;
  }

  std::uint64_t byte_size(const GgufTensor& tensor) const {
    const GgufTypeInfo* info = gguf_type(tensor.type);
    if (!info || !info->dequantize) return 0;
    const auto elements = static_cast<std::uint64_t>(tensor.shape.elements());
    const auto row = tensor.shape.rank() ? static_cast<std::uint64_t>(tensor.shape.back()) : 1;
    const std::string what = "tensor \"" + tensor.name.substr(0, 80) + "\"";
    if (row % info->block_elements != 0)
      refuse(what + " has rows that are no whole blocks",
             fmt::format("a multiple of {} for {}", info->block_elements, info->name), fmt::format("{}", row));
    std::uint64_t bytes = 0;
    if (__builtin_mul_overflow(elements / info->block_elements, std::uint64_t{info->block_bytes}, &bytes))
      refuse(what + " is impossibly large", "a size that fits 64 bits", to_string(tensor.shape));
    return bytes;
  }

  void place_tensors(const std::vector<std::uint64_t>& offsets) {
    const std::size_t padding = (alignment_ - reader_.at() % alignment_) % alignment_;
    const std::span<const std::byte> data = file_.subspan(std::min(file_.size(), reader_.at() + padding));
    struct Placed {
      std::uint64_t begin, end;
      std::size_t tensor;
    };
    std::vector<Placed> placed;
    for (std::size_t i = 0; i < offsets.size(); ++i) {
      GgufTensor& tensor = out_.tensors_[i];
      const std::uint64_t size = byte_size(tensor);
#ifndef TILEWRIGHT_PLANTED_FAULT  // fuzz/gguf.cmake shows that the fuzz target notices when this check is gone
      if (offsets[i] > data.size() || size > data.size() - offsets[i])
        refuse("tensor \"" + tensor.name + "\" lies beyond the end of the file",
               fmt::format("{} bytes at offset {} of the data", size, offsets[i]),
               fmt::format("{} bytes of data", data.size()));
#endif
      tensor.bytes = {data.data() + offsets[i], size};
      if (size) placed.push_back({offsets[i], offsets[i] + size, i});
    }
    std::sort(placed.begin(), placed.end(), [](const Placed& a, const Placed& b) { return a.begin < b.begin; });
    for (std::size_t i = 1; i < placed.size(); ++i)
      if (placed[i].begin < placed[i - 1].end)
        refuse(fmt::format("tensors \"{}\" and \"{}\" overlap", out_.tensors_[placed[i - 1].tensor].name,
                           out_.tensors_[placed[i].tensor].name),
               fmt::format("an offset of at least {}", placed[i - 1].end), fmt::format("{}", placed[i].begin));
  }

  std::span<const std::byte> file_;
  Reader reader_;
  GgufContent out_;
  std::uint64_t alignment_ = 32;
};

GgufContent GgufContent::parse(std::span<const std::byte> file, const std::string& where) {
  return GgufParser(file, where).run();
}

GgufFile GgufFile::open(const std::filesystem::path& path) {
  GgufFile out;
  out.file = std::make_unique<MappedFile>(path);
  out.content = GgufContent::parse(out.file->bytes(), path.string());
  return out;
}

const GgufValue* GgufContent::find(std::string_view key) const {
  const auto it = values_.find(std::string(key));
  return it == values_.end() ? nullptr : &it->second;
}

const GgufTensor* GgufContent::tensor(std::string_view name) const {
  const auto it = tensor_index_.find(std::string(name));
  return it == tensor_index_.end() ? nullptr : &tensors_[it->second];
}

namespace {

[[noreturn]] void wrong_kind(const GgufContent& content, std::string_view key, const GgufValue& value,
                             const char* wanted) {
  fail({.what = fmt::format("metadata \"{}\" is not what it should be", key),
        .where = content.where(),
        .expected = wanted,
        .found = fmt::format("{}{}", value.is_array ? "an array of " : "", gguf_kind_name(value.kind)),
        .fix = kAgain});
}
[[noreturn]] void missing(const GgufContent& content, std::string_view key) {
  fail({.what = fmt::format("metadata \"{}\" is missing", key),
        .where = content.where(),
        .expected = "a file with a whole model",
        .found = "",
        .fix = kAgain});
}

}  // namespace

std::optional<std::string> GgufContent::text(std::string_view key) const {
  const GgufValue* value = find(key);
  if (!value) return std::nullopt;
  if (value->is_array || value->kind != GgufKind::string) wrong_kind(*this, key, *value, "a string");
  return std::string(split_strings(*value)[0]);
}

std::optional<std::int64_t> GgufContent::integer(std::string_view key) const {
  const GgufValue* value = find(key);
  if (!value) return std::nullopt;
  const auto out = value->is_array ? std::nullopt : integer_at(value->kind, value->bytes.data());
  if (!out) wrong_kind(*this, key, *value, "an integer");
  return out;
}

std::optional<double> GgufContent::real(std::string_view key) const {
  const GgufValue* value = find(key);
  if (!value) return std::nullopt;
  if (!value->is_array && value->kind == GgufKind::f32) return shortest_decimal(load<float>(value->bytes.data()));
  if (!value->is_array && value->kind == GgufKind::f64) return load<double>(value->bytes.data());
  const auto out = value->is_array ? std::nullopt : integer_at(value->kind, value->bytes.data());
  if (!out) wrong_kind(*this, key, *value, "a number");
  return static_cast<double>(*out);
}

std::optional<bool> GgufContent::boolean(std::string_view key) const {
  const GgufValue* value = find(key);
  if (!value) return std::nullopt;
  if (value->is_array || value->kind != GgufKind::boolean) wrong_kind(*this, key, *value, "true or false");
  return load<std::uint8_t>(value->bytes.data()) != 0;
}

std::optional<std::vector<std::string_view>> GgufContent::texts(std::string_view key) const {
  const GgufValue* value = find(key);
  if (!value) return std::nullopt;
  if (!value->is_array || value->kind != GgufKind::string) wrong_kind(*this, key, *value, "an array of strings");
  return split_strings(*value);
}

std::optional<std::vector<std::int64_t>> GgufContent::integers(std::string_view key) const {
  const GgufValue* value = find(key);
  if (!value) return std::nullopt;
  std::vector<std::int64_t> out;
  const std::size_t size = kKinds[static_cast<std::size_t>(value->kind)].bytes;
  for (std::uint64_t i = 0; value->is_array && i < value->count; ++i) {
    const auto element = integer_at(value->kind, value->bytes.data() + i * size);
    if (!element) break;
    out.push_back(*element);
  }
  if (!value->is_array || out.size() != value->count) wrong_kind(*this, key, *value, "an array of integers");
  return out;
}

std::optional<std::vector<float>> GgufContent::reals(std::string_view key) const {
  const GgufValue* value = find(key);
  if (!value) return std::nullopt;
  if (!value->is_array || value->kind != GgufKind::f32) wrong_kind(*this, key, *value, "an array of f32");
  std::vector<float> out(value->count);
  if (!out.empty()) std::memcpy(out.data(), value->bytes.data(), out.size() * sizeof(float));
  return out;
}

std::string GgufContent::required_text(std::string_view key) const {
  auto out = text(key);
  if (!out) missing(*this, key);
  return *out;
}

std::int64_t GgufContent::required_integer(std::string_view key) const {
  const auto out = integer(key);
  if (!out) missing(*this, key);
  return *out;
}

}  // namespace tilewright::hub
