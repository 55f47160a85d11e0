#include "tile/llvm/level.h"

#include <array>

#include "base/error.h"

namespace tilewright::tile::llvm_back_end {
namespace {

constexpr std::string_view kLinuxX86 = "x86_64-unknown-linux-gnu";
// The tuning of x86-64-v2 would split every store of 32 bytes, which processors with AVX2 do not need.
constexpr std::array<Level, 4> kLevels = {{
    {"avx2", kLinuxX86, "x86-64-v2", "-slow-unaligned-mem-32,+avx2,+fma,+f16c", 8, 16, false, false, true},
    {"avx512", kLinuxX86, "x86-64-v2",
     "-slow-unaligned-mem-32,+avx2,+fma,+f16c,+avx512f,+evex512,+avx512bw,+avx512dq,+avx512vl,+avx512cd", 16, 32, true,
     false, true},
    {"avx512_bf16", kLinuxX86, "x86-64-v2",
     "-slow-unaligned-mem-32,+avx2,+fma,+f16c,+avx512f,+evex512,+avx512bw,+avx512dq,+avx512vl,+avx512cd,+avx512bf16",
     16, 32, true, true, true},
    {"neon", "aarch64-unknown-linux-gnu", "generic", "+neon", 4, 32, false, false, false},
}};

}  // namespace

const Level& level_from_name(std::string_view name) {
  for (const Level& level : kLevels)
    if (level.name == name) return level;
  fail({.what = "no code can be generated for this instruction-set level",
        .where = "tile compiler",
        .expected = "avx2, avx512, avx512_bf16 or neon",
        .found = std::string(name),
        .fix = "choose one of them with TILEWRIGHT_ISA"});
}

}  // namespace tilewright::tile::llvm_back_end
