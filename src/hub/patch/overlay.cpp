#include "hub/patch/overlay.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>

#include "base/digest.h"
#include "base/error.h"
#include "hub/patch/change_journal.h"
#include "hub/patch/model_folder.h"
#include "hub/patch/overlay_swap.h"

namespace tilewright::hub {
namespace {

namespace fs = std::filesystem;

constexpr int kMostLinks = 40;  // one after the other, as the kernel has it

[[noreturn]] void refuse_target(const fs::path& target, const std::string& what, const std::string& fix) {
  fail({.what = what,
        .where = "--output-dir " + target.string(),
        .expected = "a folder outside of the model, absent or empty",
        .found = "",
        .fix = fix});
}

// Absolute, links resolved but for the last part, which is no link.
fs::path overlay_place(const fs::path& given) {
  fs::path path = fs::absolute(given);
  while (!path.has_filename() && path != path.root_path()) path = path.parent_path();
  std::error_code error;
  if (path.filename() == "." || path.filename() == "..") path = fs::weakly_canonical(path, error);
  if (error || !path.has_filename()) refuse_target(given, "no folder can be made there", "name another one");
  if (fs::is_symlink(fs::symlink_status(path, error)))
    refuse_target(given, "this is a link, which would be replaced instead of what it leads to",
                  "name the folder itself");
  const fs::path parent = fs::weakly_canonical(path.parent_path(), error);
  if (error) refuse_target(given, "the folder cannot be reached: " + error.message(), "check the path");
  return parent / path.filename();
}

bool is_same_folder(const fs::path& a, const fs::path& b) {
  std::error_code error;
  return a == b || fs::equivalent(a, b, error);
}

// `path` is `folder` or lies in it, also where a folder has two names (bind mounts). Both canonical.
bool lies_in(const fs::path& path, const fs::path& folder) {
  for (fs::path at = path;; at = at.parent_path()) {
    if (is_same_folder(at, folder)) return true;
    if (at == at.parent_path()) return false;
  }
}

struct OverlayEntry {
  std::string path;   // within the model
  fs::path leads_to;  // of a link; empty: a folder
};

bool is_blob(const fs::path& path) {
  return path.parent_path().filename() == "blobs" &&
         path.parent_path().parent_path().filename().string().find("--") != std::string::npos;
}

// What a name finally leads to; but a blob of a cache is known by the name that leads to it.
fs::path final_place(fs::path path) {
  std::error_code error;
  for (int i = 0; i < kMostLinks && fs::is_symlink(fs::symlink_status(path, error)); ++i) {
    const fs::path text = fs::read_symlink(path, error);
    if (error) break;
    const fs::path next = text.is_absolute() ? text : path.parent_path() / text;
    const fs::path folder = fs::canonical(next.parent_path(), error);
    if (error || is_blob(folder / next.filename()) || !next.has_filename()) break;
    path = folder / next.filename();
  }
  return path;
}

std::set<std::string> left_out(const fs::path& model) {
  std::set<std::string> out{kTilewrightFolder, ".cache/huggingface"};
  if (const auto record = read_patch_record(model))
    for (const PatchedFile& file : record->files)
      if (!file.backup.empty()) out.insert(file.backup);
  for (const std::string& file : foreign_backups(model))
    for (const char* ending : {".pypto_orig", ".hf_orig"}) out.insert(file + ending);
  return out;
}

std::vector<OverlayEntry> entries_of(const fs::path& model, const DirectoryChange& change) {
  const std::set<std::string> without = left_out(model);
  std::vector<OverlayEntry> out;
  const auto cannot_read = [&](const std::error_code& error) {
    fail({.what = "the model's directory cannot be read",
          .where = model.string(),
          .expected = "",
          .found = error.message(),
          .fix = "check its permissions"});
  };
  std::error_code error;
  const fs::recursive_directory_iterator end;
  fs::recursive_directory_iterator it(model, error);
  for (; !error && it != end; it.increment(error)) {
    const std::string path = it->path().lexically_relative(model).generic_string();
    std::error_code unseen;
    const fs::file_type type = it->symlink_status(unseen).type();
    if (without.contains(path) || change.write.contains(path) || change.copy.contains(path)) {
      if (type == fs::file_type::directory) it.disable_recursion_pending();
      continue;
    }
    if (type == fs::file_type::directory)
      out.push_back({path, {}});
    else if (type == fs::file_type::symlink && fs::is_directory(it->path(), unseen))
      out.push_back({path, fs::canonical(it->path())});
    else if (type == fs::file_type::regular || type == fs::file_type::symlink)
      out.push_back({path, final_place(it->path())});
  }
  if (error) cannot_read(error);
  return out;
}

void require_free_target(const fs::path& model, const fs::path& target, bool force) {
  if (is_same_folder(target, model)) refuse_target(target, "this is the model itself", "name another folder");
  if (lies_in(model, target)) refuse_target(target, "this folder holds the model", "name another folder");
  if (lies_in(target, model)) refuse_target(target, "this folder lies in the model", "name another folder");
  std::error_code error;
  const fs::file_type type = fs::symlink_status(target, error).type();
  if (type == fs::file_type::not_found) return;
  if (type != fs::file_type::directory) refuse_target(target, "this is no folder", "name another one");
  const bool empty = fs::is_empty(target, error);
  if (error) refuse_target(target, "the folder cannot be read: " + error.message(), "check its permissions");
  if (!empty && !force)
    refuse_target(target, "the folder is not empty", "name another one, or replace it with --force");
}

// With --force the old folder goes: it must not hold what the overlay links to.
void require_links_outside(const std::vector<OverlayEntry>& entries, const fs::path& target) {
  std::error_code error;
  if (!fs::exists(target, error)) return;
  std::set<fs::path> seen;
  for (const OverlayEntry& entry : entries) {
    if (entry.leads_to.empty()) continue;
    fs::path real = fs::weakly_canonical(entry.leads_to, error);
    if (error || !seen.insert(real.parent_path()).second) continue;
    if (lies_in(real, target))
      refuse_target(target, "this folder holds a file of the model: " + real.string(), "name another folder");
  }
}

mode_t mode_of(const fs::path& file) {
  struct stat info {};
  return ::stat(file.c_str(), &info) == 0 ? info.st_mode & 07777 : 0644;
}

// The path in overlay_of need not be UTF-8; it is shown to people and decides nothing.
std::string json_text(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"; }

void make_links(const std::vector<OverlayEntry>& entries, const fs::path& folder) {
  const auto complain = [&](const fs::path& place) {
    const int error = errno;
    fail({.what = "the overlay cannot be built",
          .where = place.string(),
          .expected = "",
          .found = std::strerror(error),
          .fix = error == ENOSPC ? "free disk space" : ""});
  };
  for (const OverlayEntry& entry : entries) {
    const fs::path place = folder / entry.path;
    if (entry.leads_to.empty() ? ::mkdir(place.c_str(), 0777) : ::symlink(entry.leads_to.c_str(), place.c_str()))
      complain(place);
  }
}

}  // namespace

PatchRecord build_overlay(const fs::path& given_model, const fs::path& given_target, const DirectoryChange& change,
                          bool force, const StepHook& hook) {
  const fs::path model = fs::canonical(given_model), target = overlay_place(given_target);
  require_free_target(model, target, force);
  const std::vector<OverlayEntry> entries = entries_of(model, change);
  require_links_outside(entries, target);

  Workshop workshop(target, hook);
  const fs::path folder = workshop.folder();
  const auto step = [&](const std::string& what) {
    if (hook) hook(what);
  };
  step("link the model's files");
  make_links(entries, folder);
  PatchRecord record{.overlay_of = model.string()};
  Pin pin = change.pin.value_or(Pin{});
  ModelFolder overlay(folder, hook);
  const auto make_parents = [&](const std::string& path) {
    for (std::size_t slash = path.find('/'); slash != std::string::npos; slash = path.find('/', slash + 1))
      overlay.make_folder(path.substr(0, slash));
  };
  for (const auto& [path, text] : change.write) {
    make_parents(path);
    overlay.write_new(path, text, mode_of(model / path));
    record.files.push_back({.path = path, .sha256 = sha256_of_text(text)});
  }
  for (const auto& [path, source] : change.copy) {
    make_parents(path);
    record.files.push_back({.path = path, .sha256 = overlay.copy_new(path, source)});
  }
  std::sort(record.files.begin(), record.files.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  for (const PatchedFile& file : record.files)
    if (const auto it = pin.files.find(file.path); it != pin.files.end()) it->second = file.sha256;
  overlay.make_folder(kTilewrightFolder);
  if (change.pin) overlay.write_new(kPinPath, json_text(pin_json(pin)), 0644);
  overlay.write_new(kRecordPath, json_text(patch_record_json(record)), 0644);
  workshop.put_in_place(force);
  return record;
}

}  // namespace tilewright::hub
