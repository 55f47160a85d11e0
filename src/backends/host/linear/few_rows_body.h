// Products of one to kFewRows rows with a matrix that is used as it lies, each element read once: packing it would cost
// more than the product. Included inside an unnamed namespace after tile_body.h; the level adds sum_lanes.

// Two vectors of f32 for the two halves of what one load brings: of bf16 pairs, of f16, of f32.
struct TwoVectors {
  V a, b;
};
template <Element E>
TW_INLINE TwoVectors load_two(const char* p) {
  if constexpr (E == Element::bf16) {
    const Pairs pairs = load_pairs(p);
    return {even(pairs), odd(pairs)};
  } else if constexpr (E == Element::f16) {
    return {load_half(p), load_half(p + 2 * kLanes)};
  } else {
    return {load(reinterpret_cast<const float*>(p)), load(reinterpret_cast<const float*>(p) + kLanes)};
  }
}

#ifndef TW_DOT_STEP
// 2 · kLanes products of x and b, added to two sums.
template <Element E>
TW_INLINE void dot_step(TwoVectors& sum, const char* x, const char* b) {
  const TwoVectors u = load_two<E>(x), v = load_two<E>(b);
  sum.a = fma(u.a, v.a, sum.a);
  sum.b = fma(u.b, v.b, sum.b);
}
#endif

// out[r][n] = x[r] · b[n], both with k contiguous.
template <Element E, int R>
static __attribute__((noinline)) void dot_rows(const FewRowsCall& call) {
  constexpr long kSize = E == Element::f32 ? 4 : 2, kStep = 2 * kLanes;
  const char* const x = static_cast<const char*>(call.x);
  for (long n = 0; n < call.n; n++) {
    const char* const b = static_cast<const char*>(call.b) + n * call.b_stride;
    TwoVectors sum[R];
#pragma GCC unroll 4
    for (int r = 0; r < R; r++) sum[r].a = sum[r].b = zero();
    long k = 0;
    for (; k + kStep <= call.k; k += kStep)
#pragma GCC unroll 4
      for (int r = 0; r < R; r++) dot_step<E>(sum[r], x + r * call.x_stride + k * kSize, b + k * kSize);
#pragma GCC unroll 4
    for (int r = 0; r < R; r++) {
      float total = sum_lanes(add(sum[r].a, sum[r].b));
      for (long rest = k; rest < call.k; rest++)
        total += scalar_load(E, x + r * call.x_stride, rest) * scalar_load(E, b, rest);
      call.out[r * call.out_stride + n] = total;
    }
  }
}

