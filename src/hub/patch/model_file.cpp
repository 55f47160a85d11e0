#include "hub/patch/model_file.h"

#include <algorithm>

#include "base/error.h"
#include "base/mapped_file.h"
#include "hub/patch/auto_map.h"
#include "hub/patch/json_edit.h"

namespace tilewright::hub {
namespace {

constexpr std::size_t kLongestText = std::size_t{64} << 20;

}  // namespace

bool stays_inside(const std::filesystem::path& name) {
  if (name.empty() || name.is_absolute()) return false;
  return std::none_of(name.begin(), name.end(), [](const std::filesystem::path& part) { return part == ".."; });
}

bool is_model_file(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error);
}

std::string read_model_text(const std::filesystem::path& path) {
  std::error_code error;
  const std::filesystem::file_type type = std::filesystem::status(path, error).type();
  if (type == std::filesystem::file_type::not_found)
    fail({.what = "no such file",
          .where = path.string(),
          .expected = "",
          .found = "",
          .fix = "name the directory of a model, as `tilewright pull` leaves it"});
  if (type != std::filesystem::file_type::regular)
    fail({.what = "not a regular file",
          .where = path.string(),
          .expected = "a file",
          .found = type == std::filesystem::file_type::directory ? "a folder"
                   : error                                       ? error.message()
                                                                 : "something else",
          .fix = "check the path"});
  return read_text_file(path, kLongestText);
}

std::vector<std::string> modules_named_by(const Json& auto_map) {
  std::vector<std::string> out = modules_of(auto_map);
  std::erase_if(out, [](const std::string& name) { return !stays_inside(name); });
  return out;
}

std::vector<std::string> named_modules(const std::filesystem::path& directory) {
  std::vector<std::string> out;
  for (const char* name : kAutoMapFiles) {
    if (!is_model_file(directory / name)) continue;
    try {
      const auto auto_map = member_of(read_model_text(directory / name), "auto_map", name);
      if (!auto_map) continue;
      for (std::string& module : modules_named_by(*auto_map)) out.push_back(std::move(module));
    } catch (const Error&) {
    }
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

}  // namespace tilewright::hub
