#include "hub/safetensors/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/json.h"
#include "hub/golden.h"

namespace tilewright::hub {
namespace {

namespace fs = std::filesystem;

bool stays_inside(const std::string& name) {
  const fs::path path(name);
  if (name.empty() || path.is_absolute() || name.find('\\') != std::string::npos ||
      name.find('\0') != std::string::npos)
    return false;
  return std::none_of(path.begin(), path.end(), [](const fs::path& part) { return part == ".." || part == "."; });
}

std::vector<fs::path> safetensors_files(const fs::path& directory) {
  std::vector<fs::path> out;
  std::error_code error;
  fs::directory_iterator it(directory, error), end;
  if (error)
    fail({.what = "cannot read the directory",
          .where = directory.string(),
          .expected = "a model directory",
          .found = error.message(),
          .fix = error == std::errc::permission_denied ? "check its permissions" : "check the path"});
  for (; it != end; it.increment(error)) {
    if (error) break;
    if (it->path().extension() == ".safetensors" && !is_golden_name(it->path().filename().string()))
      out.push_back(it->path());
  }
  std::sort(out.begin(), out.end());
  return out;
}

// file → the tensors it must hold, as the index says.
std::map<std::string, std::vector<std::string>> read_index(const fs::path& path) {
  const Json index = read_json_file(path);
  const std::string where = path.string();
  const auto map = index.is_object() ? index.find("weight_map") : index.end();
  if (!index.is_object() || map == index.end() || !map->is_object())
    fail({.what = "the index has no \"weight_map\" object",
          .where = where,
          .expected = R"({"weight_map": {tensor: file, …}})",
          .found = "",
          .fix = "download the file again"});
  std::map<std::string, std::vector<std::string>> out;
  for (const auto& [tensor, file] : map->items()) {
    if (!file.is_string())
      fail({.what = "the index maps \"" + tensor + "\" to something that is no file name",
            .where = where,
            .expected = "a string",
            .found = json_kind(file),
            .fix = "download the file again"});
    if (!stays_inside(file.get<std::string>()))
      fail({.what = "the index names a shard outside the model directory",
            .where = where,
            .expected = "a relative path without \"..\"",
            .found = "\"" + file.get<std::string>() + "\"",
            .fix = "do not use this model: its index is malformed or hostile"});
    out[file.get<std::string>()].push_back(tensor);
  }
  return out;
}

}  // namespace

Checkpoint Checkpoint::open(const fs::path& model_dir) {
  Checkpoint out;
  out.where_ = model_dir;
  std::error_code ignored;
  const fs::path whole = model_dir / "model.safetensors", index = model_dir / "model.safetensors.index.json";
  if (model_dir.extension() == ".safetensors" && fs::is_regular_file(model_dir, ignored)) {
    out.add_whole_file(model_dir);
  } else if (fs::exists(whole, ignored)) {
    out.add_whole_file(whole);
  } else if (fs::exists(index, ignored)) {
    out.add_shards(model_dir, index);
  } else {
    const std::vector<fs::path> others = safetensors_files(model_dir);
    if (others.size() != 1)
      fail({.what = others.empty() ? "no weights in the model directory" : "several weight files and no index",
            .where = model_dir.string(),
            .expected = "model.safetensors or model.safetensors.index.json",
            .found = others.empty() ? "no *.safetensors file" : fmt::format("{} *.safetensors files", others.size()),
            .fix = "download the model again, or measure without weights: --weights dummy"});
    out.add_whole_file(others.front());
  }
  return out;
}

void Checkpoint::list(const TensorView& view) {
  tensors_.push_back(&view);
  total_bytes_ += view.bytes.size();
}

void Checkpoint::add_whole_file(const fs::path& path) {
  const SafetensorsFile& file = files_.emplace_back(SafetensorsFile::open(path));
  for (const TensorView& view : file.tensors()) {
    shard_of_.emplace(view.name, &file);
    list(view);
  }
  for (const auto& [name, shape] : file.refused()) shard_of_.emplace(name, &file);
}

void Checkpoint::add_shards(const fs::path& directory, const fs::path& index) {
  const auto promised = read_index(index);
  std::vector<std::string> absent;
  std::error_code ignored;
  for (const auto& [file, tensors] : promised)
    if (!fs::exists(directory / file, ignored)) absent.push_back(file);
  if (!absent.empty())
    fail({.what = fmt::format("{} of {} shards {} missing", absent.size(), promised.size(),
                              absent.size() == 1 ? "is" : "are"),
          .where = index.string(),
          .expected = "every file that the index names",
          .found = "no " + fmt::format("{}", fmt::join(absent.begin(),
                                                       absent.begin() + static_cast<std::ptrdiff_t>(
                                                                            std::min<std::size_t>(3, absent.size())),
                                                       ", no ")),
          .fix = "download the missing files"});
  for (const auto& [name, tensors] : promised) {
    const SafetensorsFile& file = files_.emplace_back(SafetensorsFile::open(directory / name));
    for (const std::string& tensor : tensors) {
      if (!file.contains(tensor))
        fail({.what = "the index names tensor \"" + tensor + "\", which is not in its shard",
              .where = (directory / name).string(),
              .expected = "what " + index.filename().string() + " says",
              .found = fmt::format("{} other tensors", file.tensors().size()),
              .fix = "download index and shards again, of one revision"});
      shard_of_.emplace(names_.emplace_back(tensor), &file);
    }
    std::size_t unnamed = 0;
    for (const TensorView& view : file.tensors()) {
      const auto it = shard_of_.find(view.name);
      if (it != shard_of_.end() && it->second == &file)
        list(view);
      else
        ++unnamed;
    }
    if (unnamed)
      notes_.push_back(fmt::format("{}: {} tensors that the index does not name are left out",
                                   (directory / name).string(), unnamed));
  }
}

const TensorView* Checkpoint::find(std::string_view name) const {
  const auto it = shard_of_.find(name);
  return it == shard_of_.end() ? nullptr : it->second->find(name);
}

bool Checkpoint::contains(std::string_view name) const { return shard_of_.contains(name); }

const TensorView& Checkpoint::get(std::string_view name) const {
  if (const TensorView* view = find(name)) return *view;
  std::vector<std::string_view> names;
  for (const TensorView* view : tensors_) names.push_back(view->name);
  fail_tensor_not_found(name, names, where_.string());
}

}  // namespace tilewright::hub
