#include "hub/patch/overlay_swap.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "base/digest.h"
#include "base/error.h"
#include "base/file_lock.h"
#include "base/json.h"
#include "base/mapped_file.h"

namespace tilewright::hub {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = ".tilewright-overlay-";
constexpr const char* kMarkerFormat = "tilewright-overlay-1";
constexpr const char* kMarker = "overlay.json";
constexpr const char* kNew = "new";
constexpr const char* kOld = "old";
constexpr const char* kLock = "lock";

[[noreturn]] void cannot_build(const fs::path& where, const std::string& what, int error) {
  fail({.what = what,
        .where = where.string(),
        .expected = "",
        .found = std::strerror(error),
        .fix = error == ENOSPC ? "free disk space" : "check that the folder exists and is writable"});
}

std::string workshop_name(const std::string& target_name) {
  return std::string(kPrefix) + sha256_of_text(target_name).substr(0, 16);
}

void flush_folder(const fs::path& folder) {
  const int file = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0) cannot_build(folder, "the folder cannot be opened", errno);
  ::fsync(file);  // a file system that has no such thing says so here; the files themselves are flushed
  ::close(file);
}

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::exists(fs::symlink_status(path, error));
}

bool is_real_folder(const fs::path& path) {
  std::error_code error;
  return fs::symlink_status(path, error).type() == fs::file_type::directory;
}

