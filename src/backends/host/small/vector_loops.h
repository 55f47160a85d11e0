// Defines the table of loops for the instruction set of the including file: `TW_TABLE` is its name, `TW_TABLE_NAME` the
// text. Everything but the table is local to that file.
#pragma once

#include "backends/host/small/vector_math.h"

namespace tilewright::backends::host {
namespace {

using std::int64_t;

// The last, partial vector: read with zeros behind it, written up to its end.
TW_INLINE Vector read_part(const float* from, int64_t n) {
#if defined(__AVX512F__)
  return (Vector)_mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << n) - 1u), from);
#else
  Vector out{};
  for (int64_t i = 0; i < n; ++i) out[i] = from[i];
  return out;
#endif
}
TW_INLINE void write_part(float* to, Vector value, int64_t n) {
#if defined(__AVX512F__)
  _mm512_mask_storeu_ps(to, static_cast<__mmask16>((1u << n) - 1u), (__m512)value);
#else
  for (int64_t i = 0; i < n; ++i) to[i] = value[i];
#endif
}

// GCC 12 takes four instructions for what is one here.
TW_INLINE Bits widen_shorts(Shorts s) {
#if defined(__AVX512F__)
  return (Bits)_mm512_cvtepu16_epi32((__m256i)s);
#elif defined(__AVX2__)
  return (Bits)_mm256_cvtepu16_epi32((__m128i)s);
#else
  return __builtin_convertvector(s, Bits);
#endif
}
TW_INLINE Shorts narrow_words(Bits b) {
#if defined(__AVX512F__)
  return (Shorts)_mm512_cvtepi32_epi16((__m512i)b);
#else
  return __builtin_convertvector(b, Shorts);
#endif
}
TW_INLINE Vector widen_bf16(Shorts s) { return from_bits(widen_shorts(s) << 16); }
TW_INLINE Shorts narrow_bf16(Vector v) {
  const Bits b = bits(v);
  const Bits rounded = b + 0x7fffu + ((b >> 16) & 1u);
  return narrow_words((v != v ? b | 0x400000u : rounded) >> 16);
}

// How vectors of each kind of elements are read and written.
struct F32 {
  using T = float;
  static constexpr bool kStreams = false;
  TW_INLINE Vector load(const T* from) { return read<Vector>(from); }
  TW_INLINE Vector load_part(const T* from, int64_t n) { return read_part(from, n); }
  TW_INLINE void store(T* to, Vector value) { write(to, value); }
  TW_INLINE void store_part(T* to, Vector value, int64_t n) { write_part(to, value, n); }
};
struct Bf16 {
  using T = std::uint16_t;
  static constexpr bool kStreams = false;
  TW_INLINE Vector load(const T* from) { return widen_bf16(read<Shorts>(from)); }
  TW_INLINE Vector load_part(const T* from, int64_t n) {
    Shorts out{};
    for (int64_t i = 0; i < n; ++i) out[i] = from[i];
    return widen_bf16(out);
  }
  TW_INLINE void store(T* to, Vector value) { write(to, narrow_bf16(value)); }
  TW_INLINE void store_part(T* to, Vector value, int64_t n) {
    const Shorts out = narrow_bf16(value);
    for (int64_t i = 0; i < n; ++i) to[i] = out[i];
  }
};
struct F32Streamed : F32 {
  static constexpr bool kStreams = true;
  TW_INLINE void store(T* to, Vector value) {
#if defined(__AVX512F__)
    _mm512_stream_ps(to, (__m512)value);
#elif defined(__AVX2__)
    _mm256_stream_ps(to, (__m256)value);
#elif defined(__SSE2__)
    _mm_stream_ps(to, (__m128)value);
#else
    write(to, value);
#endif
  }
};
struct Bf16Streamed : Bf16 {
  static constexpr bool kStreams = true;
  TW_INLINE void store(T* to, Vector value) {
#if defined(__AVX512F__)
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to), (__m256i)narrow_bf16(value));
#elif defined(__AVX2__)
    _mm_stream_si128(reinterpret_cast<__m128i*>(to), (__m128i)narrow_bf16(value));
