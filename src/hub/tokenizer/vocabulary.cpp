#include "hub/tokenizer/vocabulary.h"

#include <bit>
#include <cstring>

namespace tilewright::hub {
namespace {

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  const unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

}  // namespace

std::uint64_t hash_bytes(std::string_view bytes) {
  constexpr std::uint64_t k0 = 0x9E3779B97F4A7C15u, k1 = 0xD6E8FEB86659FD93u;
  std::uint64_t h = bytes.size() * k1 + k0;
  const char* p = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 8; left -= 8, p += 8) {
    std::uint64_t word;
    std::memcpy(&word, p, 8);
    h = mix(h ^ word, k0);
  }
  std::uint64_t word = 0;
  if (left > 0) std::memcpy(&word, p, left);
  return mix(h ^ word, k1);
}

void Vocabulary::reserve(std::size_t tokens, std::size_t bytes) {
  bytes_.reserve(bytes);
  entries_.reserve(tokens);
  if (slots_.size() < 2 * tokens) grow(std::bit_ceil(2 * tokens + 16));
}

void Vocabulary::grow(std::size_t slots) {
  slots_.assign(slots, Slot{});
  for (std::int32_t id = 0; id < id_end(); ++id) {
    if (!has(id)) continue;
    const std::uint64_t h = hash_bytes(token(id));
    std::size_t at = h & (slots - 1);
    while (slots_[at].id >= 0) at = (at + 1) & (slots - 1);
    slots_[at] = {static_cast<std::uint32_t>(h >> 32), id};
  }
}

bool Vocabulary::add(std::string_view token, std::int32_t id) {
  if (has(id) || find(token) >= 0) return false;
  if (2 * (count_ + 1) > slots_.size()) grow(std::bit_ceil(4 * count_ + 16));
  if (id >= id_end()) entries_.resize(static_cast<std::size_t>(id) + 1);
  entries_[id] = {static_cast<std::uint32_t>(bytes_.size()), static_cast<std::uint32_t>(token.size())};
  bytes_ += token;
  const std::uint64_t h = hash_bytes(token);
  std::size_t at = h & (slots_.size() - 1);
  while (slots_[at].id >= 0) at = (at + 1) & (slots_.size() - 1);
  slots_[at] = {static_cast<std::uint32_t>(h >> 32), id};
  ++count_;
  return true;
}

std::int32_t Vocabulary::find(std::string_view token) const {
  if (slots_.empty()) return -1;
  const std::uint64_t h = hash_bytes(token);
  const auto tag = static_cast<std::uint32_t>(h >> 32);
  for (std::size_t at = h & (slots_.size() - 1);; at = (at + 1) & (slots_.size() - 1)) {
    const Slot slot = slots_[at];
    if (slot.id < 0) return -1;
    if (slot.tag == tag && this->token(slot.id) == token) return slot.id;
  }
}

}  // namespace tilewright::hub
