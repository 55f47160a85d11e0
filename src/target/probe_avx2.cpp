#if defined(__AVX2__)
#include <immintrin.h>

#include "target/probe_kernels.h"

namespace tilewright::target {
namespace {

typedef __m256 V;
typedef __m256i I;
static inline V splat(float x) { return _mm256_set1_ps(x); }
static inline V fma(V a, V b, V c) { return _mm256_fmadd_ps(a, b, c); }
static inline float first_lane(V v) { return _mm256_cvtss_f32(v); }
static inline I load_words(const char* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }
static inline I or_words(I a, I b) { return _mm256_or_si256(a, b); }
static inline unsigned first_word(I v) { return static_cast<unsigned>(_mm256_extract_epi32(v, 0)); }
static inline void stream_words(char* p, I v) { _mm256_stream_si256(reinterpret_cast<__m256i*>(p), v); }
static inline void stream_end() { _mm_sfence(); }
#define TW_KEEP(v) "+x"(v)
#define TW_ALL TW_TWELVE
#include "target/probe_body.h"

}  // namespace

extern const ProbeKernels kAvx2Probe;
const ProbeKernels kAvx2Probe = {8, 12 * 2 * 8, fma_probe, 0, nullptr, read_probe, copy_streaming_probe};

}  // namespace tilewright::target
#endif
