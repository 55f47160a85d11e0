#include "report/units.h"

#include <gtest/gtest.h>

#include "report/shown_number.h"
#include "report/table.h"

namespace tilewright::report {
namespace {

using test::shown_number;

// Whatever the size, the text is the number, give or take half its last digit, and its last digit is the fourth.
TEST(Units, WriteFourDigitsOfANumber) {
  for (double v = 1e-13; v < 1e15; v *= 1.37) {
    for (const auto& text : {seconds_text(v), bytes_text(v * 1e6), significant_text(v), seconds_text(-v)}) {
      const double meant = text[0] == '-' ? -v : text.find('B') != text.npos ? v * 1e6 : v;
      const auto shown = shown_number(text);
      ASSERT_TRUE(shown) << text;
      EXPECT_NEAR(shown->value, meant, shown->half_digit * 1.001) << text;
      EXPECT_LE(shown->half_digit, std::abs(meant) * 0.5e-3 * 1.001) << text;
    }
  }
}

TEST(Units, PickTheUnitAfterRounding) {
  EXPECT_EQ(seconds_text(0.99999), "1.000 s");
  EXPECT_EQ(seconds_text(0.0012345), "1.234 ms");
  EXPECT_EQ(seconds_text(31e-9), "31.00 ns");
  EXPECT_EQ(seconds_text(0), "0 s");
  EXPECT_EQ(bytes_text(999), "999 B");
  EXPECT_EQ(bytes_text(999999), "1.000 MB");
  EXPECT_EQ(percent_text(0.8731), "87.3 %");
  EXPECT_EQ(ratio_text(1.2344), "1.234");
  EXPECT_EQ(ratio_text(9.9996), "10.00");
}

TEST(Units, ShowNothingForWhatIsNotKnown) {
  for (const Number& none : {Number(), Number(NAN), Number(INFINITY), Number(-INFINITY)}) {
    EXPECT_EQ(seconds_text(none), kNothing);
    EXPECT_EQ(bytes_text(none), kNothing);
    EXPECT_EQ(rate_text(none), kNothing);
    EXPECT_EQ(percent_text(none), kNothing);
    EXPECT_EQ(ratio_text(none), kNothing);
  }
  EXPECT_EQ(count_text({}), kNothing);
}

TEST(Units, LeaveNothingInATextThatSteersATerminal) {
  EXPECT_EQ(one_line("a\x1b[31mb\r\nc\x07"), "a [31mb  c ");
  EXPECT_EQ(one_line("x\xc2\x9bmy"), "x my");    // C1: one byte of a control sequence
  EXPECT_EQ(one_line("x\xe2\x80\xaey"), "x y");  // turns the writing direction
  EXPECT_EQ(one_line("a\xff"
                     "b\xc3"),
            "a\xef\xbf\xbd"
            "b\xef\xbf\xbd");
  EXPECT_EQ(one_line("\xed\xa0\x80"), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");  // a surrogate
  EXPECT_EQ(one_line("\xc0\xaf"), "\xef\xbf\xbd\xef\xbf\xbd");                  // a slash in two bytes
  EXPECT_EQ(one_line("größe → 漢字"), "größe → 漢字");
}

TEST(Units, CountTheCellsOfATerminal) {
  EXPECT_EQ(display_width("größe"), 5);
  EXPECT_EQ(display_width("漢字"), 4);
  EXPECT_EQ(display_width("e\u0301"), 1);
  EXPECT_EQ(display_width("🙂"), 2);
  EXPECT_EQ(shortened("abcdef", 4), "abc…");
  EXPECT_EQ(shortened("漢字漢字", 4), "漢…");
  for (int width = 2; width < 12; ++width)
    for (const std::string& line : folded_lines("a 漢字漢字漢字 of words andoneverylongword", width))
      EXPECT_LE(display_width(line), width) << line;
}

}  // namespace
}  // namespace tilewright::report
