#include "hub/safetensors/header.h"

#include <gtest/gtest.h>

#include "safetensors/scratch.h"

namespace tilewright::hub {
namespace {

SafetensorsHeader read(const std::string& file) {
  return read_safetensors_header(std::as_bytes(std::span(file.data(), file.size())), "m.safetensors");
}

std::string tensor(const std::string& name, const std::string& dtype, const std::string& shape,
                   const std::string& offsets) {
  return "\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":" + shape + ",\"data_offsets\":" + offsets + "}";
}

TEST(SafetensorsHeader, ReadsEntriesInTheOrderOfTheirBytes) {
  const auto header = read(
      safetensors_bytes(" {\"__metadata__\":{\"format\":\"pt\"}," + tensor("z", "F32", "[2]", "[0, 8]") + ",\n" +
                            tensor("a", "BF16", "[1,2]", "[8,12]") + "," + tensor("none", "F32", "[0,7]", "[12,12]") +
                            "," + tensor("scalar", "U8", "[]", "[12,13]") + "}  ",
                        13));
  ASSERT_EQ(header.entries.size(), 4u);
  EXPECT_EQ(header.entries[0].name, "z");
  EXPECT_EQ(header.entries[1].name, "a");
  EXPECT_EQ(header.entries[1].end - header.entries[1].begin, 4u);
  EXPECT_EQ(header.entries[3].shape.size(), 0u);
  EXPECT_EQ(header.metadata.at("format"), "pt");
}

TEST(SafetensorsHeader, AcceptsWhatTheReferenceAccepts) {
  EXPECT_EQ(read(safetensors_bytes("{}", 0)).entries.size(), 0u);
  EXPECT_EQ(read(safetensors_bytes("{\"__metadata__\":null}", 0)).entries.size(), 0u);
  // Unknown fields are passed over, whatever they hold; escapes become the characters they stand for.
  const auto header = read(safetensors_bytes(
      R"({"\u00e9\ud83d\ude00\n":{"new":[{"a":[1.5e-3,-2,true,null,"]"]}],"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
      1));
  EXPECT_EQ(header.entries.at(0).name, "é😀\n");
}

struct Refused {
  std::string error, header;
  std::size_t data;
};
class SafetensorsHeaderRefuses : public testing::TestWithParam<Refused> {};
TEST_P(SafetensorsHeaderRefuses, WithTheReferencesName) {
  const Refused& c = GetParam();
  const std::string message = message_of([&] { read(safetensors_bytes(c.header, c.data)); });
  EXPECT_TRUE(message.starts_with("m.safetensors")) << message;
  EXPECT_NE(message.find(": " + c.error + ":"), std::string::npos) << message;
  EXPECT_NE(message.find("fix: "), std::string::npos) << message;
}
const std::string kJson = "InvalidHeaderDeserialization";
INSTANTIATE_TEST_SUITE_P(
    All, SafetensorsHeaderRefuses,
    testing::Values(
        Refused{"InvalidHeader", "{\"\xff\":1}", 0}, Refused{"InvalidHeader", "{\"\xed\xa0\x80\":1}", 0},
        Refused{"InvalidHeader", "{\"\xc0\xaf\":1}", 0}, Refused{kJson, "", 0}, Refused{kJson, "[]", 0},
        Refused{kJson, "{", 0}, Refused{kJson, "{}x", 0}, Refused{kJson, "{\"a\":1}", 0},
        Refused{kJson, "{\"a\":null}", 0}, Refused{kJson, "{\"__metadata__\":{\"a\":1}}", 0},
        Refused{kJson, "{\"__metadata__\":[]}", 0}, Refused{kJson, "{\"__metadata__\":{\"a\":\"1\",\"a\":\"2\"}}", 0},
        Refused{kJson, "{\"__metadata__\":{},\"__metadata__\":{}}", 0},
        Refused{kJson, "{" + tensor("a", "F33", "[1]", "[0,4]") + "}", 4},
        Refused{kJson, "{" + tensor("a", "F32", "[-1]", "[0,4]") + "}", 4},
        Refused{kJson, "{" + tensor("a", "F32", "[1.0]", "[0,4]") + "}", 4},
        Refused{kJson, "{" + tensor("a", "F32", "[1e0]", "[0,4]") + "}", 4},
        Refused{kJson, "{" + tensor("a", "F32", "[01]", "[0,4]") + "}", 4},
        Refused{kJson, "{" + tensor("a", "F32", "[1]", "[0]") + "}", 4},
        Refused{kJson, "{" + tensor("a", "F32", "[1]", "[0,4,4]") + "}", 4},
        Refused{kJson, "{" + tensor("a", "F32", "[1]", "[0,99999999999999999999]") + "}", 4},
        Refused{kJson, "{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}", 4},
        Refused{kJson, "{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4},
        Refused{kJson, "{" + tensor("a", "F32", "[1]", "[0,4]") + "," + tensor("a", "F32", "[1]", "[4,8]") + "}", 8},
        Refused{kJson, "{" + tensor("a", "F32", "[1]", "[0,4]") + "," + tensor("\\u0061", "F32", "[1]", "[4,8]") + "}",
                8},
        Refused{kJson, "{\"a\":{\"x\":" + std::string(100000, '[') + "}}", 0}, Refused{kJson, "{\"\\ud800\":{}}", 0},
        Refused{"InvalidOffset", "{" + tensor("a", "F32", "[1]", "[4,8]") + "}", 8},
        Refused{"InvalidOffset",
                "{" + tensor("a", "F32", "[1]", "[0,4]") + "," + tensor("b", "F32", "[1]", "[2,6]") + "}", 6},
        Refused{"InvalidOffset",
                "{" + tensor("a", "F32", "[1]", "[0,4]") + "," + tensor("b", "F32", "[1]", "[5,9]") + "}", 9},
        Refused{"InvalidOffset",
                "{" + tensor("a", "U8", "[0]", "[0,0]") + "," + tensor("b", "F32", "[1]", "[0,4]") + "," +
                    tensor("c", "F32", "[1]", "[4,0]") + "}",
                4},
        Refused{"ValidationOverflow", "{" + tensor("a", "F32", "[4294967296,4294967296]", "[0,4]") + "}", 4},
        Refused{"ValidationOverflow", "{" + tensor("a", "F32", "[1152921504606846976]", "[0,4]") + "}", 4},
        Refused{"MisalignedSlice", "{" + tensor("a", "F4", "[3]", "[0,2]") + "}", 2},
        Refused{"TensorInvalidInfo", "{" + tensor("a", "F32", "[2]", "[0,4]") + "}", 4},
        Refused{"TensorInvalidInfo", "{" + tensor("a", "F16", "[1]", "[0,4]") + "}", 4},
        Refused{"MetadataIncompleteBuffer", "{" + tensor("a", "F32", "[1]", "[0,4]") + "}", 3},
        Refused{"MetadataIncompleteBuffer", "{" + tensor("a", "F32", "[1]", "[0,4]") + "}", 5},
        Refused{"MetadataIncompleteBuffer", "{}", 1}));

TEST(SafetensorsHeader, RefusesLyingLengths) {
  expect_message("HeaderTooSmall", [] { read(""); });
  expect_message("HeaderTooSmall", [] { read("1234567"); });
  expect_message("HeaderTooLarge", [] { read(with_length(100'000'001, "{}")); });
  expect_message("HeaderTooLarge", [] { read(with_length(~0ull, "{}")); });
  expect_message("InvalidHeaderLength", [] { read(with_length(3, "{}")); });
}

// A file cut anywhere is refused, never read past its end (the sanitizer run watches).
TEST(SafetensorsHeader, RefusesEveryTruncation) {
  const std::string whole =
      safetensors_bytes("{\"__metadata__\":{\"k\":\"v\"}," + tensor("a\\n", "F32", "[2,3]", "[0,24]") + "}", 24);
  EXPECT_NO_THROW(read(whole));
  for (std::size_t n = 0; n < whole.size(); ++n) EXPECT_THROW(read(whole.substr(0, n)), Error) << n;
}

// A byte flipped anywhere in the header gives an Error or entries inside the file.
TEST(SafetensorsHeader, SurvivesEveryFlippedByte) {
  const std::string whole = safetensors_bytes("{" + tensor("a", "F32", "[2,3]", "[0,24]") + "}", 24);
  for (std::size_t i = 0; i + 24 < whole.size(); ++i)
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = whole;
      changed[i] = static_cast<char>(changed[i] ^ (1 << bit));
      try {
        for (const auto& entry : read(changed).entries) EXPECT_LE(entry.end, changed.size());
      } catch (const Error&) {
      }
    }
}

}  // namespace
}  // namespace tilewright::hub
