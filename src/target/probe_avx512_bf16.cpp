#if defined(__AVX512BF16__)
#include <immintrin.h>

#include "target/probe_kernels.h"

namespace tilewright::target {
namespace {
#include "target/probe_avx512_body.h"

#define TW_DOT(i)                       \
  a##i = _mm512_dpbf16_ps(a##i, p, q);  \
  asm volatile("" : TW_KEEP(a##i));

__attribute__((noinline)) float dot_probe(long iterations) {
  const __m512bh p = reinterpret_cast<__m512bh>(_mm512_set1_epi16(0x3f80)), q = reinterpret_cast<__m512bh>(_mm512_set1_epi16(0x3c00));
  float sum = 0;
  TW_ALL(TW_DECLARE)
  for (long k = 0; k < iterations; k++) {
    TW_ALL(TW_DOT)
  }
  TW_ALL(TW_SUM)
  return sum;
}

}  // namespace

extern const ProbeKernels kAvx512Bf16Probe;
const ProbeKernels kAvx512Bf16Probe = {16, 20 * 2 * 16, fma_probe, 20 * 4 * 16, dot_probe, read_probe, copy_streaming_probe};

}  // namespace tilewright::target
#endif
