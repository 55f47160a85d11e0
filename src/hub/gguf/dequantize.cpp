#include "hub/gguf/dequantize.h"

#include <cstring>

#include "tensor/dtype.h"

// Sums and products are rounded one by one, as the reference does (flags.cmake keeps the compiler from fusing them).
namespace tilewright::hub {
namespace {

std::uint8_t byte_at(const std::byte* p, std::size_t i) { return std::to_integer<std::uint8_t>(p[i]); }
std::uint16_t u16_at(const std::byte* p) {
  std::uint16_t out;
  std::memcpy(&out, p, 2);
  return out;
}
float half_at(const std::byte* p) { return f16_to_float(u16_at(p)); }

void from_f32(const std::byte* in, std::size_t n, float* out) {
  if (n) std::memcpy(out, in, n * sizeof(float));
}
void from_f16(const std::byte* in, std::size_t n, float* out) {
  for (std::size_t i = 0; i < n; ++i) out[i] = half_at(in + 2 * i);
}
void from_bf16(const std::byte* in, std::size_t n, float* out) {
  for (std::size_t i = 0; i < n; ++i) out[i] = bf16_to_float(u16_at(in + 2 * i));
}

// 32 values: f16 scale d, 16 bytes of which the low halves come first. y = d · (q − 8)
void from_q4_0(const std::byte* in, std::size_t n, float* out) {
  for (; n--; in += 18, out += 32) {
    const float d = half_at(in);
    for (std::size_t j = 0; j < 16; ++j) {
      const int q = byte_at(in, 2 + j);
      out[j] = d * static_cast<float>((q & 15) - 8);
      out[j + 16] = d * static_cast<float>((q >> 4) - 8);
    }
  }
}
// f16 scale d, f16 minimum m: y = d · q + m
void from_q4_1(const std::byte* in, std::size_t n, float* out) {
  for (; n--; in += 20, out += 32) {
    const float d = half_at(in), m = half_at(in + 2);
    for (std::size_t j = 0; j < 16; ++j) {
      const int q = byte_at(in, 4 + j);
      out[j] = d * static_cast<float>(q & 15) + m;
      out[j + 16] = d * static_cast<float>(q >> 4) + m;
    }
  }
}
// As the two above with a fifth bit per value, 32 of them in one little-endian word before the halves.
int fifth_bit(const std::byte* word, std::size_t j) { return (byte_at(word, j / 8) >> (j % 8) & 1) << 4; }
void from_q5_0(const std::byte* in, std::size_t n, float* out) {
  for (; n--; in += 22, out += 32) {
    const float d = half_at(in);
    for (std::size_t j = 0; j < 16; ++j) {
      const int q = byte_at(in, 6 + j);
      out[j] = d * static_cast<float>(((q & 15) | fifth_bit(in + 2, j)) - 16);
      out[j + 16] = d * static_cast<float>(((q >> 4) | fifth_bit(in + 2, j + 16)) - 16);
    }
  }
}
void from_q5_1(const std::byte* in, std::size_t n, float* out) {
  for (; n--; in += 24, out += 32) {
    const float d = half_at(in), m = half_at(in + 2);
    for (std::size_t j = 0; j < 16; ++j) {
      const int q = byte_at(in, 8 + j);
      out[j] = d * static_cast<float>((q & 15) | fifth_bit(in + 4, j)) + m;
      out[j + 16] = d * static_cast<float>((q >> 4) | fifth_bit(in + 4, j + 16)) + m;
    }
  }
}
void from_q8_0(const std::byte* in, std::size_t n, float* out) {
  for (; n--; in += 34, out += 32) {
    const float d = half_at(in);
    for (std::size_t j = 0; j < 32; ++j) out[j] = static_cast<float>(static_cast<std::int8_t>(byte_at(in, 2 + j))) * d;
  }
}

// Six-bit scale and minimum of sub-block j of 8, packed in 12 bytes.
void scale_and_min(const std::byte* packed, std::size_t j, int& scale, int& minimum) {
  if (j < 4) {
    scale = byte_at(packed, j) & 63;
    minimum = byte_at(packed, j + 4) & 63;
  } else {
    scale = (byte_at(packed, j + 4) & 15) | (byte_at(packed, j - 4) >> 6) << 4;
    minimum = byte_at(packed, j + 4) >> 4 | (byte_at(packed, j) >> 6) << 4;
  }
}
// 256 values in 8 sub-blocks of 32: f16 d, f16 dmin, 12 bytes of scales, [Q5: 32 bytes of fifth bits], 128 bytes of
// halves. y = (d · scale) · q − dmin · minimum
template <bool kFifthBit>
void from_q45_k(const std::byte* in, std::size_t n, float* out) {
  constexpr std::size_t kBits = 16, kHalves = kFifthBit ? 48 : 16, kBytes = kHalves + 128;
  for (; n--; in += kBytes, out += 256) {
    const float d = half_at(in), dmin = half_at(in + 2);
    for (std::size_t j = 0; j < 8; ++j) {
      int scale = 0, minimum = 0;
      scale_and_min(in + 4, j, scale, minimum);
      const float step = d * static_cast<float>(scale), shift = dmin * static_cast<float>(minimum);
      for (std::size_t i = 0; i < 32; ++i) {
        int q = byte_at(in, kHalves + j / 2 * 32 + i) >> (j % 2 * 4) & 15;
        if constexpr (kFifthBit) q |= (byte_at(in, kBits + i) >> j & 1) << 4;
        out[32 * j + i] = step * static_cast<float>(q) - shift;
      }
    }
  }
}
// 256 values: 128 bytes of low halves, 64 bytes of two high bits, 16 signed scales, f16 d. y = (d · scale) · (q − 32)
void from_q6_k(const std::byte* in, std::size_t n, float* out) {
  for (; n--; in += 210, out += 256) {
    const float d = half_at(in + 208);
    for (std::size_t i = 0; i < 256; ++i) {
      const std::size_t half = i / 128, row = i % 128 / 32, column = i % 32;
      const int low = byte_at(in, half * 64 + row % 2 * 32 + column) >> (row / 2 * 4) & 15;
      const int high = byte_at(in, 128 + half * 32 + column) >> (row * 2) & 3;
      const float step = d * static_cast<float>(static_cast<std::int8_t>(byte_at(in, 192 + i / 16)));
      out[i] = step * static_cast<float>((low | high << 4) - 32);
    }
  }
}

constexpr GgufTypeInfo kTypes[] = {
    {0, "F32", 1, 4, from_f32},
    {1, "F16", 1, 2, from_f16},
    {30, "BF16", 1, 2, from_bf16},
    {2, "Q4_0", 32, 18, from_q4_0},
    {3, "Q4_1", 32, 20, from_q4_1},
    {6, "Q5_0", 32, 22, from_q5_0},
    {7, "Q5_1", 32, 24, from_q5_1},
    {8, "Q8_0", 32, 34, from_q8_0},
    {12, "Q4_K", 256, 144, from_q45_k<false>},
    {13, "Q5_K", 256, 176, from_q45_k<true>},
    {14, "Q6_K", 256, 210, from_q6_k},
    {9, "Q8_1", 0, 0, nullptr},
    {10, "Q2_K", 0, 0, nullptr},
    {11, "Q3_K", 0, 0, nullptr},
    {15, "Q8_K", 0, 0, nullptr},
    {16, "IQ2_XXS", 0, 0, nullptr},
    {17, "IQ2_XS", 0, 0, nullptr},
    {18, "IQ3_XXS", 0, 0, nullptr},
    {19, "IQ1_S", 0, 0, nullptr},
    {20, "IQ4_NL", 0, 0, nullptr},
    {21, "IQ3_S", 0, 0, nullptr},
    {22, "IQ2_S", 0, 0, nullptr},
    {23, "IQ4_XS", 0, 0, nullptr},
    {24, "I8", 0, 0, nullptr},
    {25, "I16", 0, 0, nullptr},
    {26, "I32", 0, 0, nullptr},
    {27, "I64", 0, 0, nullptr},
    {28, "F64", 0, 0, nullptr},
    {29, "IQ1_M", 0, 0, nullptr},
    {34, "TQ1_0", 0, 0, nullptr},
    {35, "TQ2_0", 0, 0, nullptr},
    {39, "MXFP4", 0, 0, nullptr},
};

}  // namespace

const GgufTypeInfo* gguf_type(std::uint32_t type) {
  for (const GgufTypeInfo& info : kTypes)
    if (info.type == type) return &info;
  return nullptr;
}

std::string gguf_type_name(std::uint32_t type) {
  const GgufTypeInfo* info = gguf_type(type);
  return info ? info->name : "type " + std::to_string(type);
}

std::string readable_gguf_types() {
  std::string out;
  for (const GgufTypeInfo& info : kTypes)
    if (info.dequantize) out += (out.empty() ? "" : ", ") + std::string(info.name);
  return out;
}

}  // namespace tilewright::hub
