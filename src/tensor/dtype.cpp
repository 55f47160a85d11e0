#include "tensor/dtype.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>

#include "base/error.h"

namespace tilewright {
namespace {

struct Row {
  DType dtype;
  std::size_t size;
  std::string_view name, torch, safetensors;
};
constexpr Row kRows[] = {
    {DType::f32, 4, "f32", "float32", "F32"},          {DType::f16, 2, "f16", "float16", "F16"},
    {DType::bf16, 2, "bf16", "bfloat16", "BF16"},      {DType::f8e4m3, 1, "f8e4m3", "float8_e4m3fn", "F8_E4M3"},
    {DType::i64, 8, "i64", "int64", "I64"},            {DType::i32, 4, "i32", "int32", "I32"},
    {DType::u8, 1, "u8", "uint8", "U8"},               {DType::b8, 1, "bool", "bool", "BOOL"},
};
const Row& row(DType dtype) { return kRows[static_cast<int>(dtype)]; }

template <typename T>
T read(const void* data) {
  T value;
  std::memcpy(&value, data, sizeof value);
  return value;
}
template <typename T>
void write(void* data, T value) {
  std::memcpy(data, &value, sizeof value);
}
template <typename T>
T truncated(double value) {
  constexpr double low = static_cast<double>(std::numeric_limits<T>::min());
  constexpr double high = static_cast<double>(std::numeric_limits<T>::max());
  if (std::isnan(value)) return 0;
  if (value <= low) return std::numeric_limits<T>::min();
  if (value >= high) return std::numeric_limits<T>::max();
  return static_cast<T>(value);
}
// A double rounded to float so that rounding once more to a shorter type gives the double's nearest (round to odd).
float round_to_odd(double value) {
  float f = static_cast<float>(value);
  if (std::isnan(value) || std::isinf(f) || static_cast<double>(f) == value) return f;
  auto bits = std::bit_cast<std::uint32_t>(f);
  if (std::abs(static_cast<double>(f)) > std::abs(value)) --bits;  // toward zero
  return std::bit_cast<float>(bits | 1u);
}

}  // namespace

std::size_t dtype_size(DType dtype) { return row(dtype).size; }
std::string_view dtype_name(DType dtype) { return row(dtype).name; }
std::string_view dtype_torch_name(DType dtype) { return row(dtype).torch; }

DType dtype_from_name(std::string_view name) {
  std::string_view bare = name.starts_with("torch.") ? name.substr(6) : name;
  for (const Row& r : kRows)
    if (bare == r.name || bare == r.torch || bare == r.safetensors) return r.dtype;
  std::string known;
  for (const Row& r : kRows) known += (known.empty() ? "" : ", ") + std::string(r.name);
  fail({.what = "unknown dtype", .where = "", .expected = "one of " + known, .found = "\"" + std::string(name) + "\"", .fix = ""});
}

float f16_to_float(std::uint16_t h) {
  const std::uint32_t sign = std::uint32_t{h & 0x8000u} << 16;
  const std::uint32_t exponent = (h >> 10) & 0x1f;
  std::uint32_t mantissa = h & 0x3ffu;
  if (exponent == 0x1f)
    return std::bit_cast<float>(sign | 0x7f800000u | (mantissa << 13) | (mantissa ? 0x400000u : 0u));
  if (exponent == 0) {  // zero or subnormal: mantissa · 2^-24, exact in float
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | sign);
  }
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
}

std::uint16_t float_to_f16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000u);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<std::uint16_t>(sign | 0x7e00u | ((magnitude >> 13) & 0x1ffu));
  if (magnitude >= 0x477ff000u) return static_cast<std::uint16_t>(sign | 0x7c00u);  // rounds to 65536 or more
  if (magnitude < 0x38800000u) {                                                     // below 2^-14: subnormal
    const float scaled = std::bit_cast<float>(magnitude) * 0x1p24f;                  // exact; a multiple of 1 is one step
    return static_cast<std::uint16_t>(sign | static_cast<std::uint16_t>(std::nearbyint(scaled)));
  }
  const std::uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
  return static_cast<std::uint16_t>(sign | ((rounded >> 13) - (112u << 10)));
}

float f8e4m3_to_float(std::uint8_t v) {
  const float sign = v & 0x80 ? -1.0f : 1.0f;
  const int exponent = (v >> 3) & 0xf, mantissa = v & 7;
  if (exponent == 15 && mantissa == 7) return std::numeric_limits<float>::quiet_NaN();
  if (exponent == 0) return sign * std::ldexp(static_cast<float>(mantissa), -9);
  return sign * std::ldexp(static_cast<float>(8 + mantissa), exponent - 10);
}

std::uint8_t float_to_f8e4m3(float value) {
  const std::uint8_t sign = std::signbit(value) ? 0x80 : 0;
  const float magnitude = std::abs(value);
  if (std::isnan(value)) return sign | 0x7f;
  if (magnitude == 0) return sign;
  int exponent = std::max(std::ilogb(magnitude), -6);
  const float step = std::ldexp(1.0f, exponent - 3);
  float steps = std::nearbyint(magnitude / step);  // 8..16 for normal numbers
  if (steps == 16) steps = 8, ++exponent;
  if (exponent > 8 || (exponent == 8 && steps > 14)) return sign | 0x7f;
  if (steps < 8) return static_cast<std::uint8_t>(sign | static_cast<int>(steps));
  return static_cast<std::uint8_t>(sign | ((exponent + 7) << 3) | (static_cast<int>(steps) - 8));
}

double load_element(DType dtype, const void* data) {
  switch (dtype) {
    case DType::f32: return read<float>(data);
    case DType::f16: return f16_to_float(read<std::uint16_t>(data));
    case DType::bf16: return bf16_to_float(read<std::uint16_t>(data));
    case DType::f8e4m3: return f8e4m3_to_float(read<std::uint8_t>(data));
    case DType::i64: return static_cast<double>(read<std::int64_t>(data));
    case DType::i32: return read<std::int32_t>(data);
    case DType::u8: return read<std::uint8_t>(data);
    case DType::b8: return read<std::uint8_t>(data) ? 1.0 : 0.0;
  }
  return 0;
}

void store_element(DType dtype, void* data, double value) {
  switch (dtype) {
    case DType::f32: return write(data, static_cast<float>(value));
    case DType::f16: return write(data, float_to_f16(round_to_odd(value)));
    case DType::bf16: return write(data, float_to_bf16(round_to_odd(value)));
    case DType::f8e4m3: return write(data, float_to_f8e4m3(round_to_odd(value)));
    case DType::i64: return write(data, truncated<std::int64_t>(value));
    case DType::i32: return write(data, truncated<std::int32_t>(value));
    case DType::u8: return write(data, truncated<std::uint8_t>(value));
    case DType::b8: return write(data, static_cast<std::uint8_t>(value != 0));
  }
}

}  // namespace tilewright
