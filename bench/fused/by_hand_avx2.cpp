#if defined(__AVX2__)
#include <immintrin.h>

#include "fused/by_hand.h"

namespace tilewright::bench {
namespace {

#define TW_HAND static inline __attribute__((always_inline))
typedef __m256 V;
typedef __m256i Lanes;
constexpr long kLanes = 8;
const int kFirst[16] = {-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0};
TW_HAND Lanes first_lanes(long n) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(kFirst + 8 - n)); }
TW_HAND V splat(float x) { return _mm256_set1_ps(x); }
TW_HAND V load(const float* p) { return _mm256_loadu_ps(p); }
TW_HAND V load(const float* p, Lanes lanes) { return _mm256_maskload_ps(p, lanes); }
TW_HAND void store(float* p, V v) { _mm256_storeu_ps(p, v); }
TW_HAND void store(float* p, V v, Lanes lanes) { _mm256_maskstore_ps(p, lanes, v); }
TW_HAND V select(Lanes lanes, V yes, V no) { return _mm256_blendv_ps(no, yes, _mm256_castsi256_ps(lanes)); }
TW_HAND V add(V a, V b) { return _mm256_add_ps(a, b); }
TW_HAND V sub(V a, V b) { return _mm256_sub_ps(a, b); }
TW_HAND V mul(V a, V b) { return _mm256_mul_ps(a, b); }
TW_HAND V div(V a, V b) { return _mm256_div_ps(a, b); }  // on Zen 5 quicker than a reciprocal and a step
TW_HAND V fma(V a, V b, V c) { return _mm256_fmadd_ps(a, b, c); }
// The second operand where either is NaN.
TW_HAND V max(V a, V b) { return _mm256_max_ps(a, b); }
TW_HAND V min(V a, V b) { return _mm256_min_ps(a, b); }
// 2^(j/8) for j = 0 … 7, its bits less j · 2^20: adding n · 2^20 to entry n mod 8 gives 2^(n/8).
const unsigned kRoots[8] = {0x3f800000, 0x3f7b95c2, 0x3f7837f0, 0x3f75fed7,
                            0x3f7504f3, 0x3f75672a, 0x3f7744fd, 0x3f7ac0c7};
constexpr float kParts = 8;
// 2^((n + r) / 8), |r| ≤ ½, n the integer in the low bits of `shifted`. A least-maximum fit: 2.6e-8 relative.
TW_HAND V power(V shifted, V r) {
  const __m256i n = _mm256_castps_si256(shifted);
  const __m256i root = _mm256_permutevar8x32_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(kRoots)), n);
  const V scale = _mm256_castsi256_ps(_mm256_add_epi32(root, _mm256_slli_epi32(n, 20)));
  const V p = fma(fma(splat(0.000108391061f), r, splat(0.00375402556f)), r, splat(0.0866434053f));
  return fma(scale, mul(r, p), scale);
}
TW_HAND float sum_of(V v) {
  __m128 h = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  h = _mm_add_ps(h, _mm_movehl_ps(h, h));
  return _mm_cvtss_f32(_mm_add_ss(h, _mm_shuffle_ps(h, h, 1)));
}
TW_HAND float largest_of(V v) {
  __m128 h = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  h = _mm_max_ps(h, _mm_movehl_ps(h, h));
  return _mm_cvtss_f32(_mm_max_ss(h, _mm_shuffle_ps(h, h, 1)));
}

#include "fused/by_hand_body.h"

}  // namespace

const ByHand kByHandAvx2 = {silu_mul, gelu_tanh_mul, softmax, copy};

}  // namespace tilewright::bench
#endif