#else
    write(to, narrow_bf16(value));
#endif
  }
};

// Elements before the first place of a vector where streaming stores may begin.
template <typename E>
TW_INLINE int64_t elements_before_alignment(const void* out, int64_t n) {
  if (!E::kStreams) return 0;
  constexpr int64_t kBytes = kLanes * static_cast<int64_t>(sizeof(typename E::T));
  const int64_t gap = -static_cast<int64_t>(reinterpret_cast<std::uintptr_t>(out)) & (kBytes - 1);
  const int64_t head = gap / static_cast<int64_t>(sizeof(typename E::T));
  return head < n ? head : n;
}

template <typename E, typename F>
void map_unary(const void* a_data, void* out_data, int64_t n, const Rows& rows) {
  const auto* a = static_cast<const typename E::T*>(a_data);
  auto* out = static_cast<typename E::T*>(out_data);
  for (int64_t row = 0; row < rows.count; ++row, a += rows.a, out += rows.out) {
    int64_t i = elements_before_alignment<E>(out, n);
    if (E::kStreams && i > 0) E::store_part(out, F::run(E::load_part(a, i)), i);
    for (; i + kLanes <= n; i += kLanes) E::store(out + i, F::run(E::load(a + i)));
    if (i < n) E::store_part(out + i, F::run(E::load_part(a + i, n - i)), n - i);
  }
}

template <typename E, typename F, BinaryMode mode>
void map_binary(const void* a_data, const void* b_data, void* out_data, int64_t n, const Rows& rows) {
  constexpr bool kOneFirst = mode == kFirstScalar, kOneSecond = mode == kSecondScalar || mode == kSecondConstant;
  const auto* a = static_cast<const typename E::T*>(a_data);
  const auto* b = static_cast<const typename E::T*>(b_data);
  auto* out = static_cast<typename E::T*>(out_data);
  Vector first{}, second{};
  if (mode == kSecondConstant) second = splat(*static_cast<const float*>(b_data));
  for (int64_t row = 0; row < rows.count; ++row, a += rows.a, b += rows.b, out += rows.out) {
    if (mode == kFirstScalar) first = splat(E::load_part(a, 1)[0]);
    if (mode == kSecondScalar) second = splat(E::load_part(b, 1)[0]);
    int64_t i = elements_before_alignment<E>(out, n);
    if (E::kStreams && i > 0)
      E::store_part(out, F::run(kOneFirst ? first : E::load_part(a, i), kOneSecond ? second : E::load_part(b, i)), i);
    for (; i + kLanes <= n; i += kLanes)
      E::store(out + i, F::run(kOneFirst ? first : E::load(a + i), kOneSecond ? second : E::load(b + i)));
    if (i < n)
      E::store_part(
          out + i,
          F::run(kOneFirst ? first : E::load_part(a + i, n - i), kOneSecond ? second : E::load_part(b + i, n - i)),
          n - i);
  }
}

#define TW_UNARY(Name, expression)                        \
  struct Name {                                           \
    TW_INLINE Vector run(Vector x) { return expression; } \
  };
#define TW_BINARY(Name, expression)                                 \
  struct Name {                                                     \
    TW_INLINE Vector run(Vector x, Vector y) { return expression; } \
  };
