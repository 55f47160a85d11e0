// Element types and their conversions to and from float.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tilewright {

enum class DType : std::uint8_t { f32, f16, bf16, f8e4m3, i64, i32, u8, b8 };  // b8: bool, one byte, 0 or 1

std::size_t dtype_size(DType dtype);
std::string_view dtype_name(DType dtype);          // "f32", …, "bool"
std::string_view dtype_torch_name(DType dtype);    // "float32", "bfloat16", …
// Accepts our names, torch's ("float32", "torch.bfloat16") and safetensors' ("F32", "BF16"). Throws Error otherwise.
DType dtype_from_name(std::string_view name);
constexpr bool is_floating(DType dtype) { return dtype <= DType::f8e4m3; }

// bf16 and f16 travel as their bits. Conversions from float round to nearest even; NaN stays NaN (quiet), overflow gives
// infinity. f8e4m3 is the "FN" variant: no infinities, 0x7f/0xff are NaN, overflow saturates to NaN as torch does.
inline float bf16_to_float(std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t{bits} << 16); }
inline std::uint16_t float_to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  const std::uint32_t quiet = (bits >> 16) | 0x40u;
  return static_cast<std::uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? quiet : rounded);
}
float f16_to_float(std::uint16_t bits);
std::uint16_t float_to_f16(float value);
float f8e4m3_to_float(std::uint8_t bits);
std::uint8_t float_to_f8e4m3(float value);

// One element at `data` as double (bool: 0 or 1), and back with the dtype's rounding (integers: truncation toward zero).
double load_element(DType dtype, const void* data);
void store_element(DType dtype, void* data, double value);

}  // namespace tilewright
