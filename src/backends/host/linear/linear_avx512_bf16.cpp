// AVX-512 with bf16 dot products: bf16 × bf16 by VDPBF16PS (its rounding: linear.h), the rest as on avx512.
#if defined(__AVX512BF16__)
#include <immintrin.h>

#include "backends/host/linear/kernels.h"

namespace tilewright::backends::host {
namespace {

// clang-format off
#include "backends/host/linear/avx512_body.h"
#include "backends/host/linear/scalar_body.h"
#include "backends/host/linear/tile_body.h"
#include "backends/host/linear/avx2_body.h"

#define TW_DOT_STEP
struct TwoVectors;
template <Element E>
TW_INLINE void dot_step(TwoVectors& sum, const char* x, const char* b);
#include "backends/host/linear/few_rows_body.h"
// clang-format on

template <Element E>
TW_INLINE void dot_step(TwoVectors& sum, const char* x, const char* b) {
  if constexpr (E == Element::bf16) {
    sum.a =
        _mm512_dpbf16_ps(sum.a, reinterpret_cast<__m512bh>(load_pairs(x)), reinterpret_cast<__m512bh>(load_pairs(b)));
  } else {
    const TwoVectors u = load_two<E>(x), v = load_two<E>(b);
    sum.a = fma(u.a, v.a, sum.a);
    sum.b = fma(u.b, v.b, sum.b);
  }
}

struct DotPairs16 {
  static constexpr long step_k = 2, x_bytes = 2, panel_bytes = 128, column_bytes = 4;
  template <int R, int C, int U>
  TW_INLINE void multiply(Accumulators<R, C, U>& acc, int u, const RowPointers<R>& rows, long at, const char* panel,
                          bool whole) {
    __m512i b[C];
#pragma GCC unroll 8
    for (int c = 0; c < C; c++) b[c] = load_pairs(panel + c * kLanes * 4);
#pragma GCC unroll 16
    for (int r = 0; r < R; r++) {
      int pair;
      if (whole)
        __builtin_memcpy(&pair, row_at(rows, r) + at, 4);
      else
        pair = static_cast<unsigned short>(bits16(row_at(rows, r) + at));
      const __m512i x = _mm512_set1_epi32(pair);
#pragma GCC unroll 8
      for (int c = 0; c < C; c++)
        acc.v[u][r][c] =
            _mm512_dpbf16_ps(acc.v[u][r][c], reinterpret_cast<__m512bh>(x), reinterpret_cast<__m512bh>(b[c]));
    }
  }
  template <int R, int C, int U>
  TW_INLINE void full(Accumulators<R, C, U>& acc, int u, const RowPointers<R>& rows, long at, const char* panel) {
    multiply(acc, u, rows, at, panel, true);
  }
  template <int R, int C, int U>
  TW_INLINE void last(Accumulators<R, C, U>& acc, const RowPointers<R>& rows, const char* panel) {
    multiply(acc, 0, rows, 0, panel, false);
  }
};

}  // namespace

extern const KernelTable kAvx512Bf16Kernels;
const KernelTable kAvx512Bf16Kernels = {
    {kTallRows, kTallRows, kTallRows, kTallRows, kTallRows, kTallRows},
    {tile<F32Plain32>, tile<F32Plain16>, tile<F32Pairs16>, tile<F16Plain16>, tile<Bf16Pairs16>, tile<DotPairs16>},
    finish,
    pack,
    widen,
    few_dot,
    few_add,
};

}  // namespace tilewright::backends::host
#endif
