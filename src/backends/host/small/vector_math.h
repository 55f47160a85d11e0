// Vectors of f32 and the elementary functions on them, by GCC's vector extension: the width is that of the file that
// includes this. Everything is local to that file. Polynomials are least-maximum fits made for these ranges; the errors
// stand in vector_table.h.
#pragma once

#include <cstdint>
#include <cstring>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "backends/host/small/vector_table.h"

namespace tilewright::backends::host {
namespace {

#if defined(__AVX512F__)
#define TW_LANES 16
#define TW_LOW_HALF 0, 1, 2, 3, 4, 5, 6, 7
#define TW_HIGH_HALF 8, 9, 10, 11, 12, 13, 14, 15
#elif defined(__AVX2__)
#define TW_LANES 8
#define TW_LOW_HALF 0, 1, 2, 3
#define TW_HIGH_HALF 4, 5, 6, 7
#else
#define TW_LANES 4
#define TW_LOW_HALF 0, 1
#define TW_HIGH_HALF 2, 3
#endif
#define TW_INLINE static inline __attribute__((always_inline))

constexpr std::int64_t kLanes = TW_LANES;
typedef float Vector __attribute__((vector_size(TW_LANES * 4)));
typedef std::int32_t Ints __attribute__((vector_size(TW_LANES * 4)));
typedef std::uint32_t Bits __attribute__((vector_size(TW_LANES * 4)));
typedef float HalfVector __attribute__((vector_size(TW_LANES * 2)));
typedef double Doubles __attribute__((vector_size(TW_LANES * 4)));
typedef std::uint16_t Shorts __attribute__((vector_size(TW_LANES * 2)));
typedef std::uint8_t Bytes __attribute__((vector_size(TW_LANES)));

template <typename V>
TW_INLINE V read(const void* from) {
  V out;
  __builtin_memcpy(&out, from, sizeof out);
  return out;
}
template <typename V>
TW_INLINE void write(void* to, V value) {
  __builtin_memcpy(to, &value, sizeof value);
}
TW_INLINE Vector splat(float value) { return value - Vector{}; }
TW_INLINE Bits bits(Vector v) { return (Bits)v; }
TW_INLINE Vector from_bits(Bits v) { return (Vector)v; }
TW_INLINE Vector absolute(Vector v) { return from_bits(bits(v) & 0x7fffffffu); }
TW_INLINE Vector with_sign(Vector magnitude, Vector sign) {
  return from_bits(bits(magnitude) | (bits(sign) & 0x80000000u));
}
TW_INLINE bool any(Ints mask) {
#if defined(__AVX512F__)
  return _mm512_test_epi32_mask((__m512i)mask, (__m512i)mask) != 0;
#elif defined(__AVX2__)
  return _mm256_movemask_ps((__m256)mask) != 0;
#elif defined(__SSE2__)
  return _mm_movemask_ps((__m128)mask) != 0;
#else
  std::int32_t out = 0;
  for (int i = 0; i < kLanes; ++i) out |= mask[i];
  return out != 0;
#endif
}
TW_INLINE Vector square_root(Vector v) {
#if defined(__AVX512F__)
  return (Vector)_mm512_sqrt_ps((__m512)v);
#elif defined(__AVX2__)
  return (Vector)_mm256_sqrt_ps((__m256)v);
#elif defined(__SSE2__)
  return (Vector)_mm_sqrt_ps((__m128)v);
#else
  for (int i = 0; i < kLanes; ++i) v[i] = __builtin_sqrtf(v[i]);
  return v;
#endif
}

// 1 + r + … + r^7, for |r| ≤ ln2 / 2.
TW_INLINE Vector exponential_near_zero(Vector r) {
  Vector p = splat(0.00019918129f);
  p = p * r + 0.00139463041f;
  p = p * r + 0.00833326485f;
  p = p * r + 0.0416662656f;
  p = p * r + 0.166666672f;
  p = p * r + 0.5f;
  return (p * (r * r) + r) + 1.0f;
}

// e^x for |x| ≤ 80: no result is subnormal or infinite.
TW_INLINE Vector exponential_in_range(Vector x) {
  const Vector shifted = x * 1.44269504f + 12582912.0f;  // 1.5 · 2^23: rounds to an integer
  const Vector count = shifted - 12582912.0f;
  const Vector p = exponential_near_zero((x - count * 0.693115234375f) - count * 3.19461849e-05f);
  return from_bits(bits(p) + (bits(shifted) << 23));
}

// e^x = 2^n · e^r, |r| ≤ ln2 / 2. The power of two is applied in two steps, so that results go subnormal gradually.
TW_INLINE Vector exponential(Vector x) {
#if defined(__AVX512F__)
  x = (Vector)_mm512_min_ps(_mm512_set1_ps(89.0f), _mm512_max_ps(_mm512_set1_ps(-104.0f), (__m512)x));  // NaN stays
#else
  x = x < -104.0f ? splat(-104.0f) : x;
  x = x > 89.0f ? splat(89.0f) : x;
#endif
  const Vector shifted = x * 1.44269504f + 12582912.0f;  // 1.5 · 2^23: rounds to an integer
  const Vector count = shifted - 12582912.0f;
  const Vector r = (x - count * 0.693115234375f) - count * 3.19461849e-05f;
  const Vector p = exponential_near_zero(r);
#if defined(__AVX512F__)
  return (Vector)_mm512_scalef_ps((__m512)p, (__m512)count);
#else
  const Ints n = (Ints)shifted - 0x4b400000;
  const Ints half = n >> 1;
  return p * (Vector)((half + 127) << 23) * (Vector)((n - half + 127) << 23);
#endif
}

// ln x = e · ln2 + ln m, m in [√½, √2).
TW_INLINE Vector logarithm(Vector x) {
  const Ints tiny = x < 1.17549435e-38f;
  const Vector scaled = tiny ? x * 8388608.0f : x;
  const Ints from_root = (Ints)scaled - 0x3f3504f3;
  const Vector exponent = __builtin_convertvector((from_root >> 23) - (tiny & 23), Vector);
  const Vector f = (Vector)((from_root & 0x7fffff) + 0x3f3504f3) - 1.0f;
  const Vector z = f * f;
  Vector p = splat(0.0674659163f);
  p = p * f - 0.116756387f;
  p = p * f + 0.118881777f;
  p = p * f - 0.124055922f;
  p = p * f + 0.142195508f;
  p = p * f - 0.166679963f;
  p = p * f + 0.200021192f;
  p = p * f - 0.250000089f;
  p = p * f + 0.333333135f;
  Vector tail = p * z * f + exponent * 3.19461849e-05f;
  tail = tail - 0.5f * z;
  Vector out = f + tail + exponent * 0.693115234375f;
  const Vector infinity = splat(__builtin_inff());
  out = x == infinity ? infinity : out;
  out = x == 0.0f ? -infinity : out;
  return ((x < 0.0f) | (x != x)) ? splat(__builtin_nanf("")) : out;
}

// Sine of r + n · π/2, |r| ≤ π/4 or little more.
TW_INLINE Vector sine_of_quadrant(Vector r, Ints n) {
  const Vector z = r * r;
  const Vector s = r + r * z * ((z * -0.000195166547f + 0.00833217334f) * z - 0.166666552f);
  const Vector c = 1.0f - 0.5f * z + z * z * ((z * 2.44377279e-05f - 0.00138873619f) * z + 0.0416666456f);
  const Vector out = (n & 1) != 0 ? c : s;
  return from_bits(bits(out) ^ (((Bits)n & 2u) << 30));
}

// The same of x + quarter · π/2 for |x| < 1.6e6: π/2 is taken off in double, its high part with 33 bits so that
// products with up to 2^20 are exact. Beyond, single lanes go to the C library.
static __attribute__((noinline)) Vector sine_of_large(Vector x, int quarter) {
  const Ints outside = !(absolute(x) < 1.6e6f);
  if (any(outside)) {
    for (int i = 0; i < kLanes; ++i) x[i] = quarter ? exact_cos(x[i]) : exact_sin(x[i]);
    return x;
  }
  Doubles part[2] = {__builtin_convertvector(__builtin_shufflevector(x, x, TW_LOW_HALF), Doubles),
                     __builtin_convertvector(__builtin_shufflevector(x, x, TW_HIGH_HALF), Doubles)};
  HalfVector rest[2], turns[2];
  for (int i = 0; i < 2; ++i) {
    const Doubles n = (part[i] * 0.6366197723675814 + 6755399441055744.0) - 6755399441055744.0;
    const Doubles r = (part[i] - n * 1.5707963267341256) - n * 6.077100506506192e-11;
    rest[i] = __builtin_convertvector(r, HalfVector);
    turns[i] = __builtin_convertvector(n, HalfVector);
  }
  const Ints n = __builtin_convertvector(__builtin_shufflevector(turns[0], turns[1], TW_LOW_HALF, TW_HIGH_HALF), Ints);
  return sine_of_quadrant(__builtin_shufflevector(rest[0], rest[1], TW_LOW_HALF, TW_HIGH_HALF), n + quarter);
}

// Up to 2^15, π/2 in three parts of 24 bits is enough, given fused multiply-adds: the first product leaves an exact
// difference, the others one rounding each.
TW_INLINE Vector sine(Vector x, int quarter) {
#if defined(__FMA__)
  if (__builtin_expect(any(!(absolute(x) < 32768.0f)), 0)) return sine_of_large(x, quarter);
  const Vector shifted = x * 0.636619772f + 12582912.0f;
  const Vector n = shifted - 12582912.0f;
  const Vector r = ((x - n * 1.57079637f) - n * -4.37113883e-08f) - n * -1.71512451e-15f;
  return sine_of_quadrant(r, (Ints)shifted + quarter);
#else
  return sine_of_large(x, quarter);
#endif
}

TW_INLINE Vector hyperbolic_tangent(Vector x) {
  const Vector t = absolute(x), z = x * x;
  Vector p = splat(-0.0056039053f);
  p = p * z + 0.0205517113f;
  p = p * z - 0.053714104f;
  p = p * z + 0.133311525f;
  p = p * z - 0.333332717f;
  const Vector near = x + x * z * p;
  const Vector far = 1.0f - 2.0f / (exponential(t + t) + 1.0f);
  return t < 0.625f ? near : with_sign(far, x);
}

// erf x = x · P(x²) / Q(x²) up to 4, 1 in f32 beyond.
TW_INLINE Vector error_function(Vector x) {
  const Vector z = x * x;
  Vector p = splat(-1.32026585e-08f);
  p = p * z + 4.68486405e-06f;
  p = p * z + 0.000379611854f;
  p = p * z + 0.00384960952f;
  p = p * z + 0.0543169491f;
  p = p * z + 0.185202926f;
  p = p * z + 1.12837923f;
  Vector q = splat(6.31114017e-05f);
  q = q * z + 0.00130757352f;
  q = q * z + 0.0154620958f;
  q = q * z + 0.113958366f;
  q = q * z + 0.497465253f;
  q = q * z + 1.0f;
  return absolute(x) >= 4.0f ? with_sign(splat(1.0f), x) : x * p / q;
}

// x/2 · (1 + erf(x/√2)): the error is that of erf near 1, relative to 1, which is all that gelu shows.
TW_INLINE Vector gelu_exact(Vector x) {
  const Vector half = 0.5f * x;
  return half + half * error_function(x * 0.707106781f);
}

TW_INLINE Vector to_number(Ints mask) { return from_bits((Bits)mask & 0x3f800000u); }

}  // namespace
}  // namespace tilewright::backends::host
