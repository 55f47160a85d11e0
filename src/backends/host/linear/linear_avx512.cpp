// AVX-512 F, BW, DQ, VL, CD: f32 FMA with 512-bit vectors. See README.md for what may be included.
#if defined(__AVX512F__)
#include <immintrin.h>

#include "backends/host/linear/kernels.h"

namespace tilewright::backends::host {
namespace {

// clang-format off
#include "backends/host/linear/avx512_body.h"
#include "backends/host/linear/scalar_body.h"
#include "backends/host/linear/tile_body.h"
#include "backends/host/linear/few_rows_body.h"
#include "backends/host/linear/avx2_body.h"
// clang-format on

}  // namespace

extern const KernelTable kAvx512Kernels;
const KernelTable kAvx512Kernels = {
    {kTallRows, kTallRows, kTallRows, kTallRows, kTallRows, 0},
    {tile<F32Plain32>, tile<F32Plain16>, tile<F32Pairs16>, tile<F16Plain16>, tile<Bf16Pairs16>, nullptr},
    finish,
    pack,
    widen,
    few_dot,
    few_add,
};

}  // namespace tilewright::backends::host
#endif