TW_UNARY(Neg, -x)
TW_UNARY(Abs, absolute(x))
TW_UNARY(Exp, exponential(x))
TW_UNARY(Log, logarithm(x))
TW_UNARY(Sqrt, square_root(x))
TW_UNARY(Rsqrt, 1.0f / square_root(x))
TW_UNARY(Reciprocal, 1.0f / x)
TW_UNARY(Sin, sine(x, 0))
TW_UNARY(Cos, sine(x, 1))
TW_UNARY(Tanh, hyperbolic_tangent(x))
TW_UNARY(Erf, error_function(x))
TW_UNARY(Sigmoid, 1.0f / (1.0f + exponential(-x)))
TW_UNARY(Silu, x / (1.0f + exponential(-x)))
TW_UNARY(Gelu, gelu_exact(x))
TW_UNARY(GeluTanh, x / (1.0f + exponential(-1.59576912f * (x + 0.044715f * (x * x * x)))))
TW_UNARY(Relu, x < 0.0f ? Vector{} : x)
TW_UNARY(Square, x* x)
TW_UNARY(LogicalNot, to_number(x == 0.0f))
TW_BINARY(Add, x + y)
TW_BINARY(Sub, x - y)
TW_BINARY(Mul, x* y)
TW_BINARY(Div, x / y)
TW_BINARY(Maximum, ((x > y) | (x != x)) ? x : y)
TW_BINARY(Minimum, ((x < y) | (x != x)) ? x : y)
TW_BINARY(Eq, to_number(x == y))
TW_BINARY(Ne, to_number(x != y))
TW_BINARY(Lt, to_number(x < y))
TW_BINARY(Le, to_number(x <= y))
TW_BINARY(Gt, to_number(x > y))
TW_BINARY(Ge, to_number(x >= y))
TW_BINARY(LogicalAnd, to_number((x != 0.0f) & (y != 0.0f)))
TW_BINARY(LogicalOr, to_number((x != 0.0f) | (y != 0.0f)))

template <BinaryMode mode>
void map_pow(const void* a, const void* b, void* out, int64_t n, const Rows& rows) {
  for (int64_t row = 0; row < rows.count; ++row)
    pow_loop(static_cast<const float*>(a) + row * rows.a, static_cast<const float*>(b) + row * rows.b,
             static_cast<float*>(out) + row * rows.out, n, mode);
}

void map_select(const float* condition, const float* a, const float* b, float* out, int64_t n) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    write(out + i, read<Vector>(condition + i) != 0.0f ? read<Vector>(a + i) : read<Vector>(b + i));
  for (; i < n; ++i) out[i] = condition[i] != 0.0f ? a[i] : b[i];
}

void load_f32(const void* in, float* out, int64_t n) { __builtin_memcpy(out, in, static_cast<std::size_t>(n) * 4); }
void store_f32(const float* in, void* out, int64_t n) { __builtin_memcpy(out, in, static_cast<std::size_t>(n) * 4); }

void load_bf16(const void* in, float* out, int64_t n) {
  const auto* from = static_cast<const std::uint16_t*>(in);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) write(out + i, widen_bf16(read<Shorts>(from + i)));
  for (; i < n; ++i) {
    const std::uint32_t wide = static_cast<std::uint32_t>(from[i]) << 16;
    __builtin_memcpy(out + i, &wide, 4);
  }
}
void store_bf16(const float* in, void* out, int64_t n) {
  auto* to = static_cast<std::uint16_t*>(out);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) write(to + i, narrow_bf16(read<Vector>(in + i)));
  if (i < n) {
    const Shorts last = narrow_bf16(read_part(in + i, n - i));
    for (int64_t k = 0; i < n; ++i, ++k) to[i] = last[k];
  }
}

void load_f16(const void* in, float* out, int64_t n) {
  const auto* from = static_cast<const std::uint16_t*>(in);
  int64_t i = 0;
#if defined(__AVX512F__)
  for (; i + 16 <= n; i += 16)
    _mm512_storeu_ps(out + i, _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i))));
#elif defined(__F16C__)
  for (; i + 8 <= n; i += 8)
    _mm256_storeu_ps(out + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i))));
