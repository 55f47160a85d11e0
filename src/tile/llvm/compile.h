// The one function that libtilewright_llvm.so exports.
#pragma once

#include <cstddef>

// Compiles the text of a lowered program (tile/passes/lower.h) for a level (avx2, avx512, avx512_bf16, neon).
// `options`: words separated by blanks, or null: `ir` and `assembly` ask for these texts too, `fault=NAME` plants one
// of the faults that the fuzzers must find. Returns 0 and calls `accept` with what = "code" (a relocatable ELF object
// with tw_run and tw_blocks of tile/binary/kernel_abi.h and no other symbol to resolve), "ir" and "assembly" if asked
// for; or 1, and `accept` gets "error" and a text. What is passed to `accept` is valid during the call. May be called
// by several threads at once; compilations of one level take turns.
extern "C" __attribute__((visibility("default"))) int tilewright_llvm_compile(
    const char* program_text, const char* level, const char* options,
    void (*accept)(void* user, const void* bytes, std::size_t size, const char* what), void* user);
