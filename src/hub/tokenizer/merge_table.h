// Which two tokens merge, when, and into what: pair of ids → (rank, product).
#pragma once

#include <cstdint>
#include <vector>

namespace tilewright::hub {

class MergeTable {
 public:
  static constexpr std::uint32_t kNever = ~std::uint32_t{0};
  struct Merge {
    std::uint32_t rank = kNever;
    std::int32_t product = -1;
  };

  void reserve(std::size_t merges) {
    std::size_t slots = 16;
    while (slots < 2 * merges + 1) slots *= 2;
    slots_.assign(slots, Slot{});
  }
  // A later merge of the same pair replaces the earlier one. At most the reserved number.
  void add(std::int32_t left, std::int32_t right, Merge merge) {
    Slot& slot = slots_[place(key_of(left, right))];
    slot = {key_of(left, right), merge};
  }
  Merge find(std::int32_t left, std::int32_t right) const { return slots_[place(key_of(left, right))].merge; }

 private:
  struct Slot {
    std::uint64_t key = ~std::uint64_t{0};
    Merge merge = {};
  };
  static std::uint64_t key_of(std::int32_t left, std::int32_t right) {
    return std::uint64_t{static_cast<std::uint32_t>(left)} << 32 | static_cast<std::uint32_t>(right);
  }
  std::size_t place(std::uint64_t key) const {
    const std::size_t mask = slots_.size() - 1;
    std::uint64_t h = key * 0x9E3779B97F4A7C15u;
    h ^= h >> 32;
    std::size_t at = h & mask;
    while (slots_[at].key != key && slots_[at].key != ~std::uint64_t{0}) at = (at + 1) & mask;
    return at;
  }
  std::vector<Slot> slots_ = std::vector<Slot>(16);
};

}  // namespace tilewright::hub
