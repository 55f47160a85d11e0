#include "hub/patch/copy_files.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "hub/patch/patch_record.h"

namespace tilewright::hub {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse_destination(const std::string& destination, const std::string& what,
                                     const std::string& found = {}) {
  fail({.what = what,
        .where = "--copy " + destination + "=…",
        .expected = "a file's path inside the model, such as modeling_x.py",
        .found = found,
        .fix = ""});
}

void check_place(const fs::path& model, const std::string& destination) {
  std::error_code error;
  fs::path at = model;
  const fs::path relative(destination);
  for (const fs::path& part : relative.parent_path()) {
    at /= part;
    const fs::file_status status = fs::symlink_status(at, error);
    if (status.type() == fs::file_type::not_found) break;
    if (status.type() == fs::file_type::none)
      refuse_destination(destination, "the path cannot be followed", error.message());
    if (status.type() == fs::file_type::symlink)
      refuse_destination(destination, "a folder on the way is a link, which may lead out of the model", at.string());
    if (status.type() != fs::file_type::directory)
      refuse_destination(destination, "a part of the path is no folder", at.string());
  }
  const fs::path place = model / relative;
  const fs::file_status status = fs::symlink_status(place, error);
  if (status.type() == fs::file_type::none)
    refuse_destination(destination, "the place cannot be seen", error.message());
  if (status.type() == fs::file_type::directory)
    refuse_destination(destination, "this is an existing folder", place.string());
  if (status.type() == fs::file_type::symlink && fs::is_directory(place, error))
    refuse_destination(destination, "this is a link to a folder", place.string());
  if (status.type() != fs::file_type::not_found && status.type() != fs::file_type::symlink &&
      status.type() != fs::file_type::regular)
    refuse_destination(destination, "something that is no file is there", place.string());
}

fs::path checked_source(const std::string& destination, const std::string& source, const fs::path& root) {
  const fs::path path = root.empty() ? fs::absolute(source) : fs::absolute(root / source);
  const auto complain = [&](const std::string& found, const std::string& fix) {
    fail({.what = "the file to copy cannot be used",
          .where = path.string(),
          .expected = "a file that can be read, for --copy " + destination,
          .found = found,
          .fix = fix});
  };
  std::error_code error;
  const fs::file_type type = source.empty() ? fs::file_type::not_found : fs::status(path, error).type();
  if (type == fs::file_type::not_found)
    complain("no such file", root.empty() ? "SRC counts from the current folder; --source-root names another one"
                                          : "SRC counts from --source-root");
  if (type == fs::file_type::directory) complain("a folder", "name each file");
  if (type == fs::file_type::none) complain(error.message(), "");
  if (type != fs::file_type::regular) complain("no regular file", "");
  if (::access(path.c_str(), R_OK) != 0) complain(std::strerror(errno), "check its permissions");
  return path;
}

}  // namespace

std::string copy_destination(const std::string& text) {
  const fs::path given(text);
  if (text.empty()) refuse_destination(text, "the destination is empty");
  if (given.is_absolute()) refuse_destination(text, "the destination is not inside the model", "an absolute path");
  if (text.back() == '/') refuse_destination(text, "the destination is a folder", text);
  const fs::path normal = given.lexically_normal();
  if (*normal.begin() == "..") refuse_destination(text, "the destination leaves the model", text);
  if (normal == "." || !normal.has_filename())
    refuse_destination(text, "the destination is the model's folder itself", text);
  const std::string name = normal.string();
  for (const char* ending : {".orig", ".pypto_orig", ".hf_orig"})
    if (name.ends_with(ending)) refuse_destination(text, "the destination is called like a backup", text);
  if (const std::string reason = unpatchable_reason(name); !reason.empty())
    refuse_destination(text, "the destination cannot be a file of a model", reason);
  return name;
}

std::map<std::string, fs::path> checked_copies(const fs::path& model, const std::map<std::string, std::string>& copy,
                                               const fs::path& source_root) {
  std::error_code error;
  if (!source_root.empty() && !fs::is_directory(source_root, error))
    fail({.what = "no such folder",
          .where = "--source-root " + source_root.string(),
          .expected = "the folder that holds the files to copy",
          .found = "",
          .fix = ""});
  std::map<std::string, fs::path> out;
  for (const auto& [text, source] : copy) {
    const std::string destination = copy_destination(text);
    check_place(model, destination);
    if (!out.emplace(destination, checked_source(destination, source, source_root)).second)
      refuse_destination(destination, "two files are to be copied to one place");
  }
  for (const auto& [destination, source] : out)
    for (fs::path folder = fs::path(destination).parent_path(); !folder.empty(); folder = folder.parent_path())
      if (out.contains(folder.string()))
        refuse_destination(destination, "a part of the path is a file to be copied", folder.string());
  return out;
}

}  // namespace tilewright::hub
