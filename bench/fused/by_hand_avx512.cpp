#if defined(__AVX512F__)
#pragma GCC diagnostic ignored "-Wuninitialized"  // GCC 12 warns of its own _mm512_undefined_ps
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>

#include "fused/by_hand.h"

namespace tilewright::bench {
namespace {

#define TW_HAND static inline __attribute__((always_inline))
typedef __m512 V;
typedef __mmask16 Lanes;
constexpr long kLanes = 16;
TW_HAND Lanes first_lanes(long n) { return static_cast<Lanes>((1u << n) - 1); }
TW_HAND V splat(float x) { return _mm512_set1_ps(x); }
TW_HAND V load(const float* p) { return _mm512_loadu_ps(p); }
TW_HAND V load(const float* p, Lanes lanes) { return _mm512_maskz_loadu_ps(lanes, p); }
TW_HAND void store(float* p, V v) { _mm512_storeu_ps(p, v); }
TW_HAND void store(float* p, V v, Lanes lanes) { _mm512_mask_storeu_ps(p, lanes, v); }
TW_HAND V select(Lanes lanes, V yes, V no) { return _mm512_mask_blend_ps(lanes, no, yes); }
TW_HAND V add(V a, V b) { return _mm512_add_ps(a, b); }
TW_HAND V sub(V a, V b) { return _mm512_sub_ps(a, b); }
TW_HAND V mul(V a, V b) { return _mm512_mul_ps(a, b); }
TW_HAND V div(V a, V b) { return _mm512_div_ps(a, b); }  // on Zen 5 quicker than a reciprocal and a step
TW_HAND V fma(V a, V b, V c) { return _mm512_fmadd_ps(a, b, c); }
// The second operand where either is NaN.
TW_HAND V max(V a, V b) { return _mm512_max_ps(a, b); }
TW_HAND V min(V a, V b) { return _mm512_min_ps(a, b); }
// 2^(j/32) for j = 0 … 31, its bits less j · 2^18: adding n · 2^18 to entry n mod 32 gives 2^(n/32).
const unsigned kRoots[32] = {0x3f800000, 0x3f7ecd87, 0x3f7daac3, 0x3f7c980f, 0x3f7b95c2, 0x3f7aa43a, 0x3f79c3d3,
                             0x3f78f4f0, 0x3f7837f0, 0x3f778d3a, 0x3f76f532, 0x3f767043, 0x3f75fed7, 0x3f75a15b,
                             0x3f75583f, 0x3f7523f6, 0x3f7504f3, 0x3f74fbaf, 0x3f7508a4, 0x3f752c4d, 0x3f75672a,
                             0x3f75b9be, 0x3f76248c, 0x3f76a81e, 0x3f7744fd, 0x3f77fbb8, 0x3f78ccdf, 0x3f79b907,
                             0x3f7ac0c7, 0x3f7be4ba, 0x3f7d257d, 0x3f7e83b3};
constexpr float kParts = 32;
// 2^((n + r) / 32), |r| ≤ ½, n the integer in the low bits of `shifted`. A least-maximum fit: 5.4e-8 relative.
TW_HAND V power(V shifted, V r) {
  const __m512i n = _mm512_castps_si512(shifted);
  const __m512i root = _mm512_permutex2var_epi32(_mm512_loadu_si512(kRoots), n, _mm512_loadu_si512(kRoots + 16));
  const V scale = _mm512_castsi512_ps(_mm512_add_epi32(root, _mm512_slli_epi32(n, 18)));
  return fma(scale, mul(r, fma(splat(0.000234596184f), r, splat(0.0216611661f))), scale);
}
TW_HAND float sum_of(V v) { return _mm512_reduce_add_ps(v); }
TW_HAND float largest_of(V v) { return _mm512_reduce_max_ps(v); }

#include "fused/by_hand_body.h"

}  // namespace

const ByHand kByHandAvx512 = {silu_mul, gelu_tanh_mul, softmax, copy};

}  // namespace tilewright::bench
#endif
