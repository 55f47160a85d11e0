// One row times an unpacked matrix, for decode: packing b would cost more than multiplying it. Included inside an
// unnamed namespace after the vectors (V, kLanes …) and scalar_body.h; see tile_body.h.

template <Element E>
TW_INLINE V load_as(const char* p) {
  if constexpr (E == Element::f32) return load(reinterpret_cast<const float*>(p));
  if constexpr (E == Element::f16) return load_half(p);
  return load_bf16(p);
}

// Columns lie K values apart, each contiguous along k (keys): R columns at once, one chain of sums each.
template <Element E, int R>
TW_INLINE void row_dots(const RowCall& call, long n) {
  constexpr long kSize = E == Element::f32 ? 4 : 2;
  const char* b = static_cast<const char*>(call.b) + n * call.n_stride * kSize;
  V acc[R];
#pragma GCC unroll 8
  for (int r = 0; r < R; r++) acc[r] = zero();
  long k = 0;
  for (; k + kLanes <= call.k; k += kLanes) {
    const V x = load(call.x + k);
#pragma GCC unroll 8
    for (int r = 0; r < R; r++) acc[r] = fma(load_as<E>(b + (r * call.n_stride + k) * kSize), x, acc[r]);
  }
#pragma GCC unroll 8
  for (int r = 0; r < R; r++) {
    float sum = sum_of(acc[r]);
    for (long t = k; t < call.k; t++) sum += call.x[t] * scalar_load(E, b + r * call.n_stride * kSize, t);
    call.out[n + r] = sum;
  }
}

// Rows of b are contiguous along n (values): C vectors of columns at once, over all of k.
template <Element E, int C>
TW_INLINE void row_sums(const RowCall& call, long n) {
  constexpr long kSize = E == Element::f32 ? 4 : 2;
  const char* b = static_cast<const char*>(call.b) + n * kSize;
  V acc[C];
#pragma GCC unroll 8
  for (int c = 0; c < C; c++) acc[c] = zero();
  for (long k = 0; k < call.k; k++, b += call.k_stride * kSize) {
    const V x = broadcast(call.x + k);
#pragma GCC unroll 8
    for (int c = 0; c < C; c++) acc[c] = fma(load_as<E>(b + c * kLanes * kSize), x, acc[c]);
  }
#pragma GCC unroll 8
  for (int c = 0; c < C; c++) store(call.out + n + c * kLanes, acc[c]);
}

template <Element E>
static void row_of_element(const RowCall& call) {
  long n = 0;
  if (call.k_stride == 1) {
    for (; n + 8 <= call.columns; n += 8) row_dots<E, 8>(call, n);
    for (; n < call.columns; n++) row_dots<E, 1>(call, n);
    return;
  }
  for (; n + 8 * kLanes <= call.columns; n += 8 * kLanes) row_sums<E, 8>(call, n);
  for (; n + kLanes <= call.columns; n += kLanes) row_sums<E, 1>(call, n);
  scalar_row(call, n);
}

void row(const RowCall& call) {
  if (call.from == Element::f32) return row_of_element<Element::f32>(call);
  if (call.from == Element::f16) return row_of_element<Element::f16>(call);
  row_of_element<Element::bf16>(call);
}
