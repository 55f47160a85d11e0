// The weights of a model directory: one safetensors file or the shards that an index names.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "hub/safetensors/safetensors_file.h"

namespace tilewright::hub {

class Checkpoint {
 public:
  // Opens, in this order: `model_dir` itself if it is a .safetensors file; model.safetensors; the shards of
  // model.safetensors.index.json; the only *.safetensors in the directory. The index is checked against its shards:
  // Error for a shard that is absent, whose path leaves the directory, or that lacks a tensor the index promises.
  static Checkpoint open(const std::filesystem::path& model_dir);

  // As SafetensorsFile's, over all shards; O(1).
  const TensorView* find(std::string_view name) const;
  const TensorView& get(std::string_view name) const;
  bool contains(std::string_view name) const;
  std::span<const TensorView* const> tensors() const& {
    return tensors_;
  }                                                               // shard by shard, in the order of their bytes
  std::span<const TensorView* const> tensors() const&& = delete;  // would outlive what it shows
  std::uint64_t total_bytes() const { return total_bytes_; }      // of the tensors, headers not counted
  const std::deque<SafetensorsFile>& files() const { return files_; }
  // What a user may want to know and what is no error: tensors in a shard that the index does not name (they are left
  // out).
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  void add_whole_file(const std::filesystem::path& path);
  void add_shards(const std::filesystem::path& directory, const std::filesystem::path& index);
  void list(const TensorView& view);

  std::filesystem::path where_;
  std::deque<SafetensorsFile> files_;
  std::deque<std::string> names_;  // owns the keys below
  std::unordered_map<std::string_view, const SafetensorsFile*> shard_of_;
  std::vector<const TensorView*> tensors_;
  std::uint64_t total_bytes_ = 0;
  std::vector<std::string> notes_;
};

}  // namespace tilewright::hub
