#include "target/probe_kernels.h"

namespace tilewright::target {
namespace {

typedef float V __attribute__((vector_size(16)));
typedef unsigned I __attribute__((vector_size(16)));
static inline V splat(float x) { return V{x, x, x, x}; }
static inline V fma(V a, V b, V c) { return a * b + c; }
static inline float first_lane(V v) { return v[0]; }
static inline I load_words(const char* p) {
  I v;
  __builtin_memcpy(&v, p, 16);
  return v;
}
static inline I or_words(I a, I b) { return a | b; }
static inline unsigned first_word(I v) { return v[0]; }
static inline void stream_words(char* p, I v) { __builtin_memcpy(p, &v, 16); }
static inline void stream_end() {}
#if defined(__aarch64__)
#define TW_KEEP(v) "+w"(v)
#else
#define TW_KEEP(v) "+x"(v)
#endif
#define TW_ALL TW_TWELVE
#include "target/probe_body.h"

}  // namespace

extern const ProbeKernels kGenericProbe;
const ProbeKernels kGenericProbe = {4, 12 * 2 * 4, fma_probe, 0, nullptr, read_probe, copy_streaming_probe};

}  // namespace tilewright::target
