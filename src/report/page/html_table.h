// A table of a page, in a box of its own that scrolls sideways on a narrow screen.
#pragma once

#include <string>
#include <vector>

namespace tilewright::report {

struct HtmlCell {
  std::string text;
  std::string json = {};  // where the number lies in the report; empty for words
  std::string css = {};   // "good", "bad", "caution", "faint"; empty: plain
  bool is_number = true;  // right-aligned, never wrapped
};

class HtmlTable {
 public:
  // `name` is what a screen reader calls the table; the first column heads its row.
  HtmlTable(std::string name, std::vector<std::string> titles) : name_(std::move(name)), titles_(std::move(titles)) {}
  // As many cells as titles; the first is words.
  void add_row(std::vector<HtmlCell> cells);
  bool empty() const { return rows_.empty(); }
  std::string text() const;  // escaped

 private:
  std::string name_;
  std::vector<std::string> titles_;
  std::vector<std::vector<HtmlCell>> rows_;
};

// A cell of words.
HtmlCell words(std::string text, std::string css = {});

}  // namespace tilewright::report
