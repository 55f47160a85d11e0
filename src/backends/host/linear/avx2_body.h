// Packing, widening and output with 256-bit vectors; the wider levels use it too, since these parts are bound by
// memory. Included inside an unnamed namespace; see tile_body.h.

TW_INLINE __m128i round_to_bf16(__m256 value) {
  const __m256i bits = _mm256_castps_si256(value);
  const __m256i high = _mm256_srli_epi32(bits, 16);
  const __m256i lsb = _mm256_and_si256(high, _mm256_set1_epi32(1));
  const __m256i rounded =
      _mm256_srli_epi32(_mm256_add_epi32(bits, _mm256_add_epi32(lsb, _mm256_set1_epi32(0x7fff))), 16);
  const __m256i quiet = _mm256_or_si256(high, _mm256_set1_epi32(0x40));
  const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(value, value, _CMP_UNORD_Q));
  const __m256i both = _mm256_blendv_epi8(rounded, quiet, nan);
  return _mm_packus_epi32(_mm256_castsi256_si128(both), _mm256_extracti128_si256(both, 1));
}

void finish(const FinishCall& call) {
  const bool scaled = call.scale != 1.0f;
  const __m256 scale = _mm256_set1_ps(call.scale);
  for (int row = 0; row < call.rows; row++) {
    char* y = static_cast<char*>(call.y) + row * call.y_stride;
    const float* in = call.in + row * call.in_stride;
    long n = 0;
    for (; n + 8 <= call.columns; n += 8) {
      __m256 v = _mm256_loadu_ps(in + n);
      if (scaled) v = _mm256_mul_ps(v, scale);
      if (call.bias) v = _mm256_add_ps(v, _mm256_loadu_ps(call.bias + n));
      if (call.to == Element::f32)
        _mm256_storeu_ps(reinterpret_cast<float*>(y) + n, v);
      else
        _mm_storeu_si128(reinterpret_cast<__m128i*>(y + n * 2),
                         call.to == Element::bf16 ? round_to_bf16(v) : _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
    }
    scalar_finish(call, row, n);
  }
}

TW_INLINE __m256 widen8(Element from, const void* src, long i) {
  if (from == Element::f32) return _mm256_loadu_ps(static_cast<const float*>(src) + i);
  const __m128i half = _mm_loadu_si128(reinterpret_cast<const __m128i*>(static_cast<const uint16_t*>(src) + i));
  if (from == Element::f16) return _mm256_cvtph_ps(half);
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(half), 16));
}
void widen(Element from, const void* src, float* dst, long count) {
  long i = 0;
  for (; i + 8 <= count; i += 8) _mm256_storeu_ps(dst + i, widen8(from, src, i));
  for (; i < count; i++) dst[i] = scalar_load(from, src, i);
}

TW_INLINE void put(void* to, __m256i v) { _mm256_store_si256(static_cast<__m256i*>(to), v); }

