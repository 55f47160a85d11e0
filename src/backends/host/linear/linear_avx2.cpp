// AVX2 + FMA + F16C. Compiled with those flags: see README.md for what may be included.
#if defined(__AVX2__)
#include <immintrin.h>

#include "backends/host/linear/kernels.h"

namespace tilewright::backends::host {
namespace {

typedef __m256 V;
typedef __m256i Pairs;
constexpr int kLanes = 8, kTallVectors = 2, kTallRows = 6;

// clang-format off
#include "backends/host/linear/scalar_body.h"
// clang-format on

static inline V zero() { return _mm256_setzero_ps(); }
static inline V load(const float* p) { return _mm256_loadu_ps(p); }
static inline void store(float* p, V v) { _mm256_storeu_ps(p, v); }
static inline V fma(V a, V b, V c) { return _mm256_fmadd_ps(a, b, c); }
static inline V add(V a, V b) { return _mm256_add_ps(a, b); }
static inline float sum_lanes(V v) {
  __m128 s = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  s = _mm_add_ps(s, _mm_movehl_ps(s, s));
  return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}
static inline V broadcast(const float* p) { return _mm256_broadcast_ss(p); }
static inline Pairs load_pairs(const char* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }
static inline V even(Pairs p) { return _mm256_castsi256_ps(_mm256_slli_epi32(p, 16)); }
static inline V odd(Pairs p) {
  return _mm256_castsi256_ps(_mm256_and_si256(p, _mm256_set1_epi32(static_cast<int>(0xffff0000u))));
}
static inline V load_half(const char* p) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}
static inline short bits16(const char* p) {
  short x;
  __builtin_memcpy(&x, p, 2);
  return x;
}
static inline Pairs broadcast_pair(const char* p) {
  int x;
  __builtin_memcpy(&x, p, 4);
  return _mm256_set1_epi32(x);
}
static inline V broadcast_half(const char* p) { return _mm256_cvtph_ps(_mm_set1_epi16(bits16(p))); }
static inline V broadcast_bf16(const char* p) {
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_set1_epi16(bits16(p)), 16));
}

// clang-format off
#include "backends/host/linear/tile_body.h"
#include "backends/host/linear/few_rows_body.h"
#include "backends/host/linear/avx2_body.h"
// clang-format on

}  // namespace

extern const KernelTable kAvx2Kernels;
const KernelTable kAvx2Kernels = {
    {kTallRows, kTallRows, kTallRows, kTallRows, kTallRows, 0},
    {tile<F32Plain32>, tile<F32Plain16>, tile<F32Pairs16>, tile<F16Plain16>, tile<Bf16Pairs16>, nullptr},
    finish,
    pack,
    widen,
    few_dot,
    few_add,
};

}  // namespace tilewright::backends::host
#endif
