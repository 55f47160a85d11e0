// Decisions of one device on disk: a JSON file of its own for each device, kept in the user's cache. Any number of
// processes may use it at once. What is read is not trusted: a file that does not fit in any way counts as empty and is
// written anew, and no trouble with the folder is ever an error.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "ops/core/tuning/call_class.h"
#include "ops/core/tuning/decision.h"

namespace tilewright::ops {

// What makes times of one device differ from another's, and of one program from another's.
struct TuningDevice {
  std::string device;     // as it was opened: "host"
  std::string processor;  // model
  std::string level;      // instruction set
  int threads = 1;
  std::string version;  // of operators, kernels and compiler
  bool operator==(const TuningDevice&) const = default;
};
Json to_json(const TuningDevice& device);

class TuningStore {
 public:
  static constexpr std::size_t kMostDecisions = 2048;  // the oldest go first
  static constexpr std::size_t kMostFiles = 64;
  static constexpr std::size_t kLargestFile = std::size_t{8} << 20;
  // Reads what is there. An empty folder name: decisions live as long as this object.
  TuningStore(std::filesystem::path folder, TuningDevice device);

  const Decision* find(const std::string& key) const;
  // The decision of the nearest class that may stand for this one (class_distance), or null.
  const Decision* nearest(const std::string& key) const;
  // Replaces one of the same key.
  void add(Decision decision);
  // Merges what was added with what other processes wrote meanwhile. False if nothing could be written.
  bool save();

  const std::vector<Decision>& decisions() const { return decisions_; }  // oldest first
  const TuningDevice& device() const { return device_; }
  std::filesystem::path file() const;  // empty without a folder

 private:
  void insert(Decision decision);
  std::filesystem::path folder_;
  TuningDevice device_;
  std::vector<Decision> decisions_;
  std::map<std::string, std::size_t> by_key_;
  std::map<std::string, std::vector<std::size_t>> by_form_;
  std::vector<std::string> added_;
};

// Of a file, whatever device it is of: for a list. Empty if it is none.
std::vector<Decision> read_tuning_file(const std::filesystem::path& file, const TuningDevice& device);

// tuning/ in the user's cache folder; empty if there is none.
std::filesystem::path user_tuning_folder();

}  // namespace tilewright::ops
