#include "target/description.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/json.h"
#include "target/description_texts.h"

namespace tilewright::target {
namespace {

TEST(Description, EveryBuiltInOneReadsAndAgreesWithItself) {
  ASSERT_FALSE(description_names().empty());
  for (const std::string& name : description_names()) {
    SCOPED_TRACE(name);
    const Description d = description(name);
    EXPECT_EQ(d.name, name);
    EXPECT_EQ(d.vector_cores.value, 2 * d.matrix_cores.value);
    // 8192 flops a cycle and matrix core; 64 f32 elements a cycle and vector core, two flops each.
    EXPECT_NEAR(d.matrix_f16_flops.value / (d.matrix_cores.value * d.clock_hz.value * 8192), 1, 0.01);
    EXPECT_NEAR(d.vector_f32_flops.value / (d.vector_cores.value * d.clock_hz.value * d.vector_f32_per_cycle.value * 2),
                1, 0.01);
    EXPECT_LE(d.l0a_bytes.value, d.l1_bytes.value);
    EXPECT_GT(d.l2_bandwidth.value, d.memory_bandwidth.value);
    EXPECT_EQ(d.matrix_f16_seconds(d.matrix_f16_flops.value, 0), 1);
    EXPECT_EQ(d.vector_f32_seconds(0, d.memory_bandwidth.value * 2), 2);
  }
}

TEST(Description, UnknownNameListsTheKnownOnes) {
  try {
    description("910z");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("910b2"), std::string::npos) << error.what();
  }
}

TEST(Description, RefusesMissingUnknownAndSourcelessFields) {
  const Json good = parse_json(description_texts().front().json, "test");
  EXPECT_NO_THROW(parse_description("x", good.dump()));
  for (const auto& [key, value] : good.items()) {
    Json without = good;
    without.erase(key);
    EXPECT_THROW(parse_description("x", without.dump()), Error) << key;
    if (key == "title") continue;
    for (const char* part : {"value", "source"}) {
      Json broken = good;
      broken[key].erase(part);
      EXPECT_THROW(parse_description("x", broken.dump()), Error) << key << " without " << part;
    }
    Json empty = good;
    empty[key]["source"] = "";
    EXPECT_THROW(parse_description("x", empty.dump()), Error) << key;
    Json zero = good;
    zero[key]["value"] = 0;
    EXPECT_THROW(parse_description("x", zero.dump()), Error) << key;
  }
  Json more = good;
  more["colour"] = {{"value", 1}, {"source", "none"}};
  EXPECT_THROW(parse_description("x", more.dump()), Error);
  EXPECT_THROW(parse_description("x", "[]"), Error);
  EXPECT_THROW(parse_description("x", "{"), Error);
}

}  // namespace
}  // namespace tilewright::target
