// What a backend offers to run tile programs: it turns a specialised program into a kernel of its family.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "runtime/device.h"
#include "runtime/launch.h"
#include "tile/ir/program.h"

namespace tilewright::ops {

// One compiled program. Used by any number of threads at once; lives as long as its registry.
class CompiledKernel {
 public:
  virtual ~CompiledKernel() = default;
  // Sets kernel, grid and parameters of a launch whose cost and buffers (one per tensor of the program) are known.
  // `values`: the program's dims, then each tensor's strides, then the scalars, as tile/binary/kernel_abi.h says.
  virtual void complete(runtime::Launch& launch, const runtime::Device& device,
                        std::span<const std::int64_t> values) const = 0;
};

class CodeGenerator {
 public:
  virtual ~CodeGenerator() = default;
  // Any thread. Throws Error whose `what` says why there is no kernel, as a phrase for a user; the call then runs its
  // decomposition, and the program is not asked for again.
  virtual std::unique_ptr<CompiledKernel> compile(const tile::Program& program) = 0;
  // For a list: what it compiles for, or why it cannot.
  virtual std::string status() const = 0;
};

// Values of one launch at most: what fits into a launch's parameters beside a backend's own.
inline constexpr std::size_t kMaxTileValues = 60;

}  // namespace tilewright::ops
