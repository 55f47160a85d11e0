// The 512-bit vectors of tile_body.h, for both AVX-512 levels. Included inside an unnamed namespace.
typedef __m512 V;
typedef __m512i Pairs;
constexpr int kLanes = 16, kTallVectors = 2, kTallRows = 12;

static inline V zero() { return _mm512_setzero_ps(); }
static inline V load(const float* p) { return _mm512_loadu_ps(p); }
static inline void store(float* p, V v) { _mm512_storeu_ps(p, v); }
static inline V fma(V a, V b, V c) { return _mm512_fmadd_ps(a, b, c); }
static inline V add(V a, V b) { return _mm512_add_ps(a, b); }
static inline float sum_lanes(V v) { return _mm512_reduce_add_ps(v); }
static inline V broadcast(const float* p) { return _mm512_set1_ps(*p); }
static inline Pairs load_pairs(const char* p) { return _mm512_loadu_si512(p); }
static inline V even(Pairs p) { return _mm512_castsi512_ps(_mm512_slli_epi32(p, 16)); }
static inline V odd(Pairs p) {
  return _mm512_castsi512_ps(_mm512_and_si512(p, _mm512_set1_epi32(static_cast<int>(0xffff0000u))));
}
static inline V load_half(const char* p) {
  return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}
static inline short bits16(const char* p) {
  short x;
  __builtin_memcpy(&x, p, 2);
  return x;
}
static inline Pairs broadcast_pair(const char* p) {
  int x;
  __builtin_memcpy(&x, p, 4);
  return _mm512_set1_epi32(x);
}
static inline V broadcast_half(const char* p) { return _mm512_cvtph_ps(_mm256_set1_epi16(bits16(p))); }
static inline V broadcast_bf16(const char* p) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_set1_epi16(bits16(p)), 16));
}
