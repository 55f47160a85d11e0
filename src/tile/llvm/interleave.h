// Order of instructions within inner loops.
#pragma once

#include <llvm/IR/Module.h>

namespace tilewright::tile::llvm_back_end {

// An unrolled loop is written one vector after another, and LLVM keeps chains in the order in which they stand: where
// they are long, the processor's window holds too few of them. Puts the steps of the chains side by side, in inner
// loops of the module that compute exponentials. What instructions compute, and the order of what they store, stay.
void interleave_chains(llvm::Module& module);

}  // namespace tilewright::tile::llvm_back_end
