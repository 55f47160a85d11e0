// The compiler of tile programs: a shared library of ours that alone knows LLVM. It is loaded when the first program
// must be compiled, not before.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tilewright::tile {

struct CompilerOutput {
  std::vector<std::byte> object;  // a relocatable ELF object
  std::string ir, assembly;       // if the options ask for them
};

// What makes code of one version differ from another's: LLVM's release, and the sources of the compiler module, of the
// passes before it and of what they read. Known without loading it.
std::string compiler_version();

// Compiles the text of a lowered program for a level ("avx2", "avx512", "avx512_bf16", "neon"). `options`: words
// separated by spaces. Any thread. Throws Error if the module is missing (naming the package that helps) or refuses the
// program.
CompilerOutput compile_text(const std::string& program_text, const std::string& level, const std::string& options);

// Why nothing can be compiled, or empty. Loads the module.
std::string compiler_unavailable();

// How many programs this process has compiled.
long compilations();
// Seconds that it spent on them.
double compile_seconds();

}  // namespace tilewright::tile
