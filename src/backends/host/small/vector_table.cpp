#include "backends/host/small/vector_table.h"

#include <cmath>

#include "backends/host/small/vector_choice.h"
#include "tensor/dtype.h"

namespace tilewright::backends::host {

float exact_sin(float x) { return static_cast<float>(std::sin(static_cast<double>(x))); }
float exact_cos(float x) { return static_cast<float>(std::cos(static_cast<double>(x))); }
float widen_f16(std::uint16_t bits) { return f16_to_float(bits); }
std::uint16_t narrow_f16(float value) { return float_to_f16(value); }

void pow_loop(const float* a, const float* b, float* out, std::int64_t n, BinaryMode mode) {
  for (std::int64_t i = 0; i < n; ++i) {
    const double base = a[mode == kFirstScalar ? 0 : i], exponent = b[mode == kSecondScalar ? 0 : i];
    out[i] = static_cast<float>(std::pow(base, exponent));
  }
}

const VectorTable& vector_table(IsaLevel level) {
#if defined(__x86_64__)
  if (level >= IsaLevel::avx512) return kAvx512Table;
  if (level >= IsaLevel::avx2) return kAvx2Table;
#endif
  static_cast<void>(level);
  return kGenericTable;
}

const VectorTable& active_table() {
  static const VectorTable& table = vector_table(active_isa());
  return table;
}

}  // namespace tilewright::backends::host
