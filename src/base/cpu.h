// Processor features and the instruction-set level that kernels are chosen by.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

// Ordered: a higher level may run every kernel of a lower one of the same architecture.
// `generic` is plain C++ for the build's baseline. The names are those that TILEWRIGHT_ISA takes.
enum class IsaLevel { generic, neon, avx2, avx512, avx512_bf16 };

std::string_view isa_name(IsaLevel level);
// Throws Error listing the names if there is no such level.
IsaLevel isa_from_name(std::string_view name);

// The best level that processor and operating system support (CPUID and XCR0). avx2 means AVX2+FMA+F16C, avx512 means
// F+BW+DQ+VL+CD.
IsaLevel detected_isa();
// Whether this processor and operating system can run code of that level.
bool is_supported(IsaLevel level);
// detected_isa(), or the lower level that the environment variable TILEWRIGHT_ISA names. Throws Error if it names one that this
// processor lacks. Read once.
IsaLevel active_isa();

struct CpuInfo {
  std::string model;               // "AMD EPYC"
  std::vector<std::string> flags;  // those that matter here: avx2 fma f16c avx512f … avx512_bf16 …
  int logical_cpus = 0;            // that this process may run on
  long l1d_bytes = 0, l2_bytes = 0, l3_bytes = 0;  // one instance of each; 0 if unknown
};
CpuInfo cpu_info();

}  // namespace tilewright
