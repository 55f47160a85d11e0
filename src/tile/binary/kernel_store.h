// From a program to code that can be called: from the kernels that ship, from the user's cache, or compiled now.
#pragma once

#include <filesystem>
#include <string>

#include "tile/binary/executable_memory.h"
#include "tile/ir/program.h"
#include "tile/passes/lower.h"

namespace tilewright::tile {

enum class KernelOrigin { shipped, cached, compiled };

struct StoredKernel {
  ExecutableCode code;
  KernelOrigin origin = KernelOrigin::compiled;
};

// Finds the code of a program for options.level: shipped kernels first, then the user's cache, then it is lowered and
// compiled, and the result put into the cache. Any thread. Throws Error if the program is wrong or nothing can compile
// it.
StoredKernel load_kernel(const Program& program, const LowerOptions& options);

// What names a kernel in a cache: format, compiler (its version covers the passes), level, sizes that were asked for,
// and the text of the program as it was written. Not what passes choose by measured limits of a machine: kernels that
// ship are found on every machine.
std::string kernel_key(const Program& program, const LowerOptions& options);

// Compiles a program for a level and writes it to `folder`, as a part of what ships, unless it is there already.
// Returns the file's name.
std::string ship_kernel(const Program& program, const LowerOptions& options, const std::filesystem::path& folder);

}  // namespace tilewright::tile
