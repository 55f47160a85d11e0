// Any processor: four-lane vectors of the compiler's own, which become SSE or NEON.
#include "backends/host/linear/kernels.h"

namespace tilewright::backends::host {
namespace {

typedef float V __attribute__((vector_size(16)));
typedef uint32_t Pairs __attribute__((vector_size(16)));
constexpr int kLanes = 4, kTallVectors = 2, kTallRows = 4;

// clang-format off
#include "backends/host/linear/scalar_body.h"
// clang-format on

static inline V zero() { return V{0, 0, 0, 0}; }
static inline V load(const float* p) {
  V v;
  __builtin_memcpy(&v, p, 16);
  return v;
}
static inline void store(float* p, V v) { __builtin_memcpy(p, &v, 16); }
static inline V fma(V a, V b, V c) { return a * b + c; }
static inline V add(V a, V b) { return a + b; }
static inline float sum_lanes(V v) { return (v[0] + v[2]) + (v[1] + v[3]); }
static inline V splat(float x) { return V{x, x, x, x}; }
static inline V broadcast(const float* p) {
  float x;
  __builtin_memcpy(&x, p, 4);
  return splat(x);
}
static inline uint16_t bits16(const char* p) {
  uint16_t x;
  __builtin_memcpy(&x, p, 2);
  return x;
}
static inline Pairs load_pairs(const char* p) {
  Pairs v;
  __builtin_memcpy(&v, p, 16);
  return v;
}
static inline V even(Pairs p) { return reinterpret_cast<V>(p << 16); }
static inline V odd(Pairs p) { return reinterpret_cast<V>(p & 0xffff0000u); }
static inline V load_half(const char* p) {
  return V{scalar_from_f16(bits16(p)), scalar_from_f16(bits16(p + 2)), scalar_from_f16(bits16(p + 4)),
           scalar_from_f16(bits16(p + 6))};
}
static inline Pairs broadcast_pair(const char* p) {
  uint32_t x;
  __builtin_memcpy(&x, p, 4);
  return Pairs{x, x, x, x};
}
static inline V broadcast_half(const char* p) { return splat(scalar_from_f16(bits16(p))); }
static inline V broadcast_bf16(const char* p) { return splat(scalar_from_bf16(bits16(p))); }

// clang-format off
#include "backends/host/linear/tile_body.h"
#include "backends/host/linear/few_rows_body.h"
// clang-format on

void finish(const FinishCall& call) {
  for (int row = 0; row < call.rows; row++) scalar_finish(call, row, 0);
}
void pack(const PackCall& call) { scalar_pack(call, 0, call.k); }
void widen(Element from, const void* src, float* dst, long count) {
  for (long i = 0; i < count; i++) dst[i] = scalar_load(from, src, i);
}

}  // namespace

extern const KernelTable kGenericKernels;
const KernelTable kGenericKernels = {
    {kTallRows, kTallRows, kTallRows, kTallRows, kTallRows, 0},
    {tile<F32Plain32>, tile<F32Plain16>, tile<F32Pairs16>, tile<F16Plain16>, tile<Bf16Pairs16>, nullptr},
    finish,
    pack,
    widen,
    few_dot,
    few_add,
};

}  // namespace tilewright::backends::host
