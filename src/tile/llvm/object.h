// From LLVM's module to a relocatable object.
#pragma once

#include <string>

#include "tile/llvm/level.h"

namespace llvm {
class Module;
class TargetMachine;
}  // namespace llvm

namespace tilewright::tile::llvm_back_end {

// For the level; lives as long as the process. Throws Error if this LLVM lacks the architecture.
llvm::TargetMachine& target_machine(const Level& level);
// Light clean-up of what program_emitter wrote; its loops are already as they should be.
void optimise(llvm::Module& module, llvm::TargetMachine& machine);
// The object's bytes, or assembly text. Throws Error if the object would need a symbol from elsewhere.
std::string object_code(llvm::Module& module, llvm::TargetMachine& machine, bool assembly);

}  // namespace tilewright::tile::llvm_back_end
