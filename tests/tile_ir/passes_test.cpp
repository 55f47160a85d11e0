// What each pass changes, and that it leaves a program that verifies.
#include <gtest/gtest.h>

#include "tile/ir/parser.h"
#include "tile/ir/printer.h"
#include "tile/passes/cse.h"
#include "tile/passes/dead_code.h"
#include "tile/passes/lower.h"
#include "tile/verify/verify.h"
#include "tile_ir/example_programs.h"

namespace tilewright::tile {
namespace {

std::size_t count(const Program& program, OpCode op) {
  std::size_t n = 0;
  for (const Node& node : renumbered(program).nodes) n += node.op == op;
  return n;
}

const char* const kTwice = R"(program p
dim n
input x : f32[n, 64]
output y : f32[n, 64]
{
  %n = index.dim n : index
  %zero = index.constant 0 : index
  %one = index.constant 1 : index
  %plus = constant 0 : f32[1, 1]
  %minus = constant -0 : f32[1, 1]
  %l = parallel i %i = %zero to %n step %one {
    %z = index.constant 0 : index
    %a = view x[%i, %z] rows - columns 1 : f32[1, 64]
    %b = view x[%i, %zero] rows - columns 1 : f32[1, 64]
    %p = broadcast %plus : f32[1, 64]
    %m = broadcast %minus : f32[1, 64]
    %s = add %a, %p : f32[1, 64]
    %t = add %p, %b : f32[1, 64]
    %u = add %a, %m : f32[1, 64]
    %q = sub %s, %u : f32[1, 64]
    %r = sub %t, %u : f32[1, 64]
    %v = sub %u, %t : f32[1, 64]
    %w = concat %q, %r, %v axis 0 : f32[3, 64]
    %k = sum %w axis 0 : f32[1, 64]
    %e = assemble y[%i, %z] from %k rows - columns 1 : f32[1, 64]
  }
})";

TEST(Cse, JoinsWhatIsTheSameAndNothingElse) {
  const Program program = cse(parse(kTwice));
  verify(program);
  EXPECT_EQ(count(program, OpCode::view), 1u);
  EXPECT_EQ(count(program, OpCode::constant), 2u);  // 0 and -0
  EXPECT_EQ(count(program, OpCode::add), 2u);       // s and t are one: addition commutes
  EXPECT_EQ(count(program, OpCode::sub), 2u);       // q and r are one, v is not
  EXPECT_EQ(count(program, OpCode::index_constant), 2u);
  EXPECT_TRUE(cse(program) == program);
}

TEST(Cse, DoesNotJoinAcrossSiblingLoops) {
  const Program program = cse(parse(R"(program p
output y : f32[2]
{
  %0 = index.constant 0 : index
  %1 = index.constant 1 : index
  %l = loop i %i = %0 to %1 step %1 {
    %c = constant 5 : f32[1, 1]
    %e = assemble y[%0] from %c rows - columns 0 : f32[1, 1]
  }
  %m = loop j %j = %0 to %1 step %1 {
    %c = constant 5 : f32[1, 1]
    %e = assemble y[%1] from %c rows - columns 0 : f32[1, 1]
  }
})"));
  EXPECT_EQ(count(program, OpCode::constant), 2u);
}

TEST(DeadCode, DropsWhatNoAssembleNeeds) {
  const Program program = dead_code(parse(R"(program p
input x : f32[1, 64]
output y : f32[1, 64]
{
  %0 = index.constant 0 : index
  %1 = index.constant 1 : index
  %4 = index.constant 4 : index
  %unused = index.add %0, %1 : index
  %l = loop i %i = %0 to %1 step %1 {
    %a = view x[%0, %0] rows - columns 1 : f32[1, 64]
    %b = exp %a : f32[1, 64]
    %k = loop j %j = %0 to %4 step %1 carry %c = %a : f32[1, 64], %d = %b : f32[1, 64], %f = %a : f32[1, 64] {
      %c2 = add %c, %a : f32[1, 64]
      %d2 = mul %d, %b : f32[1, 64]
      %f2 = mul %f, %d : f32[1, 64]
      yield %c2, %d2, %f2
    }
    %r0 = result 0 of %k : f32[1, 64]
    %r2 = result 2 of %k : f32[1, 64]
    %r1 = result 1 of %k : f32[1, 64]
    %no = add %r0, %r2 : f32[1, 64]
    %e = assemble y[%0, %0] from %r1 rows - columns 1 : f32[1, 64]
  }
  %dead = loop i %i = %0 to %4 step %1 {
    %a = constant 0 : f32[1, 64]
  }
})"));
  verify(program);
  EXPECT_EQ(count(program, OpCode::loop), 2u);
  EXPECT_EQ(count(program, OpCode::carried), 1u);
  EXPECT_EQ(count(program, OpCode::result), 1u);
  EXPECT_EQ(count(program, OpCode::add), 0u);
  EXPECT_EQ(count(program, OpCode::index_add), 0u);
  for (const Node& node : program.nodes)
    if (node.op == OpCode::result) {
      EXPECT_EQ(node.integer, 0);
    }
  EXPECT_TRUE(dead_code(program) == program);
}

TEST(DeadCode, KeepsACarriedTileThatAnotherNeeds) {
  const Program before = dead_code(mixed_program());
  EXPECT_EQ(count(before, OpCode::carried), 1u);
}

TEST(Lower, KeepsVerifyingProgramsAndReportsEachPass) {
  for (const Program& program : {rms_norm_program(), product_program(), mixed_program()}) {
    std::vector<std::string> seen;
    const Program lowered = lower(program, {.dump = [&](std::string_view pass, const Program& now) {
                                    seen.emplace_back(pass);
                                    EXPECT_TRUE(parse(print(now)) == renumbered(now)) << pass;
                                  }});
    ASSERT_EQ(seen.size(), lower_passes().size() + 1);
    EXPECT_EQ(seen[0], "input");
    EXPECT_TRUE(lowered == renumbered(lowered));
  }
}

}  // namespace
}  // namespace tilewright::tile
