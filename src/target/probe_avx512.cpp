#if defined(__AVX512F__)
#include <immintrin.h>

#include "target/probe_kernels.h"

namespace tilewright::target {
namespace {
#include "target/probe_avx512_body.h"
}  // namespace

extern const ProbeKernels kAvx512Probe;
const ProbeKernels kAvx512Probe = {16, 20 * 2 * 16, fma_probe, 0, nullptr, read_probe, copy_streaming_probe};

}  // namespace tilewright::target
#endif
