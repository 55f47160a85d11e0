// Scalar conversions, packing and output, used whole by the generic level and for tails by the others. Included inside
// an unnamed namespace; see tile_body.h.

static inline float float_from_bits(uint32_t bits) {
  float value;
  __builtin_memcpy(&value, &bits, 4);
  return value;
}
static inline uint32_t bits_of_float(float value) {
  uint32_t bits;
  __builtin_memcpy(&bits, &value, 4);
  return bits;
}
static inline float scalar_from_bf16(uint16_t bits) { return float_from_bits(static_cast<uint32_t>(bits) << 16); }
static inline uint16_t scalar_to_bf16(float value) {
  const uint32_t bits = bits_of_float(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>(bits >> 16 | 0x40u);
  return static_cast<uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}
static inline float scalar_from_f16(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000u) << 16, exponent = half >> 10 & 31u,
                 mantissa = half & 0x3ffu;
  if (exponent == 31) return float_from_bits(sign | 0x7f800000u | mantissa << 13 | (mantissa ? 0x400000u : 0u));
  if (exponent) return float_from_bits(sign | (exponent + 112) << 23 | mantissa << 13);
  const float value = static_cast<float>(mantissa) * 5.9604644775390625e-8f;  // 2^-24, exact
  return sign ? -value : value;
}
static inline uint16_t scalar_to_f16(float value) {
  const uint32_t bits = bits_of_float(value), magnitude = bits & 0x7fffffffu;
  const uint16_t sign = static_cast<uint16_t>(bits >> 16 & 0x8000u);
  if (magnitude > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u | (magnitude >> 13 & 0x3ffu));
  if (magnitude >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u);  // from 65520 on
  if (magnitude >= 0x38800000u) {
    const uint32_t rounded = magnitude + 0xfffu + (magnitude >> 13 & 1u);
    return static_cast<uint16_t>(sign | ((rounded - (112u << 23)) >> 13));
  }
  // Adding 0.5 puts the unit of the last place of the sum at 2^-24, the spacing of half-precision denormals.
  const float sum = float_from_bits(magnitude) + 0.5f;
  return static_cast<uint16_t>(sign | (bits_of_float(sum) - bits_of_float(0.5f)));
}

static inline float scalar_load(Element from, const void* src, long i) {
  if (from == Element::f32) return static_cast<const float*>(src)[i];
  const uint16_t bits = static_cast<const uint16_t*>(src)[i];
  return from == Element::bf16 ? scalar_from_bf16(bits) : scalar_from_f16(bits);
}
static inline void scalar_store(Element to, void* dst, long i, float value) {
  if (to == Element::f32)
    static_cast<float*>(dst)[i] = value;
  else
    static_cast<uint16_t*>(dst)[i] = to == Element::bf16 ? scalar_to_bf16(value) : scalar_to_f16(value);
}

// Elements k of [k_begin, k_end) of a panel; k_begin is even for pairs.
static void scalar_pack(const PackCall& call, long k_begin, long k_end) {
  const uint16_t* half = static_cast<const uint16_t*>(call.src);
  uint16_t* to16 = static_cast<uint16_t*>(call.panel);
  float* to32 = static_cast<float*>(call.panel);
  const long padded_end = call.form == PanelForm::pairs16 ? k_end + (k_end & 1) : k_end;
  for (long k = k_begin; k < padded_end; k++)
    for (long n = 0; n < 32; n++) {
      const long at = n * call.n_stride + k * call.k_stride;
      const bool inside = n < call.columns && k < k_end;
      if (call.form == PanelForm::plain32)
        to32[k * 32 + n] = inside ? scalar_load(call.from, call.src, at) : 0;
      else if (call.form == PanelForm::plain16)
        to16[k * 32 + n] = inside ? half[at] : 0;
      else
        to16[(k / 2 * 32 + n) * 2 + k % 2] = inside ? half[at] : 0;
    }
}

static void scalar_finish(const FinishCall& call, int row, long column_begin) {
  char* y = static_cast<char*>(call.y) + row * call.y_stride;
  for (long n = column_begin; n < call.columns; n++) {
    float value = call.in[row * call.in_stride + n];
    if (call.scale != 1.0f) value *= call.scale;
    if (call.bias) value += call.bias[n];
    scalar_store(call.to, y, n, value);
  }
}
