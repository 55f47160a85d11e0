// Every check of verify that a text can fail: a program that it refuses, with the words of the error and the node, and
// a twin that it accepts. `$` is where the two differ.
#include "tile/verify/verify.h"

#include <gtest/gtest.h>

#include "tile/ir/parser.h"
#include "tile/ir/printer.h"
#include "tile_ir/refusals.h"

namespace tilewright::tile {
namespace {

struct Pair {
  std::string name;
  std::string text;  // with $
  std::string wrong, right;
  std::string says, node;
};

std::string body(const std::string& text) {
  return R"(program p
dim n
input x : f32[n, 64]
input ids : i32[n]
output y : f32[n, 64]
output z : f32[64, n]
tile T = 4 | 8
{
  %0 = index.constant 0 : index
  %1 = index.constant 1 : index
  %4 = index.constant 4 : index
  %T = index.constant 0 T : index
  %n = index.dim n : index
  %v = constant 1 : f32[1, 64]
  %v4 = constant 1 : f32[4, 64]
  %all = parallel all %0all = %0 to %n step %1 {
    %c = constant 1 : f32[64, 1]
    %w = assemble z[%0, %0all] from %c rows 0 columns 1 : f32[64, 1]
  }
)" + text +
         "\n}";
}
std::string loop(const std::string& text, const std::string& step = "%1", const std::string& kind = "parallel") {
  return body(kind + " = parallel i %i = %0 to %n step " + step + " {\n" + text + "\n}");
}
// One row in an iteration.
std::string rows(const std::string& text) { return loop(text, "%1", "%l"); }
// Four, of which %ok are left.
std::string fours(const std::string& text) {
  return loop("%left = index.sub %n, %i : index\n%ok = index.min %4, %left : index\n" + text, "%4", "%l");
}

std::vector<Pair> pairs() {
  const std::string write = "%w = assemble y[%i, %0] from %v rows - columns 1 : f32[1, 64]\n";
  const std::string write_b = "%w = assemble y[%i, %0] from %b rows - columns 1 : f32[1, 64]\n";
  const std::string write_b4 = "%w = assemble y[%i, %0] from %b rows 0 columns 1 valid %ok, - : f32[4, 64]\n";
  return {
      // ---- tensors
      {"OutputUnwritten", rows("$"), "", write, "output y is never written", "program p"},
      {"InputWritten", rows(write + "%u = assemble $[%i, %0] from %v rows - columns 1 : f32[1, 64]"), "x", "y",
       "input x is written", "assemble %"},
      {"OutputViewed", rows("%b = view $[%i, %0] rows - columns 1 : f32[1, 64]\n" + write_b), "y", "x",
       "output y is viewed and assembled in one loop", "view %"},
      {"OutputReadElsewhere", rows(write + "$"), "%b = view z[%0, %i] rows 0 columns 1 : f32[64, 1]", "",
       "output z is read", "view %"},
      {"OtherDtypeWritten",
       rows("%h = cast %v : f16[1, 64]\n%k = cast %h : f32[1, 64]\n"
            "%w = assemble y[%i, %0] from $[1, 64]"),
       "%h rows - columns 1 : f16", "%k rows - columns 1 : f32", "another dtype than y", "assemble %"},
      {"LoadOfFloats", rows(write + "%k = index.load $ : index"), "x[%i, %0]", "ids[%i]", "holds no integers",
       "index.load %"},
      {"RowsWithoutADim", rows(write + "%a = view x[%i, %0] rows - columns 1 : f32[$, 64]"), "4", "1",
       "several rows has no dim", "view %"},
      // ---- accesses inside
      {"NoValidExtent",
       fours("%a = view x[%i, %0] rows 0 columns 1 $ : f32[4, 64]\n%b = exp %a : f32[4, 64]\n" + write_b4), "",
       "valid %ok, -", "no valid extent", "view %"},
      {"AssembleNoValidExtent", fours("%w = assemble y[%i, %0] from %v4 rows 0 columns 1 $ : f32[4, 64]"), "",
       "valid %ok, -", "no valid extent", "assemble %"},
      {"ColumnsBeyond",
       rows(write + "%c = index.constant $ : index\n%a = view x[%i, %c] rows - columns 1 : f32[1, 32]"), "33", "32",
       "no valid extent", "view %"},
      {"StepDoesNotDivide",
       rows(write +
            "%s = index.constant $ : index\n%e = index.constant 64 : index\n%k = loop j %j = %0 to %e step %s {\n"
            "%a = view x[%i, %j] rows - columns 1 : f32[1, 16]\n}"),
       "12", "16", "no valid extent", "view %"},
      {"OffsetOutside", rows(write + "%c = index.constant $ : index\n%a = view x[%i, %c] rows - columns 1 : f32[1, 1]"),
       "64", "63", "outside x", "view %"},
      {"OffsetNegative",
       rows(write + "%c = index.constant $ : index\n%a = view x[%c, %0] rows - columns 1 : f32[1, 64]"), "-1", "0",
       "outside x", "view %"},
      // ---- valid extents
      {"OperandsDisagree",
       fours("%h = index.min %1, %left : index\n%a = view x[%i, %0] rows 0 columns 1 valid %ok, - : f32[4, 64]\n"
             "%c = view x[%i, %0] rows 0 columns 1 valid $, - : f32[4, 64]\n%b = add %a, %c : f32[4, 64]\n" +
             write_b4),
       "%h", "%ok", "the operands of add have different valid extents", "add %"},
      {"SliceOfAPart",
       fours("%a = view x[%i, %0] rows 0 columns 1 valid %ok, - : f32[4, 64]\n"
             "%s = slice %a at $ : f32[$, 64]\n%b = broadcast %v : f32[4, 64]\n" +
             write_b4),
       "0, 0#2", "0, 0#4", "only a part is valid", "slice %"},
      {"ReshapeOfAPart",
       fours("%a = view x[%i, %0] rows 0 columns 1 valid %ok, - : f32[4, 64]\n"
             "%s = reshape $ : f32[8, 32]\n%b = broadcast %v : f32[4, 64]\n" +
             write_b4),
       "%a", "%v4", "only a part is valid", "reshape %"},
      {"ConcatOfAPart",
       fours("%a = view x[%i, %0] rows 0 columns 1 valid %ok, - : f32[4, 64]\n"
             "%s = concat %a, %a axis $ : f32[$]\n%b = broadcast %v : f32[4, 64]\n" +
             write_b4),
       "0#8, 64", "1#4, 128", "only a part is valid", "concat %"},
      {"InnerExtentsDisagree",
       fours("%h = index.min %1, %left : index\n%a = view x[%0, %0] rows - columns 1 valid -, %ok : f32[1, 64]\n"
             "%c = view x[%0, %0] rows - columns 1 valid -, $ : f32[1, 64]\n"
             "%m = matmul %a, %c, - transposed : f32[1, 1]\n%b = broadcast %m : f32[4, 64]\n" +
             write_b4),
       "%h", "%ok", "inner extents of a product", "matmul %"},
      {"GatherBeyondItsRowNumbers",
       fours("%r = view ids[%i] rows - columns 0 valid -, %ok : i32[1, 4]\n%t = transpose %r : i32[4, 1]\n"
             "%b = gather x[-, %0] by %t rows 0 columns 1 $ : f32[4, 64]\n" +
             write_b4),
       "", "valid %ok, -", "only a part is valid", "gather %"},
      // ---- loops
      {"NoStep", body("%z = index.constant $ : index\n%l = loop i %i = %0 to %n step %z {\n" + write + "}"), "0", "1",
       "does not advance", "loop %"},
      {"ParallelCarries",
       body("%l = parallel i %i = %0 to %n step %1 {\n%k = $ j %j = %0 to %4 step %1 carry %c = %v : f32[1, 64] {\n"
            "yield %c\n}\n%b = result 0 of %k : f32[1, 64]\n" +
            write_b + "}"),
       "parallel", "loop", "carries a tile", "loop %"},
      {"GridFromTheDevice",
       body("%k = index.load ids[%0] : index\n%m = index.min %n, %k : index\n%l = $ i %i = %0 to %m step %1 {\n" +
            write + "}"),
       "parallel", "loop", "bounds are read on the device", "loop %"},
      // ---- parallel writes
      {"SamePlace", rows("%w = assemble y[$, %0] from %v rows - columns 1 : f32[1, 64]"), "%0", "%i",
       "may write one place of y", "assemble %"},
      {"TooNear", loop("%w = assemble y[%i, %0] from %v4 rows 0 columns 1 valid $, - : f32[4, 64]", "%1", "%l"), "%4",
       "%1", "may write one place of y", "assemble %"},
      {"TwoVariablesOnOneDim",
       rows("%k = parallel j %j = %0 to %4 step %1 {\n%s = index.add %i, %j : index\n"
            "%o = constant 1 : f32[1, 1]\n%w = assemble y[$] from %o rows - columns 1 : f32[1, 1]\n}"),
       "%s, %0", "%i, %j", "may write one place of y", "assemble %"},
      {"ChosenTile",
       loop("%left = index.sub %n, %i : index\n%ok = index.min %T, %left : index\n%t = broadcast %v : f32[T, 64]\n"
            "%w = assemble y[%i, %0] from %t rows 0 columns 1 valid %ok, - : f32[T, 64]",
            "$", "%l"),
       "%4", "%T", "may write one place of y", "assemble %"},
      {"InnerLoopLeavesItsBlock",
       loop("%e = index.constant $ : index\n%stop = index.add %i, %e : index\n%end = index.min %stop, %n : index\n"
            "%k = loop j %j = %i to %end step %1 {\n%w = assemble y[%j, %0] from %v rows - columns 1 : f32[1, 64]\n}",
            "%4", "%l"),
       "5", "4", "may write one place of y", "assemble %"},
      {"QuotientAndRest",
       body("%m = index.mul %n, %4 : index\n%l = parallel t %t = %0 to %m step %1 {\n%q = index.div %t, %4 : index\n"
            "%r = index.mod %t, $ : index\n%s = index.constant 16 : index\n%o = index.mul %r, %s : index\n"
            "%c = constant 1 : f32[1, 16]\n%p = index.min %4, %o : index\n"
            "%w = assemble y[%q, %o] from %c rows - columns 1 valid -, %s : f32[1, 16]\n}"),
       "%1", "%4", "may write one place of y", "assemble %"},
      {"TwoWritesOfOneIteration",
       rows("%c = constant 1 : f32[1, 32]\n%h = index.constant 32 : index\n%o = index.add %i, $ : index\n"
            "%w = assemble y[%i, %0] from %c rows - columns 1 : f32[1, 32]\n"
            "%u = assemble y[%o, %0] from %c rows - columns 1 : f32[1, 32]"),
       "%1", "%0", "may write one place of y", "assemble %"},
      {"OneNestOfTwo",
       body("%q = index.div %T, %n : index\n%s = index.min %1, %q : index\n%r = index.mul %n, %s : index\n"
            "%o = index.sub %n, $ : index\n%l = parallel i %i = %0 to %r step %1 {\n" +
            write +
            "}\n%m = parallel k %k = %0 to %o step %1 {\n"
            "%w = assemble y[%k, %0] from %v rows - columns 1 : f32[1, 64]\n}"),
       "%s", "%r", "loops that run at once", "assemble %"},
      {"TwoNests",
       body("%l = parallel i %i = %0 to %n step %1 {\n" + write +
            "}\n%c = constant 1 : f32[1, 32]\n"
            "%m = parallel k %k = %0 to %n step %1 {\n$\n}"),
       "%w = assemble y[%k, %0] from %c rows - columns 1 : f32[1, 32]", "", "loops that run at once", "assemble %"},
  };
}

// Every `$` becomes the part; of a part a#b the first `$` becomes a, the second b.
Program program_of(std::string text, const std::string& part) {
  const std::size_t hash = part.find('#');
  for (int i = 0; text.find('$') != std::string::npos; ++i)
    text.replace(text.find('$'), 1,
                 hash == std::string::npos ? part
                 : i == 0                  ? part.substr(0, hash)
                                           : part.substr(hash + 1));
  return parse(text);
}

TEST(Verify, RefusesOneAndAcceptsItsTwin) {
  for (const Pair& pair : pairs()) {
    SCOPED_TRACE(pair.name);
    try {
      expect_refused(program_of(pair.text, pair.wrong), pair.says, pair.node);
      expect_accepted(program_of(pair.text, pair.right));
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what() << "\n" << pair.text;
    }
  }
}

TEST(Verify, NamesTheNodeByItsPrintedNumber) {
  const Program program = program_of(rows("%w = assemble y[$, %0] from %v rows - columns 1 : f32[1, 64]"), "%0");
  const std::string message = refusal(program);
  const std::string text = print(program);
  const std::size_t at = message.find("assemble %");
  ASSERT_NE(at, std::string::npos);
  const std::string number = message.substr(at + 9, message.find(':', at) - at - 9);
  EXPECT_NE(text.find(number + " = assemble y["), std::string::npos) << message << text;
}

}  // namespace
}  // namespace tilewright::tile