// Adds Σ x[r][k] · b[k] over k of [k_begin, k_end) to `raw`, for C · 2 · kLanes columns from n on; b with n contiguous,
// x as f32. Raw sums lie as load_two brings them. The first columns fetch whole rows ahead, since the others come back
// to them.
template <Element E, int R, int C>
TW_INLINE void add_rows_columns(const FewRowsCall& call, long k_begin, long k_end, long n, long fetch, float* raw) {
  constexpr long kSize = E == Element::f32 ? 4 : 2, kStep = 2 * kLanes, kAheadRows = 16;
  TwoVectors sum[R][C];
#pragma GCC unroll 4
  for (int r = 0; r < R; r++)
#pragma GCC unroll 8
    for (int c = 0; c < C; c++) {
      const float* from = raw + r * kFewColumns + n + c * kStep;
      sum[r][c].a = load(from);
      sum[r][c].b = load(from + kLanes);
    }
  const char* b = static_cast<const char*>(call.b) + k_begin * call.b_stride + n * kSize;
  const float* x = static_cast<const float*>(call.x) + k_begin;
  const long x_stride = call.x_stride / 4;
  for (long k = k_begin; k < k_end; k++, b += call.b_stride, x++) {
    for (long at = 0; at < fetch; at += 64) __builtin_prefetch(b + kAheadRows * call.b_stride + at, 0, 3);
    V factor[R];
#pragma GCC unroll 4
    for (int r = 0; r < R; r++) factor[r] = broadcast(x + r * x_stride);
#pragma GCC unroll 8
    for (int c = 0; c < C; c++) {
      const TwoVectors v = load_two<E>(b + c * kStep * kSize);
#pragma GCC unroll 4
      for (int r = 0; r < R; r++) {
        sum[r][c].a = fma(factor[r], v.a, sum[r][c].a);
        sum[r][c].b = fma(factor[r], v.b, sum[r][c].b);
      }
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < R; r++)
#pragma GCC unroll 8
    for (int c = 0; c < C; c++) {
      float* to = raw + r * kFewColumns + n + c * kStep;
      store(to, sum[r][c].a);
      store(to + kLanes, sum[r][c].b);
    }
}
template <Element E, int R>
static __attribute__((noinline)) void add_rows(const FewRowsCall& call) {
  constexpr long kStep = 2 * kLanes, kSize = E == Element::f32 ? 4 : 2;
  constexpr int kFit = kFewColumns / kStep;
  constexpr int kHold = kTallRows * kTallVectors / (2 * R);  // pairs of sums a row that the registers hold
  constexpr int kMost = kHold < kFit ? kHold : kFit;
  constexpr int kWide = kMost >= 8 ? 8 : kMost >= 4 ? 4 : kMost >= 2 ? 2 : 1;
  const long whole = call.n / kStep * kStep;
  // If the registers hold whole rows, memory is one stream. Else some rows at a time, which the first columns fetch for
  // the others.
  const bool one_stream = whole == kWide * kStep || whole == kStep;
  const long rows = one_stream ? call.k : 64, fetch = one_stream ? 0 : call.n * kSize;
  alignas(64) float raw[R * kFewColumns] = {};
  for (long k = 0; k < call.k; k += rows) {
    const long end = k + rows < call.k ? k + rows : call.k;
    long n = 0;
    for (; n + kWide * kStep <= whole; n += kWide * kStep)
      add_rows_columns<E, R, kWide>(call, k, end, n, n ? 0 : fetch, raw);
    for (; n < whole; n += kStep) add_rows_columns<E, R, 1>(call, k, end, n, n ? 0 : fetch, raw);
  }
  for (int r = 0; r < R; r++) {
    const float* from = raw + r * kFewColumns;
    float* to = call.out + r * call.out_stride;
    for (long n = 0; n < whole; n += kStep)
      for (int i = 0; i < kLanes; i++) {
        to[n + (E == Element::bf16 ? 2 * i : i)] = from[n + i];
        to[n + (E == Element::bf16 ? 2 * i + 1 : kLanes + i)] = from[n + kLanes + i];
      }
    for (long n = whole; n < call.n; n++) {
      float total = 0;
      for (long k = 0; k < call.k; k++)
        total += static_cast<const float*>(call.x)[r * (call.x_stride / 4) + k] *
                 scalar_load(E, static_cast<const char*>(call.b) + k * call.b_stride, n);
      to[n] = total;
    }
  }
}

#define TW_FEW_ROWS(name, function)                \
  template <Element E>                             \
  static void name##_of(const FewRowsCall& call) { \
    switch (call.rows) {                           \
      case 1:                                      \
        return function<E, 1>(call);               \
      case 2:                                      \
        return function<E, 2>(call);               \
      case 3:                                      \
        return function<E, 3>(call);               \
      default:                                     \
        return function<E, 4>(call);               \
    }                                              \
  }                                                \
  static void name(const FewRowsCall& call) {      \
    switch (call.element) {                        \
      case Element::f32:                           \
        return name##_of<Element::f32>(call);      \
      case Element::f16:                           \
        return name##_of<Element::f16>(call);      \
      case Element::bf16:                          \
        return name##_of<Element::bf16>(call);     \
    }                                              \
  }
TW_FEW_ROWS(few_dot, dot_rows)
TW_FEW_ROWS(few_add, add_rows)
#undef TW_FEW_ROWS
