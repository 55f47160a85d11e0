#include "ops/core/tuning/tuning_store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <ostream>
#include <set>

#include "base/cache_folder.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/mapped_file.h"

namespace tilewright::ops {
namespace {

constexpr const char* kFormat = "tilewright-tuning-1";
constexpr const char* kEnding = ".json";
constexpr const char* kLock = ".lock";

// Held while a file is merged and written. Without it two writers could lose each other's decisions, no more: they
// would be measured again.
class Lock {
 public:
  explicit Lock(const std::filesystem::path& file) {
    fd_ = open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    for (int tries = 0; fd_ >= 0 && flock(fd_, LOCK_EX | LOCK_NB) != 0 && tries < 200; ++tries) usleep(5000);
  }
  Lock(const Lock&) = delete;
  ~Lock() {
    if (fd_ >= 0) close(fd_);
  }

 private:
  int fd_ = -1;
};

// Few files: one for each device and version. Those that were written longest ago go.
void remove_oldest(const std::filesystem::path& folder, std::size_t most) {
  std::error_code error;
  std::vector<std::pair<std::filesystem::file_time_type, std::filesystem::path>> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error))
    if (entry.path().extension() == kEnding) files.emplace_back(entry.last_write_time(error), entry.path());
  if (files.size() <= most) return;
  std::sort(files.begin(), files.end());
  for (std::size_t i = 0; i < files.size() - most; ++i) {
    std::filesystem::remove(files[i].second, error);
    std::filesystem::remove(files[i].second.string() + kLock, error);
  }
}

}  // namespace

Json to_json(const TuningDevice& d) {
  return {{"device", d.device},
          {"processor", d.processor},
          {"level", d.level},
          {"threads", d.threads},
          {"version", d.version}};
}

std::vector<Decision> read_tuning_file(const std::filesystem::path& file, const TuningDevice& device) {
  std::vector<Decision> out;
  std::error_code error;
  // Not a pipe, which would keep us waiting, and nothing that another user wrote.
  struct stat s {};
  if (lstat(file.c_str(), &s) != 0 || !S_ISREG(s.st_mode) || s.st_uid != geteuid() ||
      static_cast<std::size_t>(s.st_size) > TuningStore::kLargestFile)
    return out;
  try {
    const Json json = parse_json(read_text_file(file, TuningStore::kLargestFile), file.string());
    if (!json.is_object() || !json.contains("format") || json["format"] != kFormat || !json.contains("device") ||
        json["device"] != to_json(device) || !json.contains("decisions") || !json["decisions"].is_array())
      return out;
    for (const Json& one : json["decisions"])
      if (std::optional<Decision> decision = decision_from_json(one);
          decision && out.size() < TuningStore::kMostDecisions)
        out.push_back(std::move(*decision));
  } catch (const Error&) {
    out.clear();
  }
  return out;
}

TuningStore::TuningStore(std::filesystem::path folder, TuningDevice device)
    : folder_(std::move(folder)), device_(std::move(device)) {
  if (folder_.empty()) return;
  for (Decision& decision : read_tuning_file(file(), device_)) insert(std::move(decision));
}

std::filesystem::path TuningStore::file() const {
  return folder_.empty() ? folder_ : folder_ / (hash_name(hash_text(to_json(device_).dump())) + kEnding);
}

const Decision* TuningStore::find(const std::string& key) const {
  const auto at = by_key_.find(key);
  return at == by_key_.end() ? nullptr : &decisions_[at->second];
}

const Decision* TuningStore::nearest(const std::string& key) const {
  const ClassForm wanted = class_form(key);
  const auto at = by_form_.find(wanted.form);
  if (at == by_form_.end()) return nullptr;
  const Decision* out = nullptr;
  double least = std::numeric_limits<double>::infinity();
  for (const std::size_t i : at->second) {
    const double distance = class_distance(wanted.extents, class_form(decisions_[i].key).extents);
    if (distance < least) {
      least = distance;
      out = &decisions_[i];
    }
  }
  return out;
}

void TuningStore::insert(Decision decision) {
  if (const auto at = by_key_.find(decision.key); at != by_key_.end()) {
    decisions_[at->second] = std::move(decision);
    return;
  }
  by_key_[decision.key] = decisions_.size();
  by_form_[class_form(decision.key).form].push_back(decisions_.size());
  decisions_.push_back(std::move(decision));
}

void TuningStore::add(Decision decision) {
  added_.push_back(decision.key);
  insert(std::move(decision));
}

bool TuningStore::save() {
  if (folder_.empty()) return false;
  std::error_code error;
  std::filesystem::create_directories(folder_.parent_path(), error);
  mkdir(folder_.c_str(), 0700);
  const std::filesystem::path path = file();
  const Lock lock(path.string() + kLock);
  const std::set<std::string> ours(added_.begin(), added_.end());
  std::vector<const Decision*> kept;
  std::vector<Decision> others = read_tuning_file(path, device_);
  for (const Decision& d : others)
    if (!ours.count(d.key)) kept.push_back(&d);
  for (const std::string& key : added_)
    if (std::find_if(kept.begin(), kept.end(), [&](const Decision* d) { return d->key == key; }) == kept.end())
      kept.push_back(find(key));
  if (kept.size() > kMostDecisions) kept.erase(kept.begin(), kept.end() - kMostDecisions);
  Json list = Json::array();
  for (const Decision* d : kept) list.push_back(decision_to_json(*d));
  const Json json{{"format", kFormat}, {"device", to_json(device_)}, {"decisions", std::move(list)}};
  try {
    const std::string text = json.dump(1) + "\n";
    if (text.size() > kLargestFile) return false;
    write_file_atomically(path, [&](std::ostream& out) { out << text; });
  } catch (const std::exception&) {
    return false;
  }
  remove_oldest(folder_, kMostFiles);
  return true;
}

std::filesystem::path user_tuning_folder() {
  const std::filesystem::path cache = user_cache_folder();
  return cache.empty() ? cache : cache / "tuning";
}

}  // namespace tilewright::ops
