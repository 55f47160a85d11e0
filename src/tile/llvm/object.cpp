#include "tile/llvm/object.h"

#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Object/ObjectFile.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/ADCE.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/GVN.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>

#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "base/error.h"

namespace tilewright::tile::llvm_back_end {
namespace {

[[noreturn]] void refuse(const std::string& what, const std::string& found) {
  fail({.what = what,
        .where = "tile compiler",
        .expected = "an object that stands by itself, made by LLVM 19",
        .found = found,
        .fix = "install Debian's llvm-19, or report this program"});
}

}  // namespace

llvm::TargetMachine& target_machine(const Level& level) {
  static std::mutex mutex;
  static std::map<std::string, std::unique_ptr<llvm::TargetMachine>, std::less<>> machines;
  const std::lock_guard lock(mutex);
  std::unique_ptr<llvm::TargetMachine>& out = machines[std::string(level.name)];
  if (out != nullptr) return *out;
  if (level.x86) {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
  } else {
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter();
  }
  std::string error;
  const std::string triple(level.triple);
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (target == nullptr) refuse("this LLVM does not know the processor", error);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  out.reset(target->createTargetMachine(triple, std::string(level.cpu), std::string(level.features), options,
                                        llvm::Reloc::PIC_, level.x86 ? llvm::CodeModel::Small : llvm::CodeModel::Tiny,
                                        llvm::CodeGenOptLevel::Default));
  return *out;
}

void optimise(llvm::Module& module, llvm::TargetMachine& machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager graph;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(graph);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, graph, modules);
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  passes.addPass(llvm::EarlyCSEPass(true));
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(llvm::SimplifyCFGPass());
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LICMPass(llvm::LICMOptions()), true));
  passes.addPass(llvm::GVNPass());
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LICMPass(llvm::LICMOptions()), true));
  passes.addPass(llvm::SimplifyCFGPass());
  passes.addPass(llvm::ADCEPass());
  for (llvm::Function& function : module)
    if (!function.isDeclaration()) passes.run(function, functions);
}

std::string object_code(llvm::Module& module, llvm::TargetMachine& machine, bool assembly) {
  llvm::SmallString<0> bytes;
  {
    llvm::raw_svector_ostream stream(bytes);
    llvm::legacy::PassManager passes;
    if (machine.addPassesToEmitFile(passes, stream, nullptr,
                                    assembly ? llvm::CodeGenFileType::AssemblyFile : llvm::CodeGenFileType::ObjectFile,
                                    true))
      refuse("this LLVM writes no objects for the processor", "");
    passes.run(module);
  }
  std::string out(bytes.begin(), bytes.end());
  if (assembly) return out;
  auto object = llvm::object::ObjectFile::createObjectFile(llvm::MemoryBufferRef(out, "object"));
  if (!object) refuse("LLVM wrote an object that it cannot read", llvm::toString(object.takeError()));
  for (const llvm::object::SymbolRef& symbol : (*object)->symbols()) {
    const llvm::StringRef name = llvm::cantFail(symbol.getName());
    if ((llvm::cantFail(symbol.getFlags()) & llvm::object::SymbolRef::SF_Undefined) != 0 && !name.empty())
      refuse("a compiled tile program would call a function from elsewhere", name.str());
  }
  return out;
}

}  // namespace tilewright::tile::llvm_back_end
