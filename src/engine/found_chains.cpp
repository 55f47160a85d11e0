#include "engine/found_chains.h"

#include <fmt/format.h>

#include "base/cache_folder.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/mapped_file.h"
#include "engine/fuse_list.h"

namespace tilewright::engine {
namespace {

std::string command_for(const SessionOptions& options) {
  std::string out = "tilewright fuse ";
  out += options.dummy_shape.empty() ? options.model.string() : "--weights dummy --shape " + options.dummy_shape;
  if (options.load.dtype) out += fmt::format(" --dtype {}", dtype_name(*options.load.dtype));
  if (options.device != "host") out += " --device " + options.device;
  if (!options.fuse_file.empty()) out += " --save " + options.fuse_file.string();
  return out;
}

}  // namespace

opgraph::ChainFile chain_identity(const SessionOptions& options, const models::ModelInfo& info,
                                  const std::string& kernel_family) {
  opgraph::ChainFile out;
  out.model = options.dummy_shape.empty() ? options.model.string() : options.dummy_shape;
  // Chains follow from the configuration; weights and place do not matter.
  out.key = hash_name(hash_text(options.dummy_shape.empty() ? read_text_file(options.model / "config.json")
                                                            : "shape " + options.dummy_shape));
  out.dtype = std::string(dtype_name(info.dtype));
  out.family = kernel_family;
  out.fuse = parse_fuse_list(options.fuse).composites;
  return out;
}

std::filesystem::path found_chains_path(const opgraph::ChainFile& identity) {
  const std::filesystem::path cache = user_cache_folder();
  if (cache.empty())
    fail({.what = "there is no cache folder for found chains",
          .where = "XDG_CACHE_HOME and HOME",
          .expected = "an absolute path in one of them",
          .found = "neither",
          .fix = "name a file: `tilewright fuse MODEL --save F`, then --fuse-file F"});
  return cache / "chains" / fmt::format("{}-{}-{}.json", identity.key, identity.dtype, identity.family);
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
