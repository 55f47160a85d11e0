#include "hub/gguf/dequantize.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <vector>

#include "hub/safetensors/safetensors_file.h"

namespace tilewright::hub {
namespace {

// tools/make_gguf_fixtures.py made blocks of random bits and scales of every size; the values are the `gguf` package's,
// and ours are the same sums and products in the same order, so they must be equal bit by bit.
class Dequantize : public testing::TestWithParam<const char*> {};
TEST_P(Dequantize, EqualsTheReferenceBitByBit) {
  const auto file =
      SafetensorsFile::open(std::filesystem::path(TILEWRIGHT_SOURCE_DIR) / "tests/gguf/fixtures/blocks.safetensors");
  const TensorView& blocks = file.get(std::string(GetParam()) + ".blocks");
  const TensorView& values = file.get(std::string(GetParam()) + ".values");
  const GgufTypeInfo* info = nullptr;
  for (std::uint32_t type = 0; type < 40; ++type)
    if (gguf_type(type) && std::string(gguf_type(type)->name) == GetParam()) info = gguf_type(type);
  ASSERT_TRUE(info && info->dequantize);
  const std::size_t count = blocks.bytes.size() / info->block_bytes;
  ASSERT_EQ(count * info->block_elements * 4, values.bytes.size());
  std::vector<float> out(count * info->block_elements);
  info->dequantize(blocks.bytes.data(), count, out.data());
  EXPECT_EQ(std::memcmp(out.data(), values.bytes.data(), values.bytes.size()), 0);
}
INSTANTIATE_TEST_SUITE_P(Types, Dequantize,
                         testing::Values("Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q4_K", "Q5_K", "Q6_K"),
                         [](const auto& info) { return std::string(info.param); });

TEST(GgufTypes, AreNamedEvenIfTheyCannotBeRead) {
  EXPECT_EQ(gguf_type_name(3), "Q4_1");
  EXPECT_EQ(gguf_type_name(10), "Q2_K");
  EXPECT_EQ(gguf_type_name(99), "type 99");
  EXPECT_EQ(readable_gguf_types(), "F32, F16, BF16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q4_K, Q5_K, Q6_K");
}

}  // namespace
}  // namespace tilewright::hub
