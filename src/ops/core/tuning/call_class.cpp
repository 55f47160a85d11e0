#include "ops/core/tuning/call_class.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>

namespace tilewright::ops {
namespace {

constexpr std::int64_t kWidestHead = 256;
constexpr double kMostSteps = 4;  // powers of two between classes that may stand for each other

bool integer(DType dtype) { return dtype == DType::i64 || dtype == DType::i32 || dtype == DType::u8; }

// Does an extent count keys? It is the rows of another operand (k, or a square mask), or too long for a head.
bool counts_keys(const OpCall& call, std::int64_t extent) {
  if (extent > kWidestHead) return true;
  for (const Tensor& t : call.inputs)
    if (t.defined() && t.rank() == 4 && extent > 1 && t.dim(2) == extent) return true;
  return false;
}

bool is_class(const OpCall& call, const Tensor& t, int axis) {
  if (t.layout() != Layout::strided) return false;  // weights
  if (t.rank() == 1) return integer(t.dtype());
  if (axis == t.rank() - 1) return t.rank() == 4 && counts_keys(call, t.dim(axis));
  return !(t.rank() == 4 && axis == 1);
}

char memory_order(const Tensor& t) {
  if (t.contiguous()) return 'c';
  return t.rank() > 0 && t.strides().back() == 1 ? 's' : 'x';
}

constexpr std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

// Odd random weights, one for each place in a call's geometry.
constexpr std::array<std::uint64_t, 256> kWeights = [] {
  std::array<std::uint64_t, 256> out{};
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = mixed((i + 1) * 0x9e3779b97f4a7c15ull) | 1;
  return out;
}();

// A weighted sum: the multiplications do not wait for each other, and this runs once a call.
class GeometryHash {
 public:
  void add(std::uint64_t value) { sum_ += (value + 1) * kWeights[next_++ & 255]; }
  std::uint64_t value() const { return mixed(sum_ + next_); }

 private:
  std::uint64_t sum_ = 0;
  std::size_t next_ = 0;
};

}  // namespace

std::int64_t row_class(std::int64_t n) {
  if (n <= 1) return n;
  if (n <= 4) return 4;
  if (n <= 16) return 16;
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(n)));
}

std::string call_class(const OpCall& call) {
  std::string out = call.op.schema.name;
  for (const Tensor& t : call.inputs) {
    if (!t.defined()) {
      out += " -";
      continue;
    }
    out += fmt::format(" {}[", dtype_name(t.dtype()));
    for (int i = 0; i < t.rank(); ++i) {
      if (i > 0) out += ',';
      out += is_class(call, t, i) ? fmt::format("~{}", row_class(t.dim(i))) : fmt::format("{}", t.dim(i));
    }
    out += ']';
    if (t.layout() == Layout::strided)
      out += memory_order(t);
    else
      out += layout_name(t.layout());
  }
  for (const Attributes::Entry& e : call.attributes)
    if (!std::holds_alternative<double>(e.value)) out += fmt::format(" {}={}", e.name, to_string(e.value));
  return out;
}

ClassForm class_form(std::string_view text) {
  ClassForm out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    out.form += text[i];
    if (text[i] != '~') continue;
    std::int64_t extent = 0;
    const char* begin = text.data() + i + 1;
    const auto [end, error] = std::from_chars(begin, text.data() + text.size(), extent);
    if (error != std::errc()) continue;
    out.extents.push_back(extent);
    i += static_cast<std::size_t>(end - begin);
  }
  return out;
}

double class_distance(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b) {
  constexpr double kApart = std::numeric_limits<double>::infinity();
  if (a.size() != b.size()) return kApart;
  double out = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i]) continue;
    if (a[i] <= 1 || b[i] <= 1) return kApart;
    const double steps = std::abs(std::log2(static_cast<double>(a[i]) / static_cast<double>(b[i])));
    if (steps > kMostSteps) return kApart;
    out += steps;
  }
  return out;
}

std::uint64_t geometry_hash(const OpCall& call) {
  GeometryHash hash;
  hash.add(static_cast<std::uint64_t>(call.op.index));
  for (const Tensor& t : call.inputs) {
    if (!t.defined()) {
      hash.add(~std::uint64_t{0} - 1);
      continue;
    }
    const int rank = t.rank();
    hash.add(static_cast<std::uint64_t>(t.dtype()) | static_cast<std::uint64_t>(t.layout()) << 8 |
             static_cast<std::uint64_t>(rank) << 16);
    for (const std::int64_t extent : t.shape()) hash.add(static_cast<std::uint64_t>(extent));
    for (const std::int64_t stride : t.strides()) hash.add(static_cast<std::uint64_t>(stride));
  }
  for (const Attributes::Entry& e : call.attributes) {
    hash.add(e.value.index());
    if (const auto* number = std::get_if<std::int64_t>(&e.value))
      hash.add(static_cast<std::uint64_t>(*number));
    else if (const auto* flag = std::get_if<bool>(&e.value))
      hash.add(*flag ? 1 : 0);
    else if (const auto* dtype = std::get_if<DType>(&e.value))
      hash.add(static_cast<std::uint64_t>(*dtype));
    else if (const auto* text = std::get_if<std::string_view>(&e.value))
      for (const char c : *text) hash.add(static_cast<unsigned char>(c));
    else if (const auto* dims = std::get_if<Dims>(&e.value))
      for (const std::int64_t d : *dims) hash.add(static_cast<std::uint64_t>(d));
  }
  return hash.value();
}

}  // namespace tilewright::ops