// 8 × 8 words: on return rows[i] holds word i of every row.
TW_INLINE void transpose8(__m256i rows[8]) {
  __m256i a[8], b[8];
#pragma GCC unroll 4
  for (int i = 0; i < 4; i++) {
    a[2 * i] = _mm256_unpacklo_epi32(rows[2 * i], rows[2 * i + 1]);
    a[2 * i + 1] = _mm256_unpackhi_epi32(rows[2 * i], rows[2 * i + 1]);
  }
#pragma GCC unroll 2
  for (int i = 0; i < 2; i++) {
    b[4 * i] = _mm256_unpacklo_epi64(a[4 * i], a[4 * i + 2]);
    b[4 * i + 1] = _mm256_unpackhi_epi64(a[4 * i], a[4 * i + 2]);
    b[4 * i + 2] = _mm256_unpacklo_epi64(a[4 * i + 1], a[4 * i + 3]);
    b[4 * i + 3] = _mm256_unpackhi_epi64(a[4 * i + 1], a[4 * i + 3]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; i++) {
    rows[i] = _mm256_permute2x128_si256(b[i], b[4 + i], 0x20);
    rows[4 + i] = _mm256_permute2x128_si256(b[i], b[4 + i], 0x31);
  }
}

// Words (4 bytes along k) [word, word + 8) of rows n … n + 7; rows beyond `columns` are zero.
TW_INLINE void load_block(const PackCall& call, long row_bytes, long n, long word, __m256i rows[8]) {
#pragma GCC unroll 8
  for (int i = 0; i < 8; i++)
    rows[i] = n + i < call.columns ? _mm256_loadu_si256(reinterpret_cast<const __m256i*>(
                                         static_cast<const char*>(call.src) + (n + i) * row_bytes + word * 4))
                                   : _mm256_setzero_si256();
}

// k contiguous. Handles whole blocks of 8 words; returns how many values of k are done.
TW_INLINE long pack_rows(const PackCall& call) {
  const long size = call.from == Element::f32 ? 4 : 2, row_bytes = call.n_stride * size, words = call.k * size / 4;
  char* const panel = static_cast<char*>(call.panel);
  constexpr long kAhead = 1024;  // bytes ahead in each of the 32 rows: more streams than the hardware follows
  long word = 0;
  for (; word + 8 <= words; word += 8) {
    if (call.stream && word % 16 == 0)
      for (long n = 0; n < call.columns; n++)
        __builtin_prefetch(static_cast<const char*>(call.src) + n * row_bytes + word * 4 + kAhead, 0, 2);
    if (call.form == PanelForm::plain16) {  // values of k of one parity, 16 columns at a time
      for (long n = 0; n < 32; n += 16) {
        __m256i low[8], high[8];
        load_block(call, row_bytes, n, word, low);
        load_block(call, row_bytes, n + 8, word, high);
        transpose8(low);
        transpose8(high);
        const __m256i mask = _mm256_set1_epi32(0xffff);
#pragma GCC unroll 8
        for (int i = 0; i < 8; i++) {
          const __m256i even_k = _mm256_permute4x64_epi64(
              _mm256_packus_epi32(_mm256_and_si256(low[i], mask), _mm256_and_si256(high[i], mask)), 0xd8);
          const __m256i odd_k = _mm256_permute4x64_epi64(
              _mm256_packus_epi32(_mm256_srli_epi32(low[i], 16), _mm256_srli_epi32(high[i], 16)), 0xd8);
          char* to = panel + (word + i) * 2 * 64 + n * 2;
          put(to, even_k);
          put(to + 64, odd_k);
        }
      }
      continue;
    }
    for (long n = 0; n < 32; n += 8) {
      __m256i block[8];
      load_block(call, row_bytes, n, word, block);
      transpose8(block);
#pragma GCC unroll 8
      for (int i = 0; i < 8; i++) {
        if (call.form == PanelForm::plain32 && size == 2) {
          char* to = panel + (word + i) * 2 * 128 + n * 4;
          if (call.from == Element::bf16) {
            put(to, _mm256_slli_epi32(block[i], 16));
            put(to + 128, _mm256_and_si256(block[i], _mm256_set1_epi32(static_cast<int>(0xffff0000u))));
          } else {
            const __m256i mask = _mm256_set1_epi32(0xffff);
            const __m256i halves = _mm256_permute4x64_epi64(
                _mm256_packus_epi32(_mm256_and_si256(block[i], mask), _mm256_srli_epi32(block[i], 16)), 0xd8);
            put(to, _mm256_castps_si256(_mm256_cvtph_ps(_mm256_castsi256_si128(halves))));
            put(to + 128, _mm256_castps_si256(_mm256_cvtph_ps(_mm256_extracti128_si256(halves, 1))));
          }
        } else {
          put(panel + (word + i) * 128 + n * 4, block[i]);
        }
      }
    }
  }
  return word * 4 / size;
}

// Columns contiguous, all 32 present. Returns how many values of k are done.
TW_INLINE long pack_columns(const PackCall& call) {
  const long size = call.from == Element::f32 ? 4 : 2, k_bytes = call.k_stride * size;
  const char* src = static_cast<const char*>(call.src);
  char* const panel = static_cast<char*>(call.panel);
  long k = 0;
  if (call.form == PanelForm::pairs16) {
    for (; k + 2 <= call.k; k += 2)
#pragma GCC unroll 2
      for (int n = 0; n < 32; n += 16) {
        const __m256i first = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(src + k * k_bytes + n * 2));
        const __m256i second = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(src + (k + 1) * k_bytes + n * 2));
        const __m256i low = _mm256_unpacklo_epi16(first, second), high = _mm256_unpackhi_epi16(first, second);
        put(panel + k / 2 * 128 + n * 4, _mm256_permute2x128_si256(low, high, 0x20));
        put(panel + k / 2 * 128 + n * 4 + 32, _mm256_permute2x128_si256(low, high, 0x31));
      }
  } else if (call.form == PanelForm::plain16) {
    for (; k < call.k; k++)
#pragma GCC unroll 2
      for (int n = 0; n < 32; n += 16)
        put(panel + k * 64 + n * 2, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(src + k * k_bytes + n * 2)));
  } else {
    for (; k < call.k; k++)
#pragma GCC unroll 4
      for (int n = 0; n < 32; n += 8)
        put(panel + k * 128 + n * 4, _mm256_castps_si256(widen8(call.from, src + k * k_bytes, n)));
  }
  return k;
}

void pack_whole(const PackCall& call) {
  long done = 0;
  if (call.k_stride == 1)
    done = pack_rows(call);
  else if (call.n_stride == 1 && call.columns == 32)
    done = pack_columns(call);
  scalar_pack(call, done, call.k);
}

// Streaming goes through a piece in the first cache: a panel line is filled by several columns' stores, which a
// non-temporal store must not be.
void pack(const PackCall& call) {
  if (!call.stream) return pack_whole(call);
  constexpr long kPiece = 128;  // values of k; even
  alignas(64) char piece[kPiece * 128];
  const long size = call.from == Element::f32 ? 4 : 2, value_bytes = call.form == PanelForm::plain32 ? 128 : 64;
  char* to = static_cast<char*>(call.panel);
  for (long k = 0; k < call.k; k += kPiece) {
    PackCall part = call;
    part.src = static_cast<const char*>(call.src) + k * call.k_stride * size;
    part.k = call.k - k < kPiece ? call.k - k : kPiece;
    part.panel = piece;
    pack_whole(part);
    const long values = call.form == PanelForm::pairs16 ? part.k + part.k % 2 : part.k;
    for (long at = 0; at < values * value_bytes; at += 32)
      _mm256_stream_si256(reinterpret_cast<__m256i*>(to + at),
                          _mm256_load_si256(reinterpret_cast<const __m256i*>(piece + at)));
    to += values * value_bytes;
  }
  _mm_sfence();
}