// The name of the target that a workshop was for, if the folder is one of ours beyond doubt. An empty name: of ours,
// but it was killed before it held anything.
std::optional<std::string> target_of_workshop(const fs::path& folder) {
  const std::string name = folder.filename().string();
  struct stat info {};
  if (!name.starts_with(kPrefix) || name.size() != kPrefix.size() + 16 || ::lstat(folder.c_str(), &info) != 0 ||
      !S_ISDIR(info.st_mode) || info.st_uid != ::geteuid())
    return std::nullopt;
  bool only_begun = true;
  std::error_code error;
  const fs::directory_iterator end;
  for (fs::directory_iterator it(folder, error); !error && it != end; it.increment(error)) {
    const std::string entry = it->path().filename().string();
    const bool scratch = entry.starts_with(std::string(kMarker) + ".tmp");
    if (entry != kNew && entry != kOld && entry != kLock && entry != kMarker && !scratch) return std::nullopt;
    only_begun = only_begun && (entry == kLock || scratch);
  }
  if (error) return std::nullopt;
  if (only_begun) return "";
  try {
    const Json json = parse_json(read_text_file(MappedFile(folder / kMarker).path(), 1 << 16), kMarker);
    if (!json.is_object() || json.value("format", "") != kMarkerFormat) return std::nullopt;
    std::string target;
    for (const Json& byte : json.at("target")) target += static_cast<char>(byte.get<unsigned char>());
    if (workshop_name(target) != name) return std::nullopt;
    return target;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

void remove_workshop(const fs::path& folder) {
  std::error_code ignored;
  // The marker goes last: what is left of a killed removal must still be known as ours.
  fs::remove_all(folder / kNew, ignored);
  fs::remove_all(folder / kOld, ignored);
  if (!is_there(folder / kNew) && !is_there(folder / kOld)) fs::remove_all(folder, ignored);
}

// What a killed command left beside `parent`'s folders: finishes or takes away what nobody works on.
void clean_up(const fs::path& parent, const StepHook& hook) {
  std::vector<fs::path> found;
  std::error_code error;
  const fs::directory_iterator end;
  for (fs::directory_iterator it(parent, error); !error && it != end; it.increment(error))
    if (it->path().filename().string().starts_with(kPrefix)) found.push_back(it->path());
  for (const fs::path& folder : found) {
    if (!target_of_workshop(folder)) continue;
    std::optional<FileLock> lock;
    try {
      lock = FileLock::try_lock(folder / kLock);
    } catch (const Error&) {
    }
    const auto name = target_of_workshop(folder);  // again: it may have gone while we waited
    if (!lock || !name) continue;
    if (hook) hook("take away what a killed command left");
    const fs::path target = parent / *name;
    if (!name->empty() && is_real_folder(folder / kOld) && !is_there(target))
      fs::rename(is_real_folder(folder / kNew) ? folder / kNew : folder / kOld, target, error);
    remove_workshop(folder);
  }
}

}  // namespace

struct Workshop::State {
  fs::path target, workshop;
  const StepHook& hook;
  std::vector<fs::path> parents;  // that we made, the deepest last
  std::optional<FileLock> lock;
  bool made = false, done = false;

  void step(const std::string& what) const {
    if (hook) hook(what);
  }

  void make_parents() {
    std::vector<fs::path> missing;
    for (fs::path at = target.parent_path(); !is_there(at); at = at.parent_path()) missing.push_back(at);
    for (; !missing.empty(); missing.pop_back()) {
      step("make a folder above the overlay");
      if (::mkdir(missing.back().c_str(), 0777) == 0)
        parents.push_back(missing.back());
      else if (errno != EEXIST)
        cannot_build(missing.back(), "the folder cannot be made", errno);
    }
  }

  void make_workshop() {
    clean_up(target.parent_path(), hook);
    step("make the workshop");
    if (::mkdir(workshop.c_str(), 0700) != 0) {
      if (errno != EEXIST) cannot_build(target.parent_path(), "the overlay cannot be built beside its place", errno);
      const bool ours = target_of_workshop(workshop).has_value();
      fail(
          {.what = ours ? "another command builds this overlay" : "the place where the overlay would be built is taken",
           .where = workshop.string(),
           .expected = "",
           .found = "",
           .fix = ours ? "wait for it" : "it is not what Tilewright leaves there: move it away"});
    }
    made = true;
    step("lock the workshop");
    lock = FileLock::try_lock(workshop / kLock);
    if (!lock) fail({.what = "another command builds this overlay", .where = target.string(), .fix = "wait for it"});
    step("mark the workshop");
    Json bytes = Json::array();  // a name of a folder need not be UTF-8
    for (const char c : target.filename().string()) bytes.push_back(static_cast<unsigned char>(c));
    const Json marker = {{"format", kMarkerFormat}, {"target", std::move(bytes)}};
    write_file_atomically(workshop / kMarker, [&](std::ostream& out) { out << marker.dump() << "\n"; });
    step("begin the overlay");
    if (::mkdir((workshop / kNew).c_str(), 0777) != 0) cannot_build(workshop, "the overlay cannot be begun", errno);
  }

  void leave() {
    // Stopped between two renames: the old one goes back before anything else.
    std::error_code error;
    if (!done && is_real_folder(workshop / kOld) && !is_there(target)) fs::rename(workshop / kOld, target, error);
    if (error) return;
    remove_workshop(workshop);
    std::error_code ignored;
    if (!done)
      for (; !parents.empty(); parents.pop_back()) ::rmdir(parents.back().c_str());
  }
};

Workshop::Workshop(const fs::path& target, const StepHook& hook)
    : state_(new State{.target = target,
                       .workshop = target.parent_path() / workshop_name(target.filename().string()),
                       .hook = hook}) {
  try {
    state_->make_parents();
    state_->make_workshop();
  } catch (...) {
    if (state_->lock) {
      state_->leave();
    } else {
      if (state_->made) ::rmdir(state_->workshop.c_str());  // empty, or another command has it
      for (auto& made = state_->parents; !made.empty(); made.pop_back()) ::rmdir(made.back().c_str());
    }
    throw;
  }
}

Workshop::~Workshop() {
  if (state_->lock) state_->leave();
}

fs::path Workshop::folder() const { return state_->workshop / kNew; }

void Workshop::put_in_place(bool replace, bool exchange) {
  const State& s = *state_;
  flush_folder(folder());
  flush_folder(s.workshop);
  const auto in_the_way = [&](int error) {
    if (error == ENOTEMPTY || error == EEXIST)
      fail({.what = "the folder of the overlay is not empty",
            .where = s.target.string(),
            .expected = "an empty or absent folder",
            .found = "files in it",
            .fix = "name another one, or replace it with --force"});
    cannot_build(s.target, "the overlay cannot be put in place", error);
  };
  s.step("put the overlay in place");
  if (!replace || !is_there(s.target)) {
    if (::rename(folder().c_str(), s.target.c_str()) != 0) in_the_way(errno);
  } else if (!exchange || ::renameat2(AT_FDCWD, folder().c_str(), AT_FDCWD, s.target.c_str(), RENAME_EXCHANGE) != 0) {
    if (exchange && errno != ENOSYS && errno != EINVAL && errno != ENOTSUP) in_the_way(errno);
    if (::rename(s.target.c_str(), (s.workshop / kOld).c_str()) != 0) in_the_way(errno);
    s.step("put the overlay into the empty place");
    if (::rename(folder().c_str(), s.target.c_str()) != 0) {
      const int error = errno;
      ::rename((s.workshop / kOld).c_str(), s.target.c_str());
      in_the_way(error);
    }
  }
  state_->done = true;
  flush_folder(s.target.parent_path());
  try {
    s.step("remove the old overlay");
  } catch (...) {  // too late to stop: it is in place
  }
}

}  // namespace tilewright::hub
