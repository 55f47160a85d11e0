// Which two tokens merge, when, and into what: pair of ids → rank → product. The heart of encoding: one 8-byte slot a
// pair, so that the table of a vocabulary of 150,000 tokens stays within 2 MB.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

namespace tilewright::hub {

class MergeTable {
 public:
  static constexpr int kIdBits = 21, kRankBits = 22;
  static constexpr std::uint32_t kNever = (1u << kRankBits) - 1;  // the rank of a pair that does not merge
  static constexpr std::size_t kMaxMerges = kNever;

  void reserve(std::size_t merges) {
    slots_.assign(std::bit_ceil(merges + merges / 2 + 2), kEmpty);
    products_.reserve(merges);
  }
  // The next rank. A later merge of the same pair replaces the earlier one. At most the reserved number; ids below
  // 2^21.
  void add(std::int32_t left, std::int32_t right, std::int32_t product) {
    const std::uint64_t key = key_of(left, right);
    slots_[place(key)] = key << kRankBits | products_.size();
    products_.push_back(product);
  }
  std::uint32_t rank(std::int32_t left, std::int32_t right) const {
    return static_cast<std::uint32_t>(slots_[place(key_of(left, right))]) & kNever;
  }
  std::int32_t product(std::uint32_t rank) const { return products_[rank]; }

 private:
  static constexpr std::uint64_t kEmpty = ~std::uint64_t{0};  // no pair has it: its rank would be kNever
  static std::uint64_t key_of(std::int32_t left, std::int32_t right) {
    return std::uint64_t{static_cast<std::uint32_t>(left)} << kIdBits | static_cast<std::uint32_t>(right);
  }
  std::size_t place(std::uint64_t key) const {
    const std::size_t mask = slots_.size() - 1;
    const std::uint64_t h = key * 0x9E3779B97F4A7C15u;
    std::size_t at = (h >> 32) & mask;
    while (slots_[at] >> kRankBits != key && slots_[at] != kEmpty) at = (at + 1) & mask;
    return at;
  }
  std::vector<std::uint64_t> slots_ = std::vector<std::uint64_t>(2, kEmpty);
  std::vector<std::int32_t> products_;  // by rank
};

}  // namespace tilewright::hub
