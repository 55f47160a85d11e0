#include "tile/llvm/interleave.h"

#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/IntrinsicsX86.h>

#include <algorithm>
#include <map>
#include <vector>

namespace tilewright::tile::llvm_back_end {
namespace {

bool is_intrinsic(const llvm::Instruction& instruction, std::initializer_list<llvm::Intrinsic::ID> ids) {
  const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
  return call != nullptr && std::find(ids.begin(), ids.end(), call->getIntrinsicID()) != ids.end();
}

bool loops_on_itself(const llvm::BasicBlock& block) {
  const auto* branch = llvm::dyn_cast<llvm::BranchInst>(block.getTerminator());
  return branch != nullptr &&
         std::find(branch->successors().begin(), branch->successors().end(), &block) != branch->successors().end();
}

// Chains that are worth it: exponentials by table, two and more.
bool has_long_chains(const llvm::BasicBlock& block) {
  return std::count_if(block.begin(), block.end(), [](const llvm::Instruction& instruction) {
           return is_intrinsic(instruction,
                               {llvm::Intrinsic::x86_avx512_vpermi2var_ps_512, llvm::Intrinsic::x86_avx2_permd});
         }) >= 2;
}

// Whether it may stand before or after any store.
bool is_free(const llvm::Instruction& instruction) {
  if (is_intrinsic(instruction, {llvm::Intrinsic::prefetch})) return true;
  if (!instruction.mayReadOrWriteMemory()) return !instruction.mayHaveSideEffects();
  return llvm::isa<llvm::LoadInst>(instruction) && instruction.hasMetadata(llvm::LLVMContext::MD_invariant_load);
}

void interleave(llvm::BasicBlock& block) {
  std::vector<llvm::Instruction*> order;
  std::map<const llvm::Value*, int> depth;
  int last_effect = 0;
  for (llvm::Instruction& instruction : block) {
    if (llvm::isa<llvm::PHINode>(instruction) || instruction.isTerminator()) continue;
    int own = 0;
    for (const llvm::Value* operand : instruction.operands())
      if (const auto known = depth.find(operand); known != depth.end()) own = std::max(own, known->second + 1);
    if (!is_free(instruction)) last_effect = own = std::max(own, last_effect);
    depth[&instruction] = own;
    order.push_back(&instruction);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](const llvm::Instruction* a, const llvm::Instruction* b) { return depth.at(a) < depth.at(b); });
  for (llvm::Instruction* instruction : order) instruction->moveBefore(block.getTerminator());
}

}  // namespace

void interleave_chains(llvm::Module& module) {
  for (llvm::Function& function : module)
    for (llvm::BasicBlock& block : function)
      if (loops_on_itself(block) && has_long_chains(block)) interleave(block);
}

}  // namespace tilewright::tile::llvm_back_end
