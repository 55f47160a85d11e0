// What a terminal shows of what was written to it: enough of one to judge progress bars.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::test {

// A terminal that understands what the bars send: text, \r, \n, "up N", "erase the rest of the row". Rows that wrapped
// are put together again when its width changes, as terminals of today do.
class TerminalScreen {
 public:
  TerminalScreen(int width, int height) : width_(width), height_(height) { rows_.emplace_back(); }

  void write(std::string_view text) {
    for (std::size_t at = 0; at < text.size(); ++at) {
      char c = text[at];
      if ((static_cast<unsigned char>(c) & 0xc0) == 0x80) continue;
      if (static_cast<unsigned char>(c) >= 0x80) c = '~';  // a cell is a byte here
      if (c == '\033') {
        ASSERT_EQ(text[at + 1], '[');
        int number = 0;
        for (at += 2; std::isdigit(static_cast<unsigned char>(text[at])); ++at) number = 10 * number + (text[at] - '0');
        if (text[at] == 'A') {
          row_ = std::max(row_ - std::max(number, 1), top());
        } else {
          ASSERT_EQ(text[at], 'K') << "a sequence that the test does not know";
          rows_[static_cast<std::size_t>(row_)].cells.resize(static_cast<std::size_t>(column_));
          rows_[static_cast<std::size_t>(row_)].wrapped &= column_ > 0;
          drop_empty_rows();
        }
      } else if (c == '\r') {
        column_ = 0;
      } else if (c == '\n') {
        go_down(false);
        column_ = 0;
      } else {
        if (column_ == width_) {
          go_down(true);
          column_ = 0;
        }
        std::string& cells = rows_[static_cast<std::size_t>(row_)].cells;
        cells.resize(std::max(cells.size(), static_cast<std::size_t>(column_) + 1), ' ');
        cells[static_cast<std::size_t>(column_++)] = c;
      }
    }
  }

  void resize(int width, int height) {
    std::vector<Row> old = std::move(rows_);
    rows_ = {};
    width_ = width;
    height_ = height;
    std::string line;
    for (std::size_t i = 0; i < old.size(); ++i) {
      line += old[i].cells;
      if (i + 1 < old.size() && old[i + 1].wrapped) continue;
      for (bool first = true; first || !line.empty(); first = false) {
        rows_.push_back({line.substr(0, static_cast<std::size_t>(width)), !first});
        line.erase(0, static_cast<std::size_t>(width));
      }
    }
    row_ = static_cast<int>(rows_.size()) - 1;  // the bars leave it on the last one
  }

  // What a user sees and can scroll back to, lines as they were written.
  std::vector<std::string> lines() const {
    std::vector<std::string> out;
    for (const Row& row : rows_) {
      if (row.wrapped)
        out.back() += row.cells;
      else
        out.push_back(row.cells);
    }
    return out;
  }
  int width() const { return width_; }
  int height() const { return height_; }
  int column() const { return column_; }

 private:
  struct Row {
    std::string cells;
    bool wrapped = false;  // goes on with the row above
  };
  int top() const { return std::max(0, static_cast<int>(rows_.size()) - height_); }
  // Empty rows below the cursor cannot be told from what was never written.
  void drop_empty_rows() {
    while (static_cast<int>(rows_.size()) > row_ + 1 && rows_.back().cells.empty()) rows_.pop_back();
  }
  void go_down(bool wrapped) {
    if (++row_ == static_cast<int>(rows_.size())) rows_.push_back({"", wrapped});
  }

  int width_, height_, row_ = 0, column_ = 0;
  std::vector<Row> rows_;
};

}  // namespace tilewright::test
