// What a pass is said to have fused, from events as a context sends them.
#include "measure/coverage.h"

#include <gtest/gtest.h>

#include "engine/program.h"

namespace tilewright::measure {
namespace {

const Program& program() {
  static const Program instance;
  return instance;
}

// A pass by hand.
struct Events {
  ops::Switches switches;
  PassWatch watch{switches};
  ops::Attributes none;

  ops::OpCall call(const char* op) const { return {program().operators.get(op), {}, none, {}}; }
  void small(const char* op, const char* path) {
    watch.call_begins(call(op), path);
    watch.launched({});
    watch.call_ends(call(op), path);
  }
  void composite(const char* op, const char* path, bool fuses, int parts) {
    watch.call_begins(call(op), path);
    if (fuses)
      watch.fused(call(op), "tile");
    else
      watch.refused(call(op), "tile", "too wide");
    for (int i = 0; i < parts; ++i) small("mul", path);
    watch.call_ends(call(op), path);
  }
};

TEST(BlockOf, NumbersOfLayersBecomeStars) {
  EXPECT_EQ(block_of("layers.13.self_attn.q_norm"), "layers.*.self_attn.q_norm");
  EXPECT_EQ(block_of("layers.0.experts.7"), "layers.*.experts.*");
  EXPECT_EQ(block_of("embed_tokens2"), "embed_tokens2");
  EXPECT_EQ(block_of(""), "");
}

TEST(Coverage, CountsCompositesOnceAndTheirPartsNever) {
  Events events;
  for (const char* path : {"layers.0.mlp", "layers.1.mlp", "layers.2.mlp"}) {
    events.composite("silu_mul", path, std::string(path) != "layers.1.mlp",
                     std::string(path) == "layers.1.mlp" ? 2 : 0);
    events.small("add", path);
  }
  events.composite("rms_norm", "norm", false, 3);
  const std::vector<CoverageRow> rows = events.watch.coverage();
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].block + " " + rows[0].op, "layers.*.mlp silu_mul");
  EXPECT_EQ(rows[0].fused, 2);
  EXPECT_EQ(rows[0].small, 1);
  EXPECT_EQ(rows[0].why, "tile: too wide");
  EXPECT_EQ(rows[1].op, "add");
  EXPECT_EQ(rows[1].fused, 0);
  EXPECT_EQ(rows[1].small, 3);
  EXPECT_EQ(rows[2].op, "rms_norm");
  EXPECT_EQ(rows[2].small, 1);
  EXPECT_EQ(events.watch.launches(), 3 + 2 + 3);
  ASSERT_EQ(events.watch.kernels().size(), 1u);
  EXPECT_EQ(events.watch.kernels()[0].count, 2);
  ASSERT_EQ(events.watch.fallbacks().size(), 2u);
}

}  // namespace
}  // namespace tilewright::measure
