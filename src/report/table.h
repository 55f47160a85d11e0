// A plain table for terminals: columns as wide as their cells, at most `width` columns in all.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "base/terminal_text.h"

namespace tilewright::report {

enum class Align { left, right };
enum class Style { plain, strong, faint, good, bad, caution };

class Table {
 public:
  struct Column {
    std::string title;
    Align align = Align::left;
    bool fold_title = false;  // the title takes several lines where its cells are narrower
  };
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  // As many cells as columns. A cell may hold any text without line breaks; widths count terminal cells.
  void add_row(std::vector<std::string> cells);
  // How a cell of the row added last looks where colours are wanted.
  void paint(std::size_t column, Style style);
  // Rows with a rule under the titles. Where the table would be wider than `width`, the widest left-aligned column is
  // folded at spaces onto further lines; numbers are never cut. Where that does not do, each cell has a line of its
  // own. Colours are ANSI sequences around the padded text.
  std::string text(int width = 100, bool colour = false) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
  std::vector<std::vector<Style>> styles_;
};

using tilewright::cut_to_width;
using tilewright::display_width;

// Broken at spaces into lines of at most `width` cells (two at least); a longer word is cut. At least one line.
std::vector<std::string> folded_lines(const std::string& text, int width);

// The text between the ANSI sequences of a style, if `colour`.
std::string styled(const std::string& text, Style style, bool colour);

// Whether a file descriptor is a terminal on which colours are wanted: NO_COLOR empty or unset, TERM not "dumb".
bool wants_colour(int descriptor);

}  // namespace tilewright::report
