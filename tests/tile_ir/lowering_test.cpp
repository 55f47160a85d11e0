// Passes do not change what a program computes: bit for bit, by the interpreter, before and after each.
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "tile/cost/buffers.h"
#include "tile/ir/parser.h"
#include "tile/ir/printer.h"
#include "tile/passes/choose_tiles.h"
#include "tile/passes/lower.h"
#include "tile/passes/split_tails.h"
#include "tile_ir/example_programs.h"
#include "tile_ir/refusals.h"
#include "tile_ir/run_program.h"

namespace tilewright::tile {
namespace {

using Dims = std::map<std::string, std::int64_t>;

Program chosen(const Program& program) { return choose_tiles(program, tile_target("host")); }

void expect_same_at_every_pass(const Program& program, const std::vector<Dims>& all) {
  std::vector<std::vector<std::byte>> before;
  for (const Dims& dims : all) before.push_back(run(chosen(program), dims, 1));
  lower(program, {.dump = [&](std::string_view pass, const Program& now) {
          if (pass == "input" && !program.tiles.empty()) return;  // not chosen yet
          for (std::size_t i = 0; i < all.size(); ++i)
            EXPECT_EQ(run(now, all[i], 1), before[i]) << pass << "\n" << print(now);
        }});
}

TEST(Lowering, KeepsEveryBitOfRmsNorm) {
  expect_same_at_every_pass(rms_norm_program(),
                            {{{"rows", 3}, {"width", 100}}, {{"rows", 1}, {"width", 1}}, {{"rows", 0}, {"width", 8}}});
}
TEST(Lowering, KeepsEveryBitOfAProductByBlocks) {
  // The loaded length, 0 … 9 here, ends the inner loop.
  for (const std::int64_t k : {1, 8, 9, 64})
    expect_same_at_every_pass(product_program(), {{{"m", 5}, {"n", 33}, {"k", k}}, {{"m", 1}, {"n", 1}, {"k", k}}});
}
TEST(Lowering, KeepsEveryBitOfAllKindsOfNodes) { expect_same_at_every_pass(mixed_program(), {{{"s", 5}}, {{"s", 1}}}); }

// y = x · x summed over columns in chunks of 8, and each chunk written as it is read.
Program chunks(std::int64_t chunk) {
  Builder b("chunks");
  const auto rows = b.dim("rows"), width = b.dim("width");
  const auto x = b.input("x", DType::f32, {rows, width});
  const auto y = b.output("y", DType::f32, {rows, width});
  const auto s = b.output("s", DType::f32, {rows, 1});
  b.parallel("row", 0, rows, 1, [&](Index row) {
    const auto total = b.loop("column", 0, width, chunk, {b.constant(0), b.constant(-INFINITY)},
                              [&](Index column, const std::vector<Tile>& carried) {
                                const Tile v = b.view(x, {row, column}, {1, chunk}, to_end);
                                b.assemble(exp(v), y, {row, column});
                                return std::vector<Tile>{carried[0] + sum(v * v, 1), maximum(carried[1], max(v, 1))};
                              });
    b.assemble(total[0] + total[1], s, {row, 0});
  });
  return b.finish();
}

TEST(SplitTails, MakesTheMainLoopWholeAndKeepsEveryBit) {
  const Program before = chunks(8);
  const Program after = split_tails(before);
  expect_accepted(after);
  std::size_t loops = 0, whole = 0, partial = 0;
  for (const Node& node : after.nodes) {
    loops += node.op == OpCode::loop;
    if (node.op != OpCode::view && node.op != OpCode::assemble) continue;
    (valid_operand(node, 1) == kNone ? whole : partial) += 1;
  }
  EXPECT_EQ(loops, 3u);
  EXPECT_EQ(whole, 3u);  // view and assemble of the main loop, the sum's assemble
  EXPECT_EQ(partial, 2u);
  for (const std::int64_t width : {0, 1, 7, 8, 9, 16, 17, 31, 64})
    EXPECT_EQ(run(after, {{"rows", 3}, {"width", width}}, 2), run(before, {{"rows", 3}, {"width", width}}, 2)) << width;
  EXPECT_TRUE(split_tails(after, {.most_nodes = 0}) == after);
}

TEST(SplitTails, LeavesAloneWhatIsLargeOrParallel) {
  const Program program = renumbered(chunks(8));
  EXPECT_TRUE(split_tails(program, {.most_step = 4}) == program);
  EXPECT_TRUE(split_tails(program, {.most_nodes = 3}) == program);
  const Program rows = renumbered(rms_norm_program());
  EXPECT_TRUE(split_tails(rows) == rows);
}

TEST(ChooseTiles, TakesWhatTheUserSets) {
  const Program program = product_program();
  const Program set = choose_tiles(program, tile_target("host"), {}, {{"inner", 32}});
  EXPECT_EQ(set.tiles[2].chosen, 32);
  expect_accepted(set);
  for (const Node& node : set.nodes) {
    EXPECT_TRUE(node.type.rows.fixed() && node.type.columns.fixed());
    EXPECT_TRUE(node.op != OpCode::index_constant || node.integer2 == 0);
  }
  const auto message = [&](const std::map<std::string, std::int64_t>& tiles) -> std::string {
    try {
      choose_tiles(program, tile_target("host"), {}, tiles);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(message({{"iner", 32}}).find("rows, columns, inner"), std::string::npos) << message({{"iner", 32}});
  EXPECT_NE(message({{"inner", 33}}).find("32, 64"), std::string::npos) << message({{"inner", 33}});
}

Program wide(std::vector<std::int64_t> choices, int temporaries) {
  Builder b("wide");
  const auto n = b.dim("n");
  const auto x = b.input("x", DType::f32, {n});
  const auto y = b.output("y", DType::f32, {n});
  const auto columns = b.tile("columns", std::move(choices));
  b.parallel("i", 0, n, columns, [&](Index i) {
    std::vector<Tile> parts = {b.view(x, {i}, {1, columns}, to_end)};
    for (int t = 1; t < temporaries; ++t) parts.push_back(exp(parts.back()));
    Tile sum = parts[0];
    for (int t = 1; t < temporaries; ++t) sum = sum + parts[static_cast<std::size_t>(t)];
    b.assemble(sum, y, {i});
  });
  return b.finish();
}

// 192 KiB hold 49,152 numbers; four tiles and a sum live at once.
TEST(Buffers, OfTheUnifiedBufferDecideTheChoice) {
  const TileTarget npu = tile_target("910b2");
  EXPECT_EQ(npu.buffer_bytes, 192 << 10);
  const std::vector<std::int64_t> choices = {256, 1024, 4096, 8192, 16384, 32768};
  const Program program = choose_tiles(wide(choices, 4), npu, {.dims = {{"n", 1 << 26}}});
  EXPECT_LE(buffer_table(program, npu).peak, npu.buffer_bytes);
  EXPECT_EQ(program.tiles[0].chosen, 8192) << buffer_text(program, buffer_table(program, npu), npu);
  // Of a short tensor every core gets a part.
  EXPECT_EQ(choose_tiles(wide(choices, 4), npu, {.dims = {{"n", 2048}}}).tiles[0].chosen, 256);
}

TEST(Buffers, OverBudgetNamesThePeakPrintsTheTableAndProposesAFit) {
  const TileTarget npu = tile_target("910b2");
  try {
    choose_tiles(wide({8192, 16384, 32768}, 4), npu, {}, {{"columns", 32768}});
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_NE(error.text().where.find("tile program wide, "), std::string::npos) << message;
    EXPECT_NE(error.text().where.find("%"), std::string::npos) << message;
    EXPECT_NE(message.find("f32[1, 32768]"), std::string::npos) << message;
    EXPECT_NE(message.find("unified buffer"), std::string::npos) << message;
    EXPECT_EQ(error.text().fix, "choose columns = 8192");
    EXPECT_NO_THROW(choose_tiles(wide({8192, 16384, 32768}, 4), npu, {}, {{"columns", 8192}}));
  }
}

TEST(Buffers, OfFixedTilesProposeASmallerExtentThatFits) {
  const TileTarget npu = tile_target("910b2");
  try {
    choose_tiles(wide({32768}, 4), npu);
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.text().fix.find("use tiles of 8192 in place of 32768"), 0u) << error.what();
    EXPECT_NO_THROW(choose_tiles(wide({8192}, 4), npu));
    EXPECT_THROW(choose_tiles(wide({16384}, 4), npu), Error);
  }
}

TEST(Buffers, LiveFromDefinitionToLastUseAndThroughLoops) {
  const TileTarget npu = tile_target("910b2");
  const BufferTable table = buffer_table(wide({1024}, 4), npu);
  // View, three exponentials and three sums; the fourth part is last used by the last sum.
  EXPECT_EQ(table.buffers.size(), 7u);
  EXPECT_EQ(table.peak, 5 * 4096);
  // On the host nothing is stored before a plan says so.
  EXPECT_EQ(buffer_table(wide({1024}, 4), tile_target("host")).peak, 0);
  // Rows are aligned to 32 bytes, a column is one row.
  Builder b("aligned");
  const auto n = b.dim("n");
  const auto x = b.input("x", DType::bf16, {n, 3});
  const auto y = b.output("y", DType::f32, {n, 1});
  b.parallel("i", 0, n, 8, [&](Index i) {
    b.assemble(sum(cast(b.view(x, {i, 0}, {8, 3}, to_end), DType::f32), 1), y, {i, 0});
  });
  const BufferTable aligned = buffer_table(b.finish(), npu);
  ASSERT_EQ(aligned.buffers.size(), 3u);
  EXPECT_EQ(aligned.buffers[0].bytes, 8 * 32);
  EXPECT_EQ(aligned.buffers[1].bytes, 8 * 32);
  EXPECT_EQ(aligned.buffers[2].bytes, 32);
}

TEST(Cost, CountsBytesAndOperationsExactlyWhereTheyAreKnown) {
  const CostQuestion question{.dims = {{"rows", 512}, {"width", 2048}}};
  const TileTarget host = tile_target("host", "avx512");
  const TileCost cost = predict_cost(rms_norm_program(), host, question);
  EXPECT_EQ(cost.bytes_read, 512 * 2048 * 2 + 2048 * 2);  // the weight fits the cache: read once
  EXPECT_EQ(cost.bytes_written, 512 * 2048 * 2);
  EXPECT_EQ(cost.bytes_moved, 3.0 * 512 * 2048 * 2);
  EXPECT_EQ(cost.blocks, 512);
  EXPECT_GE(cost.seconds, (cost.bytes_read + cost.bytes_written) / host.bandwidth);
  // Twice the rows, twice the work.
  const TileCost twice = predict_cost(rms_norm_program(), host, {.dims = {{"rows", 1024}, {"width", 2048}}});
  EXPECT_EQ(twice.vector_flops, 2 * cost.vector_flops);
  EXPECT_EQ(twice.special_flops, 2 * cost.special_flops);
}

TEST(Cost, TakesTheLargestValueOfWhatIsReadOnTheDevice) {
  const Program product = choose_tiles(product_program(), tile_target("host"), {}, {{"rows", 8}, {"columns", 32}});
  const TileCost cost = predict_cost(product, tile_target("host"), {.dims = {{"m", 64}, {"n", 64}, {"k", 128}}});
  EXPECT_EQ(cost.matrix_flops, 2.0 * 64 * 64 * 128);
  EXPECT_EQ(cost.blocks, 8 * 2);
}

TEST(Cost, MoreBytesNeverTakeLess) {
  double before = 0;
  for (std::int64_t rows = 1; rows <= 4096; rows *= 2) {
    const double now =
        predict_cost(rms_norm_program(), tile_target("910b2"), {.dims = {{"rows", rows}, {"width", 4096}}}).seconds;
    EXPECT_GE(now, before);
    before = now;
  }
}

TEST(Lower, EnclosesWritesOutsideOfLoops) {
  Builder b("top");
  const auto y = b.output("y", DType::f32, {4});
  b.assemble(b.constant(2, 1, 4), y, {0});
  const Program program = b.finish();
  const Program lowered = lower(program);
  EXPECT_TRUE(lowered.node(lowered.block(0).nodes.back()).parallel);
  EXPECT_EQ(run(lowered, {}, 1), run(program, {}, 1));
}

}  // namespace
}  // namespace tilewright::tile
