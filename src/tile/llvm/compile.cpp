#include "tile/llvm/compile.h"

#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <mutex>
#include <sstream>

#include "base/error.h"
#include "tile/ir/parser.h"
#include "tile/llvm/interleave.h"
#include "tile/llvm/object.h"
#include "tile/llvm/program_emitter.h"
#include "tile/passes/fuse.h"
#include "tile/passes/vectorise.h"
#include "tile/verify/verify.h"

namespace tilewright::tile::llvm_back_end {
namespace {

struct Options {
  bool ir = false, assembly = false;
  std::string fault;
};

Options parse_options(const char* text) {
  Options out;
  std::istringstream words(text == nullptr ? "" : text);
  for (std::string word; words >> word;) {
    if (word == "ir")
      out.ir = true;
    else if (word == "assembly")
      out.assembly = true;
    else if (word.rfind("fault=", 0) == 0)
      out.fault = word.substr(6);
    else
      fail({.what = "the tile compiler does not know this option",
            .where = "options of tilewright_llvm_compile",
            .expected = "ir, assembly or fault=NAME",
            .found = word,
            .fix = "leave it out"});
  }
  return out;
}

[[noreturn]] void refuse_program(const std::string& program, const std::string& found) {
  fail({.what = "LLVM could not compile a tile program",
        .where = "tile compiler, program " + program,
        .expected = "code",
        .found = found.substr(0, 500),
        .fix = "report this program; its operator still runs its decomposition"});
}

// LLVM ends the process after calling this, unless it is left by an exception.
void leave_fatal_error(void*, const char* reason, bool) { throw std::runtime_error(reason); }

// What LLVM has to say of errors (inline assembly, instruction selection) instead of printing it and exiting.
void collect_error(const llvm::DiagnosticInfo* info, void* text) {
  if (info->getSeverity() != llvm::DS_Error) return;
  llvm::raw_string_ostream stream(*static_cast<std::string*>(text));
  llvm::DiagnosticPrinterRawOStream printer(stream);
  info->print(printer);
}

void compile(const char* text, const char* level_name, const char* option_text,
             const std::function<void(const std::string&, const char*)>& accept) {
  const Options options = parse_options(option_text);
  const Level& level = level_from_name(level_name);
  Program program = parse(text);
  verify(program);
  bool planned = false;
  for (const Node& node : program.nodes) planned = planned || node.plan.nest != kNone;
  if (!planned) program = vectorise(fuse(std::move(program)), level.lanes);
  llvm::TargetMachine& machine = target_machine(level);
  std::string errors;
  llvm::LLVMContext context;
  context.setDiagnosticHandlerCallBack(collect_error, &errors);
  llvm::Module module(program.name, context);
  module.setTargetTriple(std::string(level.triple));
  module.setDataLayout(machine.createDataLayout());
  module.setPICLevel(llvm::PICLevel::BigPIC);
  Emitter emitter(module, level);
  ProgramEmitter(program, emitter, options.fault).emit();
  std::string problem;
  llvm::raw_string_ostream problems(problem);
  if (llvm::verifyModule(module, &problems))
    fail({.what = "the code generated for a tile program is malformed",
          .where = "tile compiler, program " + program.name,
          .expected = "well-formed LLVM IR",
          .found = problems.str().substr(0, 500),
          .fix = "report this program"});
  static std::mutex mutex;  // a TargetMachine serves one compilation at a time
  const std::lock_guard lock(mutex);
  if (options.fault == "fatal_error") llvm::report_fatal_error("planted");
  optimise(module, machine);
  interleave_chains(module);
  if (options.ir) {
    std::string ir;
    llvm::raw_string_ostream stream(ir);
    module.print(stream, nullptr);
    accept(stream.str(), "ir");
  }
  if (options.assembly) {
    const std::unique_ptr<llvm::Module> copy = llvm::CloneModule(module);
    accept(object_code(*copy, machine, true), "assembly");
  }
  const std::string code = object_code(module, machine, false);
  if (!errors.empty()) refuse_program(program.name, errors);
  accept(code, "code");
}

}  // namespace
}  // namespace tilewright::tile::llvm_back_end

extern "C" int tilewright_llvm_compile(const char* program_text, const char* level, const char* options,
                                       void (*accept)(void* user, const void* bytes, std::size_t size,
                                                      const char* what),
                                       void* user) {
  try {
    // One handler for the process: it is the module's own LLVM, since nothing else links it.
    static const bool installed = [] {
      llvm::install_fatal_error_handler(tilewright::tile::llvm_back_end::leave_fatal_error, nullptr);
      return true;
    }();
    (void)installed;
    tilewright::tile::llvm_back_end::compile(
        program_text, level, options,
        [&](const std::string& bytes, const char* what) { accept(user, bytes.data(), bytes.size(), what); });
    return 0;
  } catch (const std::exception& error) {
    const std::string text = error.what();
    accept(user, text.data(), text.size(), "error");
    return 1;
  }
}
