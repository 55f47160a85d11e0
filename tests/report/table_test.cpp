#include "report/table.h"

#include <gtest/gtest.h>

#include <sstream>

namespace tilewright::report {
namespace {

TEST(Table, AlignsColumnsAndCountsCodePoints) {
  Table table({{"what"}, {"value", Align::right}});
  table.add_row({"größe", "1"});
  table.add_row({"x", "12345"});
  EXPECT_EQ(table.text(), "what   value\n-----  -----\ngröße      1\nx      12345\n");
}

TEST(Table, FoldsTextButNeverNumbers) {
  Table table({{"name"}, {"value", Align::right}, {"why"}});
  table.add_row({"a", "123456789.123456789",
                 "a long reason that does not fit on one line of this table and has averyveryverylongword"});
  std::istringstream lines(table.text(60));
  bool number_is_whole = false;
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(display_width(line), 60) << line;
    number_is_whole |= line.find("123456789.123456789") != std::string::npos;
  }
  EXPECT_TRUE(number_is_whole);
}

}  // namespace
}  // namespace tilewright::report
