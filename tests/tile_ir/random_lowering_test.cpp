// Random programs, after each pass: the same bits, a text that reads back; and every pass changes some of them.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>

#include "base/error.h"
#include "tile/ir/parser.h"
#include "tile/ir/printer.h"
#include "tile/passes/lower.h"
#include "tile/random/random_program.h"
#include "tile/verify/verify.h"

namespace tilewright::tile {
namespace {

// Sanitizers look for faults of memory, which fewer programs show; which bits come out is looked at without them.
#ifdef TILEWRIGHT_SANITIZED
constexpr std::uint64_t kSeeds = 100;
#else
constexpr std::uint64_t kSeeds = 500;
#endif

// Where two runs of one case differ; empty if nowhere.
std::string compare(const Program& program, const CaseMemory& expected, const CaseMemory& actual) {
  for (int i = 0; i < static_cast<int>(program.tensors.size()); ++i) {
    if (program.tensor(i).access == Access::read) continue;
    for (std::int64_t at = 0; at < expected.span(i); ++at) {
      const double a = expected.value(i, at), b = actual.value(i, at);
      const bool same = std::isnan(a) ? std::isnan(b) : a == b && std::signbit(a) == std::signbit(b);
      if (!same || expected.written(i, at) != actual.written(i, at))
        return program.tensor(i).name + " at " + std::to_string(at) + ": " + std::to_string(b) + " instead of " +
               std::to_string(a);
    }
  }
  return actual.damage();
}

TEST(RandomLowering, NoPassChangesABit) {
  std::map<std::string, int> changed;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const TileCase one = random_case(seed);
    const Program program = with_chosen_tiles(one.program, seed);
    const CaseMemory expected(one);
    interpret(program, expected.arguments());
    std::string before;
    lower(program, {.level = "avx512", .dump = [&](std::string_view pass, const Program& now) {
                      const std::string text = print(now);
                      EXPECT_EQ(print(parse(text)), text);
                      EXPECT_TRUE(parse(text) == renumbered(now) || text.find("nan") != std::string::npos) << text;
                      if (text == before) return;
                      before = text;
                      ++changed[std::string(pass)];
                      const CaseMemory actual(one);
                      interpret(now, actual.arguments());
                      const std::string difference = compare(program, expected, actual);
                      ASSERT_EQ(difference, "") << "seed " << seed << ", " << pass << "\n" << case_text(one) << text;
                    }});
    if (testing::Test::HasFatalFailure()) return;
  }
  for (const LowerPass& pass : lower_passes()) EXPECT_GT(changed[std::string(pass.name)], 0) << pass.name;
}

// Soundness of the proofs about parallel loops: random programs with sequential loops made parallel and index values
// exchanged. What verify still accepts never writes one place twice.
TEST(RandomVerify, AcceptsNoRace) {
  std::mt19937 random(3);
  std::uint64_t accepted = 0;
  int races = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds / 2; ++seed) {
    const TileCase one = random_case(seed);
    for (int times = 0; times < 12; ++times) {
      Program program = with_chosen_tiles(one.program, seed);
      std::vector<ValueId> indices, users;
      for (std::size_t id = 0; id < program.nodes.size(); ++id) {
        Node& node = program.nodes[id];
        const auto value = static_cast<ValueId>(id);
        if (node.type.index && node.op != OpCode::loop) indices.push_back(value);
        if (node.op == OpCode::assemble || is_index_arithmetic(node.op) || node.op == OpCode::loop)
          users.push_back(value);
        if (node.op == OpCode::loop && node.operands.size() == kLoopInitial && random() % 2) node.parallel = true;
      }
      for (unsigned changes = random() % 3; changes-- > 0;) {
        Node& user = program.node(users[random() % users.size()]);
        ValueId& operand = user.operands[random() % user.operands.size()];
        if (operand != kNone && program.node(operand).type.index) operand = indices[random() % indices.size()];
      }
      try {
        verify(program);
      } catch (const Error&) {
        continue;
      }
      ++accepted;
      const Program lowered = lower(program);  // aborts if a pass breaks it
      EXPECT_TRUE(renumbered(lowered) == lowered);
      const CaseMemory memory(one);
      try {
        interpret(program, memory.arguments());
      } catch (const Error& error) {
        const std::string message = error.what();  // other faults depend on the arguments
        if (message.find("two iterations") == std::string::npos) continue;
        ++races;
        ADD_FAILURE() << message << "\nseed " << seed << "\n" << case_text(one) << print(program);
        if (races > 3) return;
      }
    }
  }
  EXPECT_GT(accepted, kSeeds);
}

}  // namespace
}  // namespace tilewright::tile
