// The register tile, written once for every instruction set. Included in linear_<level>.cpp inside namespace
// tilewright::backends::host, inside an unnamed namespace, after the level has defined
//   V (vector of kLanes floats), Pairs (kLanes pairs of bf16), and zero, load, store, fma, add, mul, broadcast,
//   load_pairs, even, odd, load_half, broadcast_half; kTallVectors columns per tile (in vectors) for tall tiles,
//   kTallRows.
// GCC 12 keeps accumulators in registers only if every loop over them is unrolled by pragma.

#define TW_INLINE static inline __attribute__((always_inline))

constexpr long kChunk = 8;  // steps of k between prefetches

// Row addresses out of few registers: rows 4q … 4q+3 are base[q] + {0, 1, 2, 3} strides.
template <int R>
struct RowPointers {
  const char* base[(R + 3) / 4];
  long stride, stride3;
};
template <int R>
TW_INLINE RowPointers<R> row_pointers(const TileCall& call) {
  RowPointers<R> rows;
  rows.stride = call.x_stride;
  rows.stride3 = 3 * call.x_stride;
#pragma GCC unroll 4
  for (int q = 0; q < (R + 3) / 4; q++) {
    rows.base[q] = static_cast<const char*>(call.x) + 4 * q * call.x_stride;
    asm("" : "+r"(rows.base[q]));  // or the compiler derives one from the other and runs out of registers
  }
  asm("" : "+r"(rows.stride3));
  return rows;
}
template <int R>
TW_INLINE const char* row_at(const RowPointers<R>& rows, int r) {
  const char* base = rows.base[r / 4];
  return r % 4 == 0   ? base
         : r % 4 == 1 ? base + rows.stride
         : r % 4 == 2 ? base + 2 * rows.stride
                      : base + rows.stride3;
}
template <int R>
TW_INLINE void advance(RowPointers<R>& rows, long bytes) {
#pragma GCC unroll 4
  for (int q = 0; q < (R + 3) / 4; q++) rows.base[q] += bytes;
}

template <int R, int C, int U>
struct Accumulators {
  V v[U][R][C];
};

// A kind says how one step is done: `full` for all values of k of a step, `last` where a pair has only its first half.
struct F32Plain32 {
  static constexpr long step_k = 1, x_bytes = 4, panel_bytes = 128, column_bytes = 4;
  template <int R, int C, int U>
  TW_INLINE void full(Accumulators<R, C, U>& acc, int u, const RowPointers<R>& rows, long at, const char* panel) {
    V b[C];
#pragma GCC unroll 8
    for (int c = 0; c < C; c++) b[c] = load(reinterpret_cast<const float*>(panel) + c * kLanes);
#pragma GCC unroll 16
    for (int r = 0; r < R; r++) {
      const V x = broadcast(reinterpret_cast<const float*>(row_at(rows, r) + at));
#pragma GCC unroll 8
      for (int c = 0; c < C; c++) acc.v[u][r][c] = fma(x, b[c], acc.v[u][r][c]);
    }
  }
};
struct F32Plain16 {
  static constexpr long step_k = 1, x_bytes = 4, panel_bytes = 64, column_bytes = 2;
  template <int R, int C, int U>
  TW_INLINE void full(Accumulators<R, C, U>& acc, int u, const RowPointers<R>& rows, long at, const char* panel) {
    V b[C];
#pragma GCC unroll 8
    for (int c = 0; c < C; c++) b[c] = load_half(panel + c * kLanes * 2);
#pragma GCC unroll 16
    for (int r = 0; r < R; r++) {
      const V x = broadcast(reinterpret_cast<const float*>(row_at(rows, r) + at));
#pragma GCC unroll 8
      for (int c = 0; c < C; c++) acc.v[u][r][c] = fma(x, b[c], acc.v[u][r][c]);
    }
  }
};
struct F16Plain16 {
  static constexpr long step_k = 1, x_bytes = 2, panel_bytes = 64, column_bytes = 2;
  template <int R, int C, int U>
  TW_INLINE void full(Accumulators<R, C, U>& acc, int u, const RowPointers<R>& rows, long at, const char* panel) {
    V b[C];
#pragma GCC unroll 8
    for (int c = 0; c < C; c++) b[c] = load_half(panel + c * kLanes * 2);
#pragma GCC unroll 16
    for (int r = 0; r < R; r++) {
      const V x = broadcast_half(row_at(rows, r) + at);
#pragma GCC unroll 8
      for (int c = 0; c < C; c++) acc.v[u][r][c] = fma(x, b[c], acc.v[u][r][c]);
    }
  }
};
// Both halves of the pairs of bf16 in one step. X says how row r's two values at `at` become vectors.
template <class X>
struct WidenedPairs {
  static constexpr long step_k = 2, x_bytes = X::bytes, panel_bytes = 128, column_bytes = 4;
  template <int R, int C, int U>
  TW_INLINE void half(Accumulators<R, C, U>& acc, bool is_odd, const RowPointers<R>& rows, long at, const char* panel) {
    V b[C];
#pragma GCC unroll 8
    for (int c = 0; c < C; c++) {
      const Pairs pairs = load_pairs(panel + c * kLanes * 4);
      b[c] = is_odd ? odd(pairs) : even(pairs);
    }
#pragma GCC unroll 16
    for (int r = 0; r < R; r++) {
      const V x = is_odd ? X::second(row_at(rows, r) + at) : X::first(row_at(rows, r) + at);
#pragma GCC unroll 8
      for (int c = 0; c < C; c++) acc.v[is_odd ? U - 1 : 0][r][c] = fma(x, b[c], acc.v[is_odd ? U - 1 : 0][r][c]);
    }
  }
  template <int R, int C, int U>
  TW_INLINE void full(Accumulators<R, C, U>& acc, int, const RowPointers<R>& rows, long at, const char* panel) {
    half(acc, false, rows, at, panel);
    // Tall tiles load the pairs twice: keeping them takes the registers of accumulators.
    if (R * C * 2 > kTallRows * kTallVectors) asm volatile("" ::: "memory");
    half(acc, true, rows, at, panel);
  }
  template <int R, int C, int U>
  TW_INLINE void last(Accumulators<R, C, U>& acc, const RowPointers<R>& rows, const char* panel) {
    V b[C];
#pragma GCC unroll 8
    for (int c = 0; c < C; c++) b[c] = even(load_pairs(panel + c * kLanes * 4));
#pragma GCC unroll 16
    for (int r = 0; r < R; r++) {
      const V x = X::single(row_at(rows, r));
#pragma GCC unroll 8
      for (int c = 0; c < C; c++) acc.v[0][r][c] = fma(x, b[c], acc.v[0][r][c]);
    }
  }
};
struct F32Pair {
  static constexpr long bytes = 4;
  TW_INLINE V first(const char* x) { return broadcast(reinterpret_cast<const float*>(x)); }
  TW_INLINE V second(const char* x) { return broadcast(reinterpret_cast<const float*>(x) + 1); }
  TW_INLINE V single(const char* x) { return first(x); }
};
struct Bf16Pair {
  static constexpr long bytes = 2;
  TW_INLINE V first(const char* x) { return even(broadcast_pair(x)); }
  TW_INLINE V second(const char* x) { return odd(broadcast_pair(x)); }
  TW_INLINE V single(const char* x) { return broadcast_bf16(x); }
};
typedef WidenedPairs<F32Pair> F32Pairs16;
typedef WidenedPairs<Bf16Pair> Bf16Pairs16;

