// Laws of the text form: print, parse, print is the identity; parse gives the renumbered program; nothing in a text can
// do more than raise an Error with its place.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "base/error.h"
#include "tile/ir/parser.h"
#include "tile/ir/printer.h"
#include "tile_ir/example_programs.h"

namespace tilewright::tile {
namespace {

std::vector<Program> programs() { return {rms_norm_program(), product_program(), mixed_program()}; }

TEST(TileText, PrintThenParseIsTheRenumberedProgram) {
  for (const Program& program : programs()) {
    const std::string text = print(program);
    const Program back = parse(text);
    EXPECT_EQ(print(back), text);
    EXPECT_TRUE(back == renumbered(program)) << text;
    EXPECT_TRUE(renumbered(back) == back) << text;
  }
}

TEST(TileText, PlansAndChosenTilesAreKept) {
  Program program = product_program();
  program.tiles[1].chosen = 32;
  int i = 0;
  for (Node& node : program.nodes) node.plan = {i % 3 - 1, i % 2 == 0, i % 5 * 8, ++i % 4};
  program = renumbered(program);
  EXPECT_TRUE(parse(print(program)).nodes[0].plan.stored);
  for (Node& node : program.nodes)  // arguments are not printed on lines of their own and carry no plan
    if (node.op == OpCode::loop_variable || node.op == OpCode::carried) node.plan = {};
  EXPECT_TRUE(parse(print(program)) == program) << print(program);
}

TEST(TileText, ReadsAsDocumented) {
  const std::string text = print(rms_norm_program());
  EXPECT_NE(text.find("input x : bf16[rows, width]\n"), std::string::npos) << text;
  EXPECT_NE(text.find(" = parallel row %"), std::string::npos) << text;
  EXPECT_NE(text.find(" = mean %"), std::string::npos) << text;
  EXPECT_NE(text.find(" axis 1 : f32[1, 1]\n"), std::string::npos) << text;
}

TEST(TileText, NumbersRoundTripExactly) {
  std::mt19937_64 random(1);
  std::vector<double> numbers = {0.0,      -0.0,      0.1, 1e-6, 1.0 / 3, 5e-324, 1.7976931348623157e308,
                                 INFINITY, -INFINITY, NAN};
  for (int i = 0; i < 2000; ++i) numbers.push_back(std::bit_cast<double>(random()));
  for (const double number : numbers) {
    Program program;
    program.name = "p";
    program.blocks.push_back({});
    program.nodes.push_back({.op = OpCode::constant, .number = number});
    program.blocks[0].nodes.push_back(0);
    const double back = parse(print(program)).nodes[0].number;
    if (std::isnan(number))
      EXPECT_TRUE(std::isnan(back));
    else
      EXPECT_EQ(std::bit_cast<std::uint64_t>(back), std::bit_cast<std::uint64_t>(number)) << print(program);
  }
}

TEST(TileText, NamesAndCommentsByHand) {
  const Program program = parse(R"(program p   # by hand
output y : f32[10]
{ %zero = index.constant 0 : index
  %ten = index.constant 10 : index
  %one = index.constant 1 : index
  %all = parallel i %i = %zero to %ten step %one {
    %v = constant -inf : f32[1, 1]
    %w = assemble y[%i] from %v rows - columns 0 : f32[1, 1]
  }
})");
  EXPECT_TRUE(program == renumbered(program));
  EXPECT_EQ(program.nodes.size(), 7u);
}

struct Refused {
  const char* why;
  const char* text;
  const char* place;
  const char* says;
};

TEST(TileText, ErrorsNameLineAndColumn) {
  const Refused cases[] = {
      {"no header", "{", "line 1, column 1", "'program'"},
      {"unknown word", "program p\nfoo x\n{}", "line 2, column 1", "dim, input"},
      {"same name", "program p\ndim a\ndim a\n{}", "line 3, column 5", "used twice"},
      {"undeclared dim", "program p\ninput x : f32[n]\n{}", "line 2, column 15", "not declared"},
      {"unknown op", "program p\n{\n  %0 = frobnicate %1 : index\n}", "line 3, column 8", "no such operation"},
      {"undefined", "program p\n{\n  %0 = index.add %1, %1 : index\n}", "line 3, column 18", "not defined here"},
      {"itself", "program p\n{\n  %0 = neg %0 : f32[1, 1]\n}", "line 3, column 12", "not defined here"},
      {"twice", "program p\n{\n  %0 = index.constant 0 : index\n  %0 = index.constant 0 : index\n}", "line 4, column 3",
       "defined twice"},
      {"type", "program p\n{\n  %0 = constant 0 : f32[1, 4]\n  %1 = exp %0 : f32[1, 5]\n}", "line 4, column 15",
       "f32[1, 4]"},
      {"dtype", "program p\n{\n  %0 = constant 0 : i32[1, 4]\n  %1 = exp %0 : i32[1, 4]\n}", "line 4, column 15",
       "cast(x, f32)"},
      {"huge", "program p\n{\n  %0 = constant 0 : f32[1, 99999999999999999999]\n}", "line 3, column 28", "extent"},
      {"number", "program p\n{\n  %0 = constant 1.2.3 : f32[1, 1]\n}", "line 3, column 17", "a number"},
      {"operands", "program p\n{\n  %0 = constant 1 : f32[1, 1]\n  %1 = add %0 : f32[1, 1]\n}", "line 4, column 8",
       "number of operands"},
      {"offsets", "program p\ninput x : f32[4]\n{\n  %0 = view x[] rows - columns 0 : f32[1, 4]\n}", "line 4, column 8",
       "offsets"},
      {"dims",
       "program p\ninput x : f32[4]\n{\n  %0 = index.constant 0 : index\n  %1 = view x[%0] rows 0 columns 0 : "
       "f32[1, 4]\n}",
       "line 5, column 8", "dims that do not fit"},
      {"yield", "program p\n{\n  %0 = constant 1 : f32[1, 1]\n  yield %0\n}", "line 4, column 3", "yields another"},
      {"leaves the loop",
       "program p\n{\n  %0 = index.constant 1 : index\n  %1 = loop i %2 = %0 to %0 step %0 {\n    %3 = index.constant "
       "2 "
       ": index\n  }\n  %4 = index.add %3, %3 : index\n}",
       "line 7, column 18", "leaves it as a result"},
      {"more", "program p\n{\n}\n}", "line 4, column 1", "end of the text"},
      {"bytes", "program p\n{\n  \x01\n}", "line 3, column 3", "'?'"},
  };
  for (const Refused& one : cases) {
    try {
      parse(one.text);
      ADD_FAILURE() << one.why << " was accepted";
    } catch (const Error& error) {
      const std::string message = error.what();
      EXPECT_NE(message.find(one.place), std::string::npos) << one.why << ": " << message;
      EXPECT_NE(message.find(one.says), std::string::npos) << one.why << ": " << message;
    }
  }
}

TEST(TileText, ManyNestedLoopsAreRefused) {
  std::string text = "program p\n{ %0 = index.constant 1 : index\n";
  for (int i = 0; i < 100000; ++i)
    text += "%l" + std::to_string(i) + " = loop i %v" + std::to_string(i) + " = %0 to %0 step %0 {\n";
  EXPECT_THROW(parse(text), Error);
}

// Every prefix and many changed texts: an Error, or a program that is its own text.
TEST(TileText, ChangedTextsNeverCrash) {
  std::mt19937 random(7);
  int accepted = 0;
  for (const Program& program : programs()) {
    const std::string text = print(program);
    const auto attempt = [&](const std::string& changed) {
      try {
        const Program read = parse(changed);
        EXPECT_TRUE(print(parse(print(read))) == print(read));
        ++accepted;
      } catch (const Error&) {
      }
    };
    for (std::size_t length = 0; length < text.size(); length += 3) attempt(text.substr(0, length));
    for (int i = 0; i < 1500; ++i) {
      std::string changed = text;
      for (int times = 0; times < 2; ++times) {
        const std::size_t at = random() % changed.size();
        switch (random() % 3) {
          case 0:
            changed[at] = static_cast<char>(random() % 256);
            break;
          case 1:
            changed.erase(at, random() % 8);
            break;
          default:
            changed.insert(at, text.substr(random() % text.size(), random() % 12));
            break;
        }
      }
      attempt(changed);
    }
  }
  EXPECT_GT(accepted, 0);  // some changes only rename
}

}  // namespace
}  // namespace tilewright::tile
