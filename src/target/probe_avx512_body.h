// The 512-bit vectors of probe_body.h, for both AVX-512 levels. Included inside an unnamed namespace.
typedef __m512 V;
typedef __m512i I;
static inline V splat(float x) { return _mm512_set1_ps(x); }
static inline V fma(V a, V b, V c) { return _mm512_fmadd_ps(a, b, c); }
static inline float first_lane(V v) { return _mm512_cvtss_f32(v); }
static inline I load_words(const char* p) { return _mm512_loadu_si512(p); }
static inline I or_words(I a, I b) { return _mm512_or_si512(a, b); }
static inline unsigned first_word(I v) { return static_cast<unsigned>(_mm512_cvtsi512_si32(v)); }
static inline void stream_words(char* p, I v) { _mm512_stream_si512(reinterpret_cast<__m512i*>(p), v); }
static inline void stream_end() { _mm_sfence(); }
#define TW_KEEP(v) "+v"(v)
#define TW_ALL TW_TWENTY
#include "target/probe_body.h"