// R rows × C vectors of columns from `column` on; U sets of accumulators break the chain of dependent additions.
template <class Kind, int R, int C, int U>
TW_INLINE void tile_columns(const TileCall& call, long column) {
  Accumulators<R, C, U> acc;
#pragma GCC unroll 4
  for (int u = 0; u < U; u++)
#pragma GCC unroll 16
    for (int r = 0; r < R; r++)
#pragma GCC unroll 8
      for (int c = 0; c < C; c++) acc.v[u][r][c] = zero();
  RowPointers<R> rows = row_pointers<R>(call);
  const char* panel = static_cast<const char*>(call.panel) + column * Kind::column_bytes;
  const char* ahead = call.ahead;
  long steps = call.k / Kind::step_k;
  for (; steps >= kChunk; steps -= kChunk) {
    for (int line = 0; line < call.ahead_lines; line++) __builtin_prefetch(ahead + line * 64, 0, 2);
    ahead += kChunk * Kind::panel_bytes;
#pragma GCC unroll 2
    for (long s = 0; s < kChunk; s += 4) {
#pragma GCC unroll 4
      for (int i = 0; i < 4; i++)
        Kind::template full<R, C, U>(acc, i % U, rows, i * Kind::step_k * Kind::x_bytes, panel + i * Kind::panel_bytes);
      advance(rows, 4 * Kind::step_k * Kind::x_bytes);
      panel += 4 * Kind::panel_bytes;
    }
  }
  for (; steps > 0; steps--) {
    Kind::template full<R, C, U>(acc, 0, rows, 0, panel);
    advance(rows, Kind::step_k * Kind::x_bytes);
    panel += Kind::panel_bytes;
  }
  if constexpr (Kind::step_k == 2)
    if (call.k % 2) Kind::template last<R, C, U>(acc, rows, panel);
  float* out = call.out + column;
#pragma GCC unroll 16
  for (int r = 0; r < R; r++)
#pragma GCC unroll 8
    for (int c = 0; c < C; c++) {
      V sum = acc.v[0][r][c];
#pragma GCC unroll 4
      for (int u = 1; u < U; u++) sum = add(sum, acc.v[u][r][c]);
      float* to = out + r * 32 + c * kLanes;
      store(to, call.accumulate ? add(load(to), sum) : sum);
    }
}

template <class Kind, int R>
static __attribute__((noinline)) void tile_rows(const TileCall& call) {
  constexpr int kAll = 32 / kLanes;
  // Low tiles take the whole width, so that memory is read in one stream; tall ones what the registers hold.
  constexpr int C = R * kAll <= 8 ? kAll : kTallVectors;
  constexpr int U = R * C * 2 <= kTallRows * kTallVectors ? 2 : 1;
  for (long column = 0; column < 32; column += C * kLanes) {
    TileCall part = call;
    if (column) part.ahead_lines = 0;
    tile_columns<Kind, R, C, U>(part, column);
  }
}

template <class Kind>
static void tile(const TileCall& call) {
  switch (call.rows) {
    case 1:
      return tile_rows<Kind, 1>(call);
    case 2:
      return tile_rows<Kind, 2>(call);
    case 3:
      return tile_rows<Kind, 3>(call);
    case 4:
      return tile_rows<Kind, 4>(call);
#define TW_ROWS(n)                                          \
  case n:                                                   \
    if constexpr (kTallRows >= n) tile_rows<Kind, n>(call); \
    return;
      TW_ROWS(5)
      TW_ROWS(6)
      TW_ROWS(7)
      TW_ROWS(8)
      TW_ROWS(9)
      TW_ROWS(10)
      TW_ROWS(11)
      TW_ROWS(12)
#undef TW_ROWS
    default:
      break;
  }
}