#endif
  for (; i < n; ++i) out[i] = widen_f16(from[i]);
}
void store_f16(const float* in, void* out, int64_t n) {
  auto* to = static_cast<std::uint16_t*>(out);
  int64_t i = 0;
#if defined(__AVX512F__)
  for (; i + 16 <= n; i += 16)
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i),
                        _mm512_cvtps_ph(_mm512_loadu_ps(in + i), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
#elif defined(__F16C__)
  for (; i + 8 <= n; i += 8)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i),
                     _mm256_cvtps_ph(_mm256_loadu_ps(in + i), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
#endif
  for (; i < n; ++i) to[i] = narrow_f16(in[i]);
}

void load_u8(const void* in, float* out, int64_t n) {
  const auto* from = static_cast<const std::uint8_t*>(in);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    write(out + i, __builtin_convertvector(__builtin_convertvector(read<Bytes>(from + i), Ints), Vector));
  for (; i < n; ++i) out[i] = static_cast<float>(from[i]);
}
void store_u8(const float* in, void* out, int64_t n) {
  auto* to = static_cast<std::uint8_t*>(out);
  for (int64_t i = 0; i < n; ++i) to[i] = static_cast<std::uint8_t>(static_cast<std::int32_t>(in[i]));
}
void store_bool(const float* in, void* out, int64_t n) {
  auto* to = static_cast<std::uint8_t*>(out);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    write(to + i, __builtin_convertvector((Bits)(read<Vector>(in + i) != 0.0f) & 1u, Bytes));
  for (; i < n; ++i) to[i] = in[i] != 0.0f;
}

void copy_stream(const void* in, void* out, int64_t bytes) {
#if defined(__x86_64__)
  const char* from = static_cast<const char*>(in);
  char* to = static_cast<char*>(out);
  int64_t head = static_cast<int64_t>((64 - (reinterpret_cast<std::uintptr_t>(to) & 63)) & 63);
  if (head > bytes) head = bytes;
  __builtin_memcpy(to, from, static_cast<std::size_t>(head));
  int64_t i = head;
  for (; i + 64 <= bytes; i += 64) {
#if defined(__AVX512F__)
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to + i), _mm512_loadu_si512(from + i));
#elif defined(__AVX2__)
    const __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i));
    const __m256i high = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i + 32));
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to + i), low);
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to + i + 32), high);
#else
    for (int k = 0; k < 64; k += 16)
      _mm_stream_si128(reinterpret_cast<__m128i*>(to + i + k),
                       _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i + k)));
#endif
  }
  __builtin_memcpy(to + i, from + i, static_cast<std::size_t>(bytes - i));
#else
  __builtin_memcpy(out, in, static_cast<std::size_t>(bytes));
#endif
}

TW_INLINE float add_lanes(Vector v) {
  float out = 0;
  for (int i = 0; i < kLanes; ++i) out += v[i];
  return out;
}

float sum(const float* a, int64_t n) {
  Vector part[4] = {};
  int64_t i = 0;
  for (; i + 4 * kLanes <= n; i += 4 * kLanes)
    for (int k = 0; k < 4; ++k) part[k] += read<Vector>(a + i + k * kLanes);
  for (; i + kLanes <= n; i += kLanes) part[0] += read<Vector>(a + i);
  if (i < n) part[1] += read_part(a + i, n - i);
  return add_lanes((part[0] + part[1]) + (part[2] + part[3]));
}

float max(const float* a, int64_t n) {
  float out = a[0];
  int64_t i = 0;
  if (n >= kLanes) {
    Vector part[4];
    for (Vector& p : part) p = read<Vector>(a);
    for (; i + 4 * kLanes <= n; i += 4 * kLanes)
      for (int k = 0; k < 4; ++k) part[k] = Maximum::run(read<Vector>(a + i + k * kLanes), part[k]);
    for (; i + kLanes <= n; i += kLanes) part[0] = Maximum::run(read<Vector>(a + i), part[0]);
    const Vector all = Maximum::run(Maximum::run(part[0], part[1]), Maximum::run(part[2], part[3]));
    for (int k = 0; k < kLanes; ++k) out = all[k] > out || all[k] != all[k] ? all[k] : out;
  }
  for (; i < n; ++i) out = a[i] > out || a[i] != a[i] ? a[i] : out;
  return out;
}

