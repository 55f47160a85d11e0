#include "tile/binary/kernel_store.h"

#include <fmt/format.h>

#include <ostream>

#include "base/mapped_file.h"
#include "tile/binary/compiler.h"
#include "tile/binary/kernel_cache.h"
#include "tile/ir/printer.h"

namespace tilewright::tile {
namespace {

constexpr int kFormat = 1;  // of kernel_abi.h and of blobs

Blob compiled(const Program& program, const LowerOptions& options) {
  return blob_from_object(compile_text(print(lower(program, options)), options.level, "").object);
}

}  // namespace

std::string kernel_key(const Program& program, const LowerOptions& options) {
  std::string sizes;
  for (const auto& [name, size] : options.tiles) sizes += fmt::format("tile {} {}\n", name, size);
  for (const auto& [name, size] : options.dims) sizes += fmt::format("dim {} {}\n", name, size);
  return fmt::format("tilewright kernel {}\ncompiler {}\nlevel {}\n{}{}", kFormat, compiler_version(), options.level,
                     sizes, print(program));
}

StoredKernel load_kernel(const Program& program, const LowerOptions& options) {
  const std::string key = kernel_key(program, options);
  static const KernelCache shipped(shipped_kernel_folder(), KernelCache::Kind::shipped);
  if (const auto blob = shipped.find(key)) return {ExecutableCode(*blob), KernelOrigin::shipped};
  static const KernelCache own(user_kernel_folder(), KernelCache::Kind::own);
  if (const auto blob = own.find(key)) return {ExecutableCode(*blob), KernelOrigin::cached};
  const Blob blob = compiled(program, options);
  own.store(key, blob);
  return {ExecutableCode(blob), KernelOrigin::compiled};
}

std::string ship_kernel(const Program& program, const LowerOptions& options, const std::filesystem::path& folder) {
  const std::string key = kernel_key(program, options);
  const KernelCache cache(folder, KernelCache::Kind::shipped);
  const std::filesystem::path file = cache.file_of(key);
  if (cache.find(key)) return file.filename();
  const std::vector<std::byte> bytes = kernel_file_bytes(key, compiled(program, options));
  write_file_atomically(file, [&](std::ostream& out) {
    out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  });
  return file.filename();
}

}  // namespace tilewright::tile
