// Token ↔ id, for some hundred thousand tokens.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::hub {

std::uint64_t hash_bytes(std::string_view bytes);

class Vocabulary {
 public:
  static constexpr std::int32_t kLargestId =
      (1 << 21) - 1;  // ten times what is published; bounds what a hostile file costs

  void reserve(std::size_t tokens, std::size_t bytes);
  // False if the id (0 … kLargestId) is taken or the token is there already.
  bool add(std::string_view token, std::int32_t id);
  std::int32_t find(std::string_view token) const;  // −1 if absent
  bool has(std::int32_t id) const { return id >= 0 && id < id_end() && entries_[id].length != kNone; }
  std::string_view token(std::int32_t id) const {  // has(id)
    return {bytes_.data() + entries_[id].offset, entries_[id].length};
  }
  std::int32_t id_end() const { return static_cast<std::int32_t>(entries_.size()); }  // largest id + 1
  std::size_t count() const { return count_; }

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  struct Entry {
    std::uint32_t offset = 0, length = kNone;
  };
  struct Slot {
    std::uint32_t tag = 0;
    std::int32_t id = -1;
  };
  void grow(std::size_t slots);
  std::string bytes_;
  std::vector<Entry> entries_;
  std::vector<Slot> slots_;
  std::size_t count_ = 0;
};

}  // namespace tilewright::hub