float exp_sum(const float* a, float shift, float* out, int64_t n, const float* ahead) {
  Vector total[2] = {};
  int64_t i = 0;
  for (; i + 2 * kLanes <= n; i += 2 * kLanes) {
    if (ahead)
      for (int k = 0; k < 2 * kLanes; k += 16) __builtin_prefetch(ahead + i + k, 0, 2);
    for (int k = 0; k < 2; ++k) {
      const Vector e = exponential(read<Vector>(a + i + k * kLanes) - shift);
      write(out + i + k * kLanes, e);
      total[k] += e;
    }
  }
  for (; i < n; i += kLanes) {
    const int64_t rest = n - i < kLanes ? n - i : kLanes;
    Vector e = exponential(read_part(a + i, rest) - shift);
    write_part(out + i, e, rest);
    for (int64_t k = rest; k < kLanes; ++k) e[k] = 0.0f;
    total[0] += e;
  }
  return add_lanes(total[0] + total[1]);
}

// In the order of ops::ScalarOp.
#define TW_UNARY_LOOPS(E)                                                                                         \
  {                                                                                                               \
    map_unary<E, Neg>, map_unary<E, Abs>, map_unary<E, Exp>, map_unary<E, Log>, map_unary<E, Sqrt>,               \
        map_unary<E, Rsqrt>, map_unary<E, Reciprocal>, map_unary<E, Sin>, map_unary<E, Cos>, map_unary<E, Tanh>,  \
        map_unary<E, Erf>, map_unary<E, Sigmoid>, map_unary<E, Silu>, map_unary<E, Gelu>, map_unary<E, GeluTanh>, \
        map_unary<E, Relu>, map_unary<E, Square>, map_unary<E, LogicalNot>                                        \
  }
#define TW_MODES(E, F)                                                                               \
  {                                                                                                  \
    map_binary<E, F, kBothVectors>, map_binary<E, F, kSecondScalar>, map_binary<E, F, kFirstScalar>, \
        map_binary<E, F, kSecondConstant>                                                            \
  }
#define TW_BINARY_LOOPS(E, ...)                                                                                  \
  {                                                                                                              \
    TW_MODES(E, Add), TW_MODES(E, Sub), TW_MODES(E, Mul), TW_MODES(E, Div), TW_MODES(E, Maximum),                \
        TW_MODES(E, Minimum), {__VA_ARGS__}, TW_MODES(E, Eq), TW_MODES(E, Ne), TW_MODES(E, Lt), TW_MODES(E, Le), \
        TW_MODES(E, Gt), TW_MODES(E, Ge), TW_MODES(E, LogicalAnd), TW_MODES(E, LogicalOr)                        \
  }

}  // namespace

const VectorTable TW_TABLE = {
    .unary = {TW_UNARY_LOOPS(F32), TW_UNARY_LOOPS(F32Streamed), TW_UNARY_LOOPS(Bf16), TW_UNARY_LOOPS(Bf16Streamed)},
    .binary = {TW_BINARY_LOOPS(F32, map_pow<kBothVectors>, map_pow<kSecondScalar>, map_pow<kFirstScalar>,
                               map_pow<kSecondScalar>),
               TW_BINARY_LOOPS(F32Streamed), TW_BINARY_LOOPS(Bf16), TW_BINARY_LOOPS(Bf16Streamed)},
    .select = map_select,
    .load = {load_f32, load_f16, load_bf16, load_u8, load_u8},
    .store = {store_f32, store_f16, store_bf16, store_u8, store_bool},
    .copy_stream = copy_stream,
    .sum = sum,
    .max = max,
    .exp_sum = exp_sum,
    .name = TW_TABLE_NAME,
};

}  // namespace tilewright::backends::host
