// The operators of by_hand.h, written once for both vector widths. Included inside an unnamed namespace after V, Lanes
// and the functions on them.

constexpr float kLog2E = 1.44269504f, kShift = 12582912.0f;  // 1.5 · 2^23: adding it rounds to an integer

// x / (1 + 2^(a · c / kParts)) for exponents up to 124, where the sum stays finite.
TW_HAND V over_one_plus_power(V x, V a, V c) {
  const V shifted = fma(a, c, splat(kShift));
  const V r = fma(a, c, sub(splat(kShift), shifted));
  return div(x, add(splat(1.0f), power(shifted, r)));
}

TW_HAND V silu(V x) {
  x = max(splat(-86.0f), x);  // x · 2^-124 where the factor stops to fall
  return over_one_plus_power(x, min(splat(86.0f), x), splat(-kLog2E * kParts));
}
// x/2 · (1 + tanh(u)) = x / (1 + e^-2u), u = √(2/π) · (x + 0.044715 · x³).
TW_HAND V gelu_tanh(V x) {
  x = max(splat(-9.94f), x);
  const V bounded = min(splat(9.94f), x);
  return over_one_plus_power(
      x, bounded,
      fma(mul(bounded, bounded), splat(-0.071354816f * kLog2E * kParts), splat(-1.5957691f * kLog2E * kParts)));
}

template <V (*function)(V)>
static __attribute__((noinline)) void gated(const float* gate, const float* up, float* out, long n) {
  long i = 0;
  for (; i + 2 * kLanes <= n; i += 2 * kLanes) {
    const V first = mul(function(load(gate + i)), load(up + i));
    const V second = mul(function(load(gate + i + kLanes)), load(up + i + kLanes));
    store(out + i, first);
    store(out + i + kLanes, second);
  }
  for (; i < n; i += kLanes) {
    const Lanes lanes = first_lanes(n - i < kLanes ? n - i : kLanes);
    store(out + i, mul(function(load(gate + i, lanes)), load(up + i, lanes)), lanes);
  }
}

static void silu_mul(const float* gate, const float* up, float* out, long n) { gated<silu>(gate, up, out, n); }
static void gelu_tanh_mul(const float* gate, const float* up, float* out, long n) {
  gated<gelu_tanh>(gate, up, out, n);
}

// A softmax is three passes over a row: logits and their largest, powers and their sum, division. The first waits for
// memory, the second for arithmetic, the third for stores, so one loop runs them for three rows behind each other. The
// powers are of x less the largest rounded to a whole power of 2^(1 / kParts), which saves an operation.
struct Softmax {
  const float *scores, *mask;
  float *logits, *powers, *quotients;  // of three rows behind each other
  float* out;                          // of the last one
  float largest, inverse;              // of `powers`, of `quotients`
};

template <bool kLogits, bool kPowers, bool kQuotients>
static __attribute__((noinline)) void softmax_step(const Softmax& row, long columns, float scale, float* largest,
                                                   float* sum) {
  const float *scores = row.scores, *mask = row.mask;
  float *logits = row.logits, *powers = row.powers, *quotients = row.quotients, *out = row.out;
  const V factor = splat(scale), lowest = splat(-3.4e38f), inverse = splat(row.inverse);
  const V least = splat(row.largest - 70.0f), unit = splat(kLog2E * kParts);
  const V shift = splat(kShift - ((row.largest * (kLog2E * kParts) + kShift) - kShift));
  const auto power_of = [&](V x) {
    const V bounded = max(least, x);
    const V shifted = fma(bounded, unit, shift);
    return power(shifted, fma(bounded, unit, sub(shift, shifted)));
  };
  V m0 = lowest, m1 = lowest, s0 = splat(0), s1 = s0;
  long i = 0;
  for (; i + 2 * kLanes <= columns; i += 2 * kLanes) {
    if (kLogits) {
      const V a = fma(load(scores + i), factor, load(mask + i));
      const V b = fma(load(scores + i + kLanes), factor, load(mask + i + kLanes));
      m0 = max(m0, a);
      m1 = max(m1, b);
      store(logits + i, a);
      store(logits + i + kLanes, b);
    }
    if (kPowers) {
      const V a = power_of(load(powers + i)), b = power_of(load(powers + i + kLanes));
      s0 = add(s0, a);
      s1 = add(s1, b);
      store(powers + i, a);
      store(powers + i + kLanes, b);
    }
    if (kQuotients) {
      store(out + i, mul(load(quotients + i), inverse));
      store(out + i + kLanes, mul(load(quotients + i + kLanes), inverse));
    }
  }
  for (; i < columns; i += kLanes) {
    const Lanes lanes = first_lanes(columns - i < kLanes ? columns - i : kLanes);
    if (kLogits) {
      const V a = fma(load(scores + i, lanes), factor, load(mask + i, lanes));
      m0 = max(m0, select(lanes, a, lowest));
      store(logits + i, a, lanes);
    }
    if (kPowers) {
      const V a = power_of(load(powers + i, lanes));
      s0 = add(s0, select(lanes, a, splat(0)));
      store(powers + i, a, lanes);
    }
    if (kQuotients) store(out + i, mul(load(quotients + i, lanes), inverse), lanes);
  }
  if (kLogits) *largest = largest_of(max(m0, m1));
  if (kPowers) *sum = sum_of(add(s0, s1));
}

static void softmax(const float* scores, const float* mask, float* out, long begin, long end, long mask_rows,
                    long columns, float scale) {
  // Rows on their way lie in the first cache, at distances at which none looks like another to the processor.
  constexpr long kColumns = 2048, kDistance = 2048 + 336;
  alignas(64) float rows[3 * kDistance];
  const auto place = [&](long row) {
    return columns <= kColumns ? rows + (row + 3) % 3 * kDistance : out + row * columns;
  };
  Softmax row{};
  float largest = 0, sum = 1;
  for (long step = begin; step < end + 2; ++step) {
    row.largest = largest;
    row.inverse = 1 / sum;
    row.scores = scores + step * columns;
    row.mask = mask + step % mask_rows * columns;
    row.logits = place(step);
    row.powers = place(step - 1);
    row.quotients = place(step - 2);
    row.out = out + (step - 2) * columns;
    const bool logits = step<end, powers = step> begin && step <= end, quotients = step >= begin + 2;
    (logits && powers && quotients ? softmax_step<true, true, true>
     : logits && powers            ? softmax_step<true, true, false>
     : powers && quotients         ? softmax_step<false, true, true>
     : logits                      ? softmax_step<true, false, false>
     : powers                      ? softmax_step<false, true, false>
                                   : softmax_step<false, false, true>)(row, columns, scale, &largest, &sum);
  }
}

static __attribute__((noinline)) void copy(float* to, const float* from, long n) {
  long i = 0;
  for (; i + 4 * kLanes <= n; i += 4 * kLanes) {
    const V a = load(from + i), b = load(from + i + kLanes), c = load(from + i + 2 * kLanes),
            d = load(from + i + 3 * kLanes);
    store(to + i, a);
    store(to + i + kLanes, b);
    store(to + i + 2 * kLanes, c);
    store(to + i + 3 * kLanes, d);
  }
  for (; i < n; ++i) to[i] = from[i];
}
