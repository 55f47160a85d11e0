#include "hub/gguf/gguf_file.h"

#include <gtest/gtest.h>

#include <limits>

#include "gguf/gguf_builder.h"
#include "safetensors/scratch.h"

namespace tilewright::hub {
namespace {

using B = GgufBuilder;

GgufContent parse(const std::string& file) {
  return GgufContent::parse(std::as_bytes(std::span(file.data(), file.size())), "m.gguf");
}
void refused(const std::string& message, const std::string& file) {
  const std::string got = message_of([&] { parse(file); });
  EXPECT_NE(got.find(message), std::string::npos) << "wanted: " << message << "\ngot: " << got;
  EXPECT_TRUE(got.starts_with("m.gguf: ")) << got;
  EXPECT_NE(got.find("fix: "), std::string::npos) << got;
}

std::string every_kind() {
  B b;
  b.pair("u8", GgufKind::u8, B::raw<std::uint8_t>(200)).pair("i8", GgufKind::i8, B::raw<std::int8_t>(-2));
  b.pair("u16", GgufKind::u16, B::raw<std::uint16_t>(60000)).pair("i16", GgufKind::i16, B::raw<std::int16_t>(-300));
  b.u32("u32", 4'000'000'000u).pair("i32", GgufKind::i32, B::raw<std::int32_t>(-70000)).f32("f32", 1e-5f);
  b.flag("yes", true).text("text", "héllo").texts("words", {"a", "", "b c"}).i32s("kinds", {1, -1});
  b.pair("u64", GgufKind::u64, B::raw<std::uint64_t>(1ull << 40)).pair("i64", GgufKind::i64, B::raw<std::int64_t>(-1));
  b.pair("f64", GgufKind::f64, B::raw(0.1)).pair("huge", GgufKind::u64, B::raw(~std::uint64_t{0}));
  b.array("scores", GgufKind::f32, 2, B::f32s({0.5f, -1}));
  b.f32_tensor("a", {2, 3}, {1, 2, 3, 4, 5, 6})
      .tensor("b", {32}, 3, std::string(20, '\1'))
      .f32_tensor("scalar", {}, {7});
  return b.bytes();
}

TEST(GgufFile, ReadsEveryKindOfValue) {
  const std::string file = every_kind();
  const GgufContent gguf = parse(file);
  EXPECT_EQ(gguf.integer("u8"), 200);
  EXPECT_EQ(gguf.integer("i8"), -2);
  EXPECT_EQ(gguf.integer("u16"), 60000);
  EXPECT_EQ(gguf.integer("i16"), -300);
  EXPECT_EQ(gguf.integer("u32"), 4'000'000'000);
  EXPECT_EQ(gguf.integer("i32"), -70000);
  EXPECT_EQ(gguf.integer("u64"), std::int64_t{1} << 40);
  EXPECT_EQ(gguf.integer("i64"), -1);
  EXPECT_EQ(gguf.real("f32"), 1e-5);  // the shortest decimal, not the float's exact value
  EXPECT_EQ(gguf.real("f64"), 0.1);
  EXPECT_EQ(gguf.real("u8"), 200.0);
  EXPECT_EQ(gguf.boolean("yes"), true);
  EXPECT_EQ(gguf.text("text"), "héllo");
  EXPECT_EQ(gguf.texts("words"), (std::vector<std::string_view>{"a", "", "b c"}));
  EXPECT_EQ(gguf.integers("kinds"), (std::vector<std::int64_t>{1, -1}));
  EXPECT_EQ(gguf.reals("scores"), (std::vector<float>{0.5f, -1}));
  EXPECT_FALSE(gguf.integer("absent").has_value());
  for (const char* key : {"huge", "text", "kinds", "f32", "yes"})
    expect_message("not what it should be", [&] { gguf.integer(key); });
  expect_message("not what it should be", [&] { gguf.text("u8"); });
  expect_message("not what it should be", [&] { gguf.texts("kinds"); });
  expect_message("not what it should be", [&] { gguf.integers("words"); });
  expect_message("\"absent\" is missing", [&] { gguf.required_text("absent"); });
}

TEST(GgufFile, ReversesDimsAndFindsTheBytes) {
  const std::string file = every_kind();
  const GgufContent gguf = parse(file);
  ASSERT_NE(gguf.tensor("a"), nullptr);
  EXPECT_EQ(gguf.tensor("a")->shape, (Shape{2, 3}));
  EXPECT_EQ(gguf.tensor("a")->bytes.size(), 24u);
  EXPECT_EQ(gguf.tensor("b")->bytes.size(), 20u);
  EXPECT_EQ(gguf.tensor("b")->bytes[0], std::byte{1});
  EXPECT_EQ(gguf.tensor("scalar")->bytes.size(), 4u);
  EXPECT_EQ(gguf.tensor("c"), nullptr);
}

TEST(GgufFile, ReadsVersionTwoAndOtherAlignments) {
  B b;
  b.u32("general.alignment", 64).entry("a", {4}, 0, 64).data(std::string(64 + 32 + 16, '\2'));
  const std::string file = b.bytes(1, 1, 2);
  // The header ends at 90: the data begins at 128 and, with the default alignment, would begin at 96.
  EXPECT_EQ(parse(file).tensor("a")->bytes[0], std::byte{2});
  for (const std::uint32_t bad : {0u, 3u, 48u}) refused("no alignment", B().u32("general.alignment", bad).bytes());
  expect_message("not what it should be", [] { parse(B().text("general.alignment", "32").bytes()); });
  refused("misaligned", B().entry("a", {1}, 0, 16).data(std::string(64, '\0')).bytes());
}

TEST(GgufFile, RefusesWhatIsNoGguf) {
  refused("ends inside its magic number", "");
  refused("not a GGUF file", "GGML" + std::string(40, '\0'));
  refused("version", B().bytes(0, 0, 1));
  refused("version", B().bytes(0, 0, 4));
  refused("big-endian", B().bytes(0, 0, 0x03000000));
}

TEST(GgufFile, RefusesHostileCounts) {
  constexpr std::uint64_t kHuge = ~std::uint64_t{0};
  for (const std::uint64_t count : {kHuge, kHuge / 13 + 1, std::uint64_t{1} << 32, std::uint64_t{2}}) {
    refused("cannot hold as many tensors", B().bytes(count, 0));
    refused("cannot hold as many metadata entries", B().bytes(0, count));
  }
  for (const std::uint64_t count : {kHuge, std::uint64_t{1} << 62, std::uint64_t{100}}) {
    refused("elements in metadata \"k\"", B().array("k", GgufKind::u64, count, std::string(24, '\0')).bytes());
    refused("elements in metadata \"k\"", B().array("k", GgufKind::string, count, std::string(24, '\0')).bytes());
    refused("elements in metadata \"k\"", B().array("k", GgufKind::u8, count, "x").bytes());
    refused("ends inside metadata \"k\"", B().pair("k", GgufKind::string, B::raw(count) + "abc").bytes());
  }
  refused("ends inside a metadata key", "GGUF" + B::raw<std::uint32_t>(3) + B::raw<std::uint64_t>(0) +
                                            B::raw<std::uint64_t>(1) + B::raw(kHuge) + std::string(20, 'k'));
  refused("ends inside a tensor's name", "GGUF" + B::raw<std::uint32_t>(3) + B::raw<std::uint64_t>(1) +
                                             B::raw<std::uint64_t>(0) + B::raw(kHuge) + std::string(20, 'k'));
  refused("unknown kind", B().pair("k", static_cast<GgufKind>(13), "12345678").bytes());
  refused("array of arrays", B().array("k", GgufKind::array, 1, std::string(24, '\0')).bytes());
  refused("occurs twice", B().u32("k", 1).u32("k", 1).bytes());
}

TEST(GgufFile, RefusesImpossibleTensors) {
  const std::string data(256, '\0');
  refused("too many dims", B().entry("a", {1, 1, 1, 1, 1}, 0, 0).data(data).bytes());
  refused("impossibly large", B().entry("a", {~std::uint64_t{0}}, 0, 0).data(data).bytes());
  refused("impossibly large", B().entry("a", {1ull << 32, 1ull << 32}, 0, 0).data(data).bytes());
  refused("impossibly large", B().entry("a", {0, 1ull << 32, 1ull << 32}, 0, 0).data(data).bytes());
  refused("impossibly large", B().entry("a", {1ull << 62}, 0, 0).data(data).bytes());
  refused("beyond the end of the file", B().entry("a", {1ull << 50}, 0, 0).data(data).bytes());
  refused("beyond the end of the file", B().entry("a", {64}, 0, 32).data(data).bytes());
  refused("beyond the end of the file", B().entry("a", {1}, 0, 1ull << 63).data(data).bytes());
  refused("beyond the end of the file", B().entry("a", {0}, 0, 288).data(data).bytes());
  refused("beyond the end of the file", B().entry("a", {1}, 0, 0).bytes());
  refused("no whole blocks", B().entry("a", {2, 16}, 3, 0).data(data).bytes());
  refused("no whole blocks", B().entry("a", {}, 3, 0).data(data).bytes());
  refused("overlap", B().entry("a", {9}, 0, 0).entry("b", {1}, 0, 32).data(data).bytes());
  refused("overlap", B().entry("a", {1}, 0, 32).entry("b", {9}, 0, 32).data(data).bytes());
  refused("occurs twice", B().entry("a", {1}, 0, 0).entry("a", {1}, 0, 32).data(data).bytes());
}

// Cut anywhere, a file is refused and never read past its end (the sanitizer run watches); flipped bits are survived.
TEST(GgufFile, SurvivesTruncationAndFlippedBits) {
  const std::string whole = every_kind();
  for (std::size_t n = 0; n < whole.size(); ++n) EXPECT_THROW(parse(whole.substr(0, n)), Error) << n;
  for (std::size_t i = 0; i < whole.size(); ++i)
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = whole;
      changed[i] = static_cast<char>(changed[i] ^ (1 << bit));
      try {
        const GgufContent gguf = parse(changed);
        const auto* const end = reinterpret_cast<const std::byte*>(changed.data() + changed.size());
        for (const GgufTensor& tensor : gguf.tensors()) EXPECT_LE(tensor.bytes.data() + tensor.bytes.size(), end);
      } catch (const Error&) {
      }
    }
}

}  // namespace
}  // namespace tilewright::hub
