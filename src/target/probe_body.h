// The probes, written once for every vector type. Included inside an unnamed namespace after V, I (vectors of floats and of
// words), kLanes, kAccumulators, splat, fma, first_lane, load_words, first_word, stream_words and TW_KEEP were defined.
// Accumulators are named, since GCC 12 would keep an array in memory.
#define TW_TWELVE(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
#define TW_TWENTY(X) TW_TWELVE(X) X(12) X(13) X(14) X(15) X(16) X(17) X(18) X(19)
#define TW_DECLARE(i) V a##i = splat(static_cast<float>(i));
#define TW_FMA(i)           \
  a##i = fma(a##i, x, y);   \
  asm volatile("" : TW_KEEP(a##i));
#define TW_SUM(i) sum += first_lane(a##i);

static __attribute__((noinline)) float fma_probe(long iterations) {
  V x = splat(0.999f), y = splat(1e-6f);
  asm volatile("" : TW_KEEP(x), TW_KEEP(y));
  float sum = 0;
  TW_ALL(TW_DECLARE)
  for (long k = 0; k < iterations; k++) {
    TW_ALL(TW_FMA)
  }
  TW_ALL(TW_SUM)
  return sum;
}

template <int Streams>
static __attribute__((noinline)) unsigned read_streams(const char* data, size_t bytes) {
  const size_t part = bytes / Streams;
  constexpr size_t kVector = sizeof(I);
  I a[Streams][4];
#pragma GCC unroll 4
  for (int s = 0; s < Streams; s++)
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) a[s][i] = load_words(data);
  for (size_t at = 0; at < part; at += 4 * kVector)
#pragma GCC unroll 4
    for (int s = 0; s < Streams; s++)
#pragma GCC unroll 4
      for (int i = 0; i < 4; i++) a[s][i] = or_words(a[s][i], load_words(data + s * part + at + i * kVector));
  unsigned all = 0;
#pragma GCC unroll 4
  for (int s = 0; s < Streams; s++) all |= first_word(or_words(or_words(a[s][0], a[s][1]), or_words(a[s][2], a[s][3])));
  return all;
}
static unsigned read_probe(const void* data, size_t bytes, int streams) {
  const char* from = static_cast<const char*>(data);
  return streams == 1 ? read_streams<1>(from, bytes) : streams == 2 ? read_streams<2>(from, bytes) : read_streams<4>(from, bytes);
}

static void copy_streaming_probe(void* to, const void* from, size_t bytes) {
  char* out = static_cast<char*>(to);
  const char* in = static_cast<const char*>(from);
  constexpr size_t kVector = sizeof(I);
  for (size_t at = 0; at < bytes; at += 4 * kVector)
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) stream_words(out + at + i * kVector, load_words(in + at + i * kVector));
  stream_end();
}
