#include "engine/found_chains.h"

#include <fmt/format.h>

#include <cstdlib>

#include "base/error.h"
#include "base/mapped_file.h"

namespace tilewright::engine {
namespace {

constexpr const char* kFound = "found";

std::string hash_text(std::string_view text) { return fmt::format("{:016x}", ops::OpName(text).hash); }

std::string command_for(const SessionOptions& options) {
  std::string out = "tilewright fuse ";
  out += options.dummy_shape.empty() ? options.model.string() : "--weights dummy --shape " + options.dummy_shape;
  if (options.load.dtype) out += fmt::format(" --dtype {}", dtype_name(*options.load.dtype));
  if (options.device != "host") out += " --device " + options.device;
  if (!options.fuse_file.empty()) out += " --save " + options.fuse_file.string();
  return out;
}

}  // namespace

FuseList split_fuse(const std::string& fuse) {
  FuseList out;
  std::size_t begin = 0;
  while (begin <= fuse.size()) {
    const std::size_t end = std::min(fuse.find(',', begin), fuse.size());
    const std::string name = fuse.substr(begin, end - begin);
    begin = end + 1;
    if (name == kFound)
      out.found = true;
    else if (!name.empty())
      out.composites += (out.composites.empty() ? "" : ",") + name;
  }
  if (out.composites.empty()) out.composites = "none";
  return out;
}

opgraph::ChainFile chain_identity(const SessionOptions& options, const models::ModelInfo& info,
                                  const std::string& kernel_family) {
  opgraph::ChainFile out;
  out.model = options.dummy_shape.empty() ? options.model.string() : options.dummy_shape;
  // Chains follow from the configuration; weights and place do not matter.
  out.key = hash_text(options.dummy_shape.empty() ? read_text_file(options.model / "config.json")
                                                  : "shape " + options.dummy_shape);
  out.dtype = std::string(dtype_name(info.dtype));
  out.family = kernel_family;
  out.fuse = split_fuse(options.fuse).composites;
  return out;
}

std::filesystem::path found_chains_path(const opgraph::ChainFile& identity) {
  std::filesystem::path base;
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache && *cache)
    base = cache;
  else if (const char* home = std::getenv("HOME"); home && *home)
    base = std::filesystem::path(home) / ".cache";
  else
    base = std::filesystem::temp_directory_path();
  return base / "tilewright" / "chains" / fmt::format("{}-{}-{}.json", identity.key, identity.dtype, identity.family);
}

opgraph::ChainFile load_found_chains(const SessionOptions& options, const opgraph::ChainFile& identity,
                                     const ops::Registry& registry) {
  const std::filesystem::path path = options.fuse_file.empty() ? found_chains_path(identity) : options.fuse_file;
  std::error_code error;
  if (!std::filesystem::exists(path, error))
    fail({.what = "no chains have been found in this model yet",
          .where = path.string(),
          .expected = options.fuse_file.empty() ? "--fuse found: chains that `tilewright fuse` kept"
                                                : "--fuse-file: a file that `tilewright fuse --save` wrote",
          .found = "no such file",
          .fix = "run `" + command_for(options) + "` first"});
  opgraph::ChainFile file = opgraph::read_chain_file(path, registry);
  const auto same = [&](const char* what, const std::string& expected, const std::string& found) {
    if (expected == found) return;
    fail({.what = fmt::format("these chains were found with another {}", what),
          .where = path.string(),
          .expected = expected,
          .found = found,
          .fix = "run `" + command_for(options) + "`"});
  };
  same("model", identity.key, file.key);
  same("dtype", identity.dtype, file.dtype);
  same("device", identity.family, file.family);
  return file;
}

}  // namespace tilewright::engine
