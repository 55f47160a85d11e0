// A plain table for terminals: columns as wide as their cells, at most `width` columns in all.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace tilewright::report {

enum class Align { left, right };

class Table {
 public:
  struct Column {
    std::string title;
    Align align = Align::left;
  };
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  // As many cells as columns. A cell may hold any text without line breaks; widths count code points.
  void add_row(std::vector<std::string> cells);
  // Rows with a rule under the titles. Where the table would be wider than `width`, the widest left-aligned column is
  // folded at spaces onto further lines; numbers are never cut.
  std::string text(int width = 100) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// The number of terminal cells a text takes, counting code points (no wide characters).
int display_width(const std::string& text);

}  // namespace tilewright::report
