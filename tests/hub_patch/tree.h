// Directory trees of the tests of patching: built in a temporary folder, and compared with what they were.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <tuple>

namespace tilewright::hub::testing_trees {

namespace fs = std::filesystem;

// In memory where there is such a place: every step of a change waits for the disk.
class TemporaryTree {
 public:
  TemporaryTree() {
    std::error_code none;
    std::string name =
        (fs::is_directory("/dev/shm", none) && ::access("/dev/shm", W_OK) == 0 ? "/dev/shm/" : ::testing::TempDir()) +
        "tilewright_patch_XXXXXX";
    if (!::mkdtemp(name.data())) ADD_FAILURE() << "no temporary folder: " << name;
    path_ = name;
  }
  ~TemporaryTree() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  TemporaryTree(const TemporaryTree&) = delete;
  TemporaryTree& operator=(const TemporaryTree&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

inline void put_file(const fs::path& path, const std::string& bytes, mode_t mode = 0644) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << bytes;
  ::chmod(path.c_str(), mode);
  const timespec times[] = {{1500000000, 5}, {1600000000, 123456789}};
  ::utimensat(AT_FDCWD, path.c_str(), times, 0);
}

inline std::string bytes_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

struct TreeEntry {
  char kind = '?';  // f, l, d
  mode_t mode = 0;
  std::string bytes;  // of a link: its text
  long long seconds = 0, nanoseconds = 0;
  bool operator==(const TreeEntry& other) const {
    return std::tie(kind, mode, bytes, seconds, nanoseconds) ==
           std::tie(other.kind, other.mode, other.bytes, other.seconds, other.nanoseconds);
  }
};
using Tree = std::map<std::string, TreeEntry>;

// Times of files and links, not of folders: whoever makes and removes a file in one changes these.
inline Tree tree_of(const fs::path& root, bool times = true) {
  Tree tree;
  for (const auto& item : fs::recursive_directory_iterator(root)) {
    struct stat info {};
    ::lstat(item.path().c_str(), &info);
    TreeEntry entry;
    entry.kind = S_ISREG(info.st_mode) ? 'f' : S_ISLNK(info.st_mode) ? 'l' : S_ISDIR(info.st_mode) ? 'd' : '?';
    entry.mode = info.st_mode & 07777;
    if (entry.kind == 'f') entry.bytes = bytes_of(item.path());
    if (entry.kind == 'l') entry.bytes = fs::read_symlink(item.path()).string();
    if (times && entry.kind != 'd') {
      entry.seconds = info.st_mtim.tv_sec;
      entry.nanoseconds = info.st_mtim.tv_nsec;
    }
    tree[item.path().lexically_relative(root).string()] = entry;
  }
  return tree;
}

inline std::string difference(const Tree& a, const Tree& b) {
  std::string out;
  for (const auto& [path, entry] : a)
    if (const auto it = b.find(path); it == b.end())
      out += "- " + path + "\n";
    else if (!(it->second == entry))
      out += "! " + path + ": " + entry.bytes.substr(0, 60) + " | " + it->second.bytes.substr(0, 60) + "\n";
  for (const auto& [path, entry] : b)
    if (!a.count(path)) out += "+ " + path + "\n";
  return out;
}

}  // namespace tilewright::hub::testing_trees
