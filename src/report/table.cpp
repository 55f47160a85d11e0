#include "report/table.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "base/error.h"

namespace tilewright::report {
namespace {

constexpr int kGap = 2;
constexpr int kNarrowest = 12;  // a folded column keeps at least this

int longest_word(const std::string& text) {
  int longest = 0;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    longest = std::max(longest, display_width(text.substr(at, end - at)));
    at = end + 1;
  }
  return longest;
}

std::string padded(const std::string& text, int width, Align align) {
  const std::string space(static_cast<std::size_t>(std::max(0, width - display_width(text))), ' ');
  return align == Align::left ? text + space : space + text;
}

}  // namespace

std::vector<std::string> folded_lines(const std::string& text, int width) {
  width = std::max(width, 2);
  std::vector<std::string> lines(1);
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    std::string word = text.substr(at, end - at);
    at = end + 1;
    const bool fits = lines.back().empty() || display_width(lines.back()) + 1 + display_width(word) <= width;
    if (!fits) lines.emplace_back();
    while (display_width(word) > width) {
      lines.back() = cut_to_width(word, width);
      word.erase(0, lines.back().size());
      lines.emplace_back();
    }
    lines.back() += (lines.back().empty() ? "" : " ") + word;
  }
  return lines;
}

std::string styled(const std::string& text, Style style, bool colour) {
  if (!colour || style == Style::plain || text.empty()) return text;
  const char* codes[] = {"", "1", "2", "32", "31;1", "33"};
  return std::string("\x1b[") + codes[static_cast<int>(style)] + "m" + text + "\x1b[0m";
}

bool wants_colour(int descriptor) {
  const auto value = [](const char* name) {
    const char* text = std::getenv(name);
    return std::string_view(text ? text : "");
  };
  return ::isatty(descriptor) == 1 && value("NO_COLOR").empty() && value("TERM") != "dumb";
}

void Table::add_row(std::vector<std::string> cells) {
  TW_CHECK(cells.size() == columns_.size());
  rows_.push_back(std::move(cells));
  styles_.emplace_back(columns_.size(), Style::plain);
}

void Table::paint(std::size_t column, Style style) {
  TW_CHECK(!styles_.empty() && column < columns_.size());
  styles_.back()[column] = style;
}

std::string Table::text(int width, bool colour) const {
  std::vector<int> widths;
  int total = -kGap;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    int w = columns_[c].fold_title ? longest_word(columns_[c].title) : display_width(columns_[c].title);
    for (const auto& row : rows_) w = std::max(w, display_width(row[c]));
    widths.push_back(w);
    total += w + kGap;
  }
  while (total > width) {
    int widest = -1;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      if (columns_[c].align != Align::left || widths[c] <= kNarrowest) continue;
      if (widest < 0 || widths[c] > widths[static_cast<std::size_t>(widest)]) widest = static_cast<int>(c);
    }
    if (widest < 0) break;
    const int less = std::min(total - width, widths[static_cast<std::size_t>(widest)] - kNarrowest);
    widths[static_cast<std::size_t>(widest)] -= less;
    total -= less;
  }
  std::string out;
  if (total > width) {  // numbers alone are too wide: one line a cell
    for (const auto& row : rows_) {
      for (std::size_t c = 0; c < columns_.size(); ++c) {
        const std::vector<std::string> lines = folded_lines(columns_[c].title + ": " + row[c], width - 2);
        for (std::size_t l = 0; l < lines.size(); ++l) out += (c || l ? "  " : "") + lines[l] + "\n";
      }
    }
    return out;
  }
  const auto add_line = [&](const std::vector<std::string>& cells, const std::vector<Style>& styles) {
    std::size_t last = cells.size();
    while (last > 0 && cells[last - 1].empty()) --last;
    for (std::size_t c = 0; c < last; ++c) {
      std::string cell = padded(cells[c], widths[c], columns_[c].align);
      if (c + 1 == last) cell.erase(cell.find_last_not_of(' ') + 1);
      out += (c ? std::string(kGap, ' ') : "") + styled(cell, styles[c], colour);
    }
    out += "\n";
  };
  const auto add_folded = [&](const std::vector<std::string>& cells, const std::vector<Style>& styles) {
    std::vector<std::vector<std::string>> parts;
    std::size_t height = 1;
    for (std::size_t c = 0; c < cells.size(); ++c) {
      parts.push_back(folded_lines(cells[c], widths[c]));
      height = std::max(height, parts.back().size());
    }
    for (std::size_t line = 0; line < height; ++line) {
      std::vector<std::string> now;
      for (const auto& part : parts) now.push_back(line < part.size() ? part[line] : "");
      add_line(now, styles);
    }
  };
  std::vector<std::string> titles, rules;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    titles.push_back(columns_[c].title);
    rules.emplace_back(static_cast<std::size_t>(widths[c]), '-');
  }
  add_folded(titles, std::vector<Style>(columns_.size(), Style::strong));
  add_line(rules, std::vector<Style>(columns_.size(), Style::faint));
  for (std::size_t r = 0; r < rows_.size(); ++r) add_folded(rows_[r], styles_[r]);
  return out;
}

}  // namespace tilewright::report
