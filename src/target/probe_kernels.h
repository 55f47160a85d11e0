// What the probes run, one table per instruction-set level. Included by files compiled for wider instruction sets,
// therefore free of inline functions and of the standard library.
#pragma once

#include <stddef.h>

namespace tilewright::target {

struct ProbeKernels {
  int f32_lanes;
  double fma_flops;                                               // of one iteration of fma
  float (*fma)(long iterations);                                  // independent multiply-adds that fill the pipelines
  double dot_flops;                                               // 0 where there are no bf16 dot products
  float (*bf16_dot)(long iterations);                             // null likewise
  unsigned (*read)(const void* data, size_t bytes, int streams);  // 1, 2 or 4 streams; bytes a multiple of 4096
  void (*copy_streaming)(void* to, const void* from, size_t bytes);  // non-temporal stores; a multiple of 4096
};

extern const ProbeKernels kGenericProbe;
#if defined(__x86_64__)
extern const ProbeKernels kAvx2Probe, kAvx512Probe, kAvx512Bf16Probe;
#endif

}  // namespace tilewright::target
