#include "tile/binary/compiler.h"

#include <dlfcn.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/error.h"
#include "tile/binary/program_folder.h"
#include "tile_compiler_version.h"

namespace tilewright::tile {
namespace {

using CompileFunction = int (*)(const char* program_text, const char* level, const char* options,
                                void (*accept)(void* user, const void* bytes, std::size_t size, const char* what),
                                void* user);

constexpr const char* kModule = "libtilewright_llvm.so";
std::atomic<long> count{0}, nanoseconds{0};

struct Module {
  CompileFunction compile = nullptr;
  ErrorText problem;  // if there is none
};

std::vector<std::filesystem::path> places() {
  if (const char* named = std::getenv("TILEWRIGHT_LLVM_MODULE"); named && *named) return {named};
  const std::filesystem::path here = program_folder();
  if (here.empty()) return {};
  const std::filesystem::path above = here.parent_path();
  return {here / kModule, here / "lib" / kModule, above / kModule, above / "lib/tilewright" / kModule,
          above / "lib" / kModule};
}

Module load() {
  Module out;
  std::error_code error;
  for (const std::filesystem::path& place : places()) {
    if (!std::filesystem::exists(place, error)) continue;
    void* handle = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
      const std::string reason = dlerror();
      const bool llvm = reason.find("libLLVM") != std::string::npos;
      out.problem = {.what = llvm ? "kernels cannot be compiled: LLVM 19 is not installed"
                                  : "kernels cannot be compiled: the compiler module does not load",
                     .where = place.string(),
                     .expected = "",
                     .found = reason,
                     .fix = llvm ? "apt-get install -y libllvm19" : ""};
      return out;
    }
    out.compile = reinterpret_cast<CompileFunction>(dlsym(handle, "tilewright_llvm_compile"));
    if (!out.compile)
      out.problem = {.what = "kernels cannot be compiled: this is no compiler module of ours",
                     .where = place.string(),
                     .expected = "",
                     .found = "",
                     .fix = "unset TILEWRIGHT_LLVM_MODULE"};
    return out;
  }
  const char* named = std::getenv("TILEWRIGHT_LLVM_MODULE");
  out.problem = {.what = "kernels cannot be compiled: the compiler module is missing",
                 .where = named && *named ? named : kModule,
                 .expected = "",
                 .found = "",
                 .fix = "apt-get install -y llvm-19-dev, then build Tilewright again"};
  return out;
}

const Module& module() {
  static const Module loaded = load();
  return loaded;
}

struct Received {
  CompilerOutput output;
  std::string error;
};

void accept(void* user, const void* bytes, std::size_t size, const char* what) {
  auto& received = *static_cast<Received*>(user);
  const auto* from = static_cast<const std::byte*>(bytes);
  const std::string text(static_cast<const char*>(bytes), size);
  if (std::strcmp(what, "code") == 0) received.output.object.assign(from, from + size);
  if (std::strcmp(what, "ir") == 0) received.output.ir = text;
  if (std::strcmp(what, "assembly") == 0) received.output.assembly = text;
  if (std::strcmp(what, "error") == 0) received.error = text;
}

}  // namespace

std::string compiler_version() { return TILEWRIGHT_TILE_COMPILER_VERSION; }
std::string compiler_unavailable() { return module().compile ? std::string() : module().problem.what; }
long compilations() { return count.load(std::memory_order_relaxed); }
double compile_seconds() { return 1e-9 * static_cast<double>(nanoseconds.load(std::memory_order_relaxed)); }

CompilerOutput compile_text(const std::string& program_text, const std::string& level, const std::string& options) {
  if (!module().compile) fail(module().problem);
  count.fetch_add(1, std::memory_order_relaxed);
  Received received;
  const auto start = std::chrono::steady_clock::now();
  const int code = module().compile(program_text.c_str(), level.c_str(), options.c_str(), &accept, &received);
  nanoseconds.fetch_add(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - start).count(),
      std::memory_order_relaxed);
  if (code != 0 || received.output.object.empty())
    fail({.what = "the compiler refuses a tile program: " +
                  (received.error.empty() ? std::string("it gives no code") : received.error),
          .where = level,
          .expected = "",
          .found = "",
          .fix = ""});
  return std::move(received.output);
}

}  // namespace tilewright::tile
