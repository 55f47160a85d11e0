#include "tile/binary/relocation.h"

#include <elf.h>

#include <cstring>
#include <limits>

namespace tilewright::tile {
namespace {

const char* const kOutside = "a relocation outside the code";
const char* const kTooFar = "a distance that does not fit its instruction";

template <typename T>
bool inside(std::span<std::byte> block, std::uint64_t place) {
  return place <= block.size() && sizeof(T) <= block.size() - place;
}
template <typename T>
std::string store(std::span<std::byte> block, std::uint64_t place, std::int64_t value) {
  if (!inside<T>(block, place)) return kOutside;
  if (value < std::numeric_limits<T>::min() || value > std::numeric_limits<T>::max()) return kTooFar;
  const auto narrow = static_cast<T>(value);
  std::memcpy(block.data() + place, &narrow, sizeof narrow);
  return {};
}

std::int64_t page(std::int64_t address) { return address & ~std::int64_t{0xfff}; }

// Puts `bits` bits of `value` at bit `at` of the instruction.
std::string set_bits(std::span<std::byte> block, std::uint64_t place, int at, int bits, std::int64_t value) {
  if (!inside<std::uint32_t>(block, place)) return kOutside;
  std::uint32_t word = 0;
  std::memcpy(&word, block.data() + place, sizeof word);
  const std::uint32_t mask = (std::uint32_t{1} << bits) - 1;
  word = (word & ~(mask << at)) | (static_cast<std::uint32_t>(value) & mask) << at;
  std::memcpy(block.data() + place, &word, sizeof word);
  return {};
}

// An offset in words of `bits` bits, as branches have it.
std::string set_branch(std::span<std::byte> block, std::uint64_t place, int at, int bits, std::int64_t distance) {
  const std::int64_t reach = std::int64_t{1} << (bits + 1);
  if (distance % 4 != 0 || distance < -reach || distance >= reach) return kTooFar;
  return set_bits(block, place, at, bits, distance >> 2);
}

std::string set_page_distance(std::span<std::byte> block, std::uint64_t place, std::int64_t value) {
  if (value < -(std::int64_t{1} << 20) || value >= std::int64_t{1} << 20) return kTooFar;
  const std::string problem = set_bits(block, place, 29, 2, value);
  return problem.empty() ? set_bits(block, place, 5, 19, value >> 2) : problem;
}

// No block is that large: sums of these do not overflow.
bool sane(const Patch& p) {
  constexpr std::int64_t kReach = std::int64_t{1} << 40;
  const auto within = [](std::int64_t value) { return value > -kReach && value < kReach; };
  return p.place < std::uint64_t{kReach} && within(p.target) && within(p.addend);
}

}  // namespace

std::string patch_x86_64(std::span<std::byte> block, const Patch& p) {
  if (!sane(p)) return kTooFar;
  const std::int64_t distance = p.target + p.addend - static_cast<std::int64_t>(p.place);
  switch (p.type) {
    case R_X86_64_NONE:
      return {};
    case R_X86_64_PC32:
    case R_X86_64_PLT32:  // every function is inside, so no table stands between
      return store<std::int32_t>(block, p.place, distance);
    case R_X86_64_PC64:
      return store<std::int64_t>(block, p.place, distance);
    case R_X86_64_GOTPCRELX:
    case R_X86_64_REX_GOTPCRELX: {
      // mov reg, [rip + entry] becomes lea reg, [rip + target]: there is no table of addresses.
      if (p.place < 2 || !inside<std::int32_t>(block, p.place)) return kOutside;
      std::byte& opcode = block[p.place - 2];
      if (opcode != std::byte{0x8b}) return "an address from a table by an instruction other than mov";
      opcode = std::byte{0x8d};
      return store<std::int32_t>(block, p.place, distance);
    }
    default:
      return "a relocation that depends on where the code lies";
  }
}

std::string patch_aarch64(std::span<std::byte> block, const Patch& p) {
  if (!sane(p)) return kTooFar;
  const std::int64_t value = p.target + p.addend;
  const auto place = static_cast<std::int64_t>(p.place);
  const auto low = [&](int shift) {
    if ((value & 0xfff) % (std::int64_t{1} << shift) != 0) return std::string(kTooFar);
    return set_bits(block, p.place, 10, 12, (value & 0xfff) >> shift);
  };
  switch (p.type) {
    case R_AARCH64_NONE:
      return {};
    case R_AARCH64_PREL32:
      return store<std::int32_t>(block, p.place, value - place);
    case R_AARCH64_PREL64:
      return store<std::int64_t>(block, p.place, value - place);
    case R_AARCH64_ADR_PREL_LO21:
      return set_page_distance(block, p.place, value - place);
    case R_AARCH64_ADR_PREL_PG_HI21:
      return set_page_distance(block, p.place, (page(value) - page(place)) >> 12);
    case R_AARCH64_ADD_ABS_LO12_NC:
    case R_AARCH64_LDST8_ABS_LO12_NC:
      return low(0);
    case R_AARCH64_LDST16_ABS_LO12_NC:
      return low(1);
    case R_AARCH64_LDST32_ABS_LO12_NC:
      return low(2);
    case R_AARCH64_LDST64_ABS_LO12_NC:
      return low(3);
    case R_AARCH64_LDST128_ABS_LO12_NC:
      return low(4);
    case R_AARCH64_CALL26:
    case R_AARCH64_JUMP26:
      return set_branch(block, p.place, 0, 26, value - place);
    case R_AARCH64_CONDBR19:
    case R_AARCH64_LD_PREL_LO19:
      return set_branch(block, p.place, 5, 19, value - place);
    case R_AARCH64_TSTBR14:
      return set_branch(block, p.place, 5, 14, value - place);
    default:
      return "a relocation that depends on where the code lies";
  }
}

}  // namespace tilewright::tile
