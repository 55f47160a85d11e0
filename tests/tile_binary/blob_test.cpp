// Object files become code that runs wherever it lies, or an error.
#include "tile/binary/blob.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>

#include "base/error.h"
#include "base/mapped_file.h"
#include "tile/binary/executable_memory.h"
#include "tile/binary/relocation.h"

namespace tilewright::tile {
namespace {

std::vector<std::byte> object(const char* file) {
  const MappedFile mapped((std::filesystem::path(file)));
  return {mapped.bytes().begin(), mapped.bytes().end()};
}
std::string refusal(std::span<const std::byte> bytes) {
  try {
    blob_from_object(bytes);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

float expected(float x, std::int64_t how) {
  const float y = float(1 << (int(x) & 7)) + 0.125f;
  return how == 0 ? y + 1.5f : how == 1 ? y * 2.75f : how == 2 ? y - 3.25f : how == 3 ? -y : how == 4 ? y * y : y;
}

TEST(Blob, RunsWhereverItIsMapped) {
  const Blob blob = blob_from_object(object(TILE_OBJECT_kernel));
  std::vector<ExecutableCode> copies;  // at different addresses at once
  for (int i = 0; i < 3; ++i) copies.emplace_back(blob);
  for (const ExecutableCode& code : copies)
    for (std::int64_t how = 0; how < 6; ++how) {
      float x[20], y[20] = {};
      for (int i = 0; i < 20; ++i) x[i] = float(i);
      void* tensors[] = {x, y};
      const std::int64_t values[] = {20, how};
      ASSERT_EQ(code.blocks()(values), 20);
      code.run()(tensors, values, 3, 18);
      for (int i = 0; i < 20; ++i) EXPECT_EQ(y[i], i < 3 || i >= 18 ? 0 : expected(x[i], how)) << how << " " << i;
    }
}

TEST(Blob, CannotBeWrittenWhileItCanRun) {
  const ExecutableCode code(blob_from_object(object(TILE_OBJECT_kernel)));
  EXPECT_DEATH(*reinterpret_cast<volatile char*>(code.run()) = 0, "");
}

TEST(Blob, RefusesWhatKernelsMustNotHave) {
  EXPECT_NE(refusal(object(TILE_OBJECT_outside)).find("something outside itself\n  found cosf"), std::string::npos)
      << refusal(object(TILE_OBJECT_outside));
  EXPECT_NE(refusal(object(TILE_OBJECT_writes)).find("no writable data"), std::string::npos)
      << refusal(object(TILE_OBJECT_writes));
  std::vector<std::byte> none(100);
  EXPECT_NE(refusal(none).find("not a relocatable"), std::string::npos);
}

// Every prefix, and every byte of headers changed: an Error or a blob, never a fault.
TEST(Blob, SurvivesDamagedObjects) {
  const std::vector<std::byte> whole = object(TILE_OBJECT_kernel);
  for (std::size_t size = 0; size < whole.size(); size += 7) refusal(std::span(whole).first(size));
  for (std::size_t at = 0; at < whole.size(); ++at)
    for (const std::uint8_t value : {0x00, 0x7f, 0xff}) {
      std::vector<std::byte> damaged = whole;
      damaged[at] = std::byte{value};
      refusal(damaged);
    }
}

std::uint32_t patched(std::uint32_t instruction, const Patch& patch) {
  std::vector<std::byte> block(patch.place + 4);
  std::memcpy(block.data() + patch.place, &instruction, 4);
  EXPECT_EQ(patch_aarch64(block, patch), "");
  std::memcpy(&instruction, block.data() + patch.place, 4);
  return instruction;
}

// Encodings of the Arm architecture reference manual, as an assembler writes them for these distances.
TEST(Relocation, OfAarch64FillsTheFieldsOfInstructions) {
  EXPECT_EQ(patched(0x94000000, {0x100, 0x180, 0, R_AARCH64_CALL26}), 0x94000020u);            // bl +0x80
  EXPECT_EQ(patched(0x14000000, {0x100, 0x0, 0, R_AARCH64_JUMP26}), 0x17ffffc0u);              // b -0x100
  EXPECT_EQ(patched(0x90000000, {0x10, 0x3010, 0, R_AARCH64_ADR_PREL_PG_HI21}), 0xf0000000u);  // adrp x0, +3 pages
  EXPECT_EQ(patched(0x90000000, {0x10, 0x4010, 0, R_AARCH64_ADR_PREL_PG_HI21}), 0x90000020u);  // adrp x0, +4 pages
  EXPECT_EQ(patched(0x91000000, {0, 0x3ab4, 4, R_AARCH64_ADD_ABS_LO12_NC}), 0x912ae000u);      // add x0, x0, #0xab8
  EXPECT_EQ(patched(0x3dc00000, {0, 0x1230, 0, R_AARCH64_LDST128_ABS_LO12_NC}), 0x3dc08c00u);  // ldr q0, [x0, #0x230]
  EXPECT_EQ(patched(0xbd400000, {0, 0x1234, 0, R_AARCH64_LDST32_ABS_LO12_NC}), 0xbd423400u);   // ldr s0, [x0, #0x234]
  EXPECT_EQ(patched(0x10000000, {0x8, 0x108, 1, R_AARCH64_ADR_PREL_LO21}), 0x30000800u);       // adr x0, +0x101
  EXPECT_EQ(patched(0x54000000, {0x40, 0x20, 0, R_AARCH64_CONDBR19}), 0x54ffff00u);            // b.eq -0x20
}

TEST(Relocation, RefusesWhatDoesNotFit) {
  std::vector<std::byte> block(64);
  EXPECT_NE(patch_aarch64(block, {0, 2, 0, R_AARCH64_CALL26}), "");               // no whole word
  EXPECT_NE(patch_aarch64(block, {0, 1ll << 28, 0, R_AARCH64_CALL26}), "");       // too far
  EXPECT_NE(patch_aarch64(block, {0, 8, 0, R_AARCH64_LDST128_ABS_LO12_NC}), "");  // not aligned
  EXPECT_NE(patch_aarch64(block, {62, 0, 0, R_AARCH64_CALL26}), "");              // outside
  EXPECT_NE(patch_aarch64(block, {0, 0, 0, R_AARCH64_ABS64}), "");
  EXPECT_NE(patch_x86_64(block, {0, 0, 0, R_X86_64_64}), "");
  EXPECT_NE(patch_x86_64(block, {0, 1ll << 32, 0, R_X86_64_PC32}), "");
  EXPECT_NE(patch_x86_64(block, {61, 0, 0, R_X86_64_PC32}), "");
  EXPECT_NE(patch_x86_64(block, {~0ull, 0, 0, R_X86_64_PC32}), "");
  EXPECT_NE(patch_x86_64(block, {1, 0, 0, R_X86_64_REX_GOTPCRELX}), "");
}

TEST(Relocation, OfATableOfAddressesBecomesTheAddress) {
  std::vector<std::byte> block(16);
  block[1] = std::byte{0x8b};  // mov eax, [rip + …]
  EXPECT_EQ(patch_x86_64(block, {3, 11, -4, R_X86_64_GOTPCRELX}), "");
  EXPECT_EQ(block[1], std::byte{0x8d});  // lea
  EXPECT_EQ(block[3], std::byte{4});
}

}  // namespace
}  // namespace tilewright::tile
