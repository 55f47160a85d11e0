#include "tile_compiled.h"

#include <setjmp.h>
#include <signal.h>

#include "../tests/tile_llvm/compiled.h"
#include "base/error.h"

namespace tilewright::tile {
namespace {

sigjmp_buf outside_tensors;

void jump_out(int) { siglongjmp(outside_tensors, 1); }

// Runs `body`; false if it touched a page that it must not. Nothing in `body` may need a destructor.
template <typename Body>
bool guarded(const Body& body) {
  struct sigaction action {
  }, before_segv{}, before_bus{};
  action.sa_handler = jump_out;
  sigaction(SIGSEGV, &action, &before_segv);
  sigaction(SIGBUS, &action, &before_bus);
  const bool good = sigsetjmp(outside_tensors, 1) == 0;
  if (good) body();
  sigaction(SIGSEGV, &before_segv, nullptr);
  sigaction(SIGBUS, &before_bus, nullptr);
  return good;
}

}  // namespace

std::vector<std::string> compiled_levels() {
  return compile_function() == nullptr ? std::vector<std::string>{} : runnable_levels();
}

Subject compiled(const std::string& level, const std::string& options) {
  return [level, options](const TileCase&, const Program& program, const CaseMemory& memory) {
    std::map<std::string, std::string> output;
    try {
      output = compile(program, level, options);
    } catch (const std::runtime_error& error) {
      fail({.what = std::string("the compiler refuses it: ") + error.what()});
    }
    const Loaded code(output.at("code"));
    const std::vector<std::int64_t> values = call_values(program, memory.arguments());
    std::vector<void*> addresses;
    for (const TensorArgument& tensor : memory.arguments().tensors) addresses.push_back(tensor.data);
    // The blocks in two parts, the later first: they are independent.
    const bool good = guarded([&] {
      const std::int64_t blocks = code.blocks(values.data()), middle = blocks / 2;
      code.run(addresses.data(), values.data(), middle, blocks);
      code.run(addresses.data(), values.data(), 0, middle);
    });
    if (!good) fail({.what = "compiled code reads or writes outside the tensors"});
  };
}

}  // namespace tilewright::tile
