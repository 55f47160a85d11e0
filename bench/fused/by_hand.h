// Memory-bound operators written by hand with intrinsics, as well as we can: what compiled kernels are measured against
// when the data is in the cache. f32 only. Included by files compiled for wider instruction sets, therefore free of
// inline functions and of the standard library.
#pragma once

namespace tilewright::bench {

// Pointers need no alignment, n no multiple of anything. Errors against exact arithmetic: silu within 2e-6 relative,
// gelu within 1e-5 (its exponent is a rounded cubic), softmax within 1e-6; what is below 1e-30 may be wholly wrong.
struct ByHand {
  // out = gate / (1 + exp(-gate)) · up.
  void (*silu_mul)(const float* gate, const float* up, float* out, long n);
  // out = gelu(gate) · up by the tanh approximation.
  void (*gelu_tanh_mul)(const float* gate, const float* up, float* out, long n);
  // Rows of `columns`: out = softmax(scores · scale + mask). Row i's mask begins at (i % mask_rows) · columns. Values
  // must be finite.
  void (*softmax)(const float* scores, const float* mask, float* out, long begin, long end, long mask_rows,
                  long columns, float scale);
  void (*copy)(float* to, const float* from, long n);
};

#if defined(__x86_64__)
extern const ByHand kByHandAvx2, kByHandAvx512;
#endif

}  // namespace tilewright::bench
