#include "report/table.h"

#include <algorithm>

#include "base/error.h"

namespace tilewright::report {
namespace {

constexpr int kGap = 2;
constexpr int kNarrowest = 12;  // a folded column keeps at least this

// Breaks at spaces; a word longer than the width is cut.
std::vector<std::string> folded(const std::string& text, int width) {
  std::vector<std::string> lines(1);
  std::size_t at = 0;
  while (at < text.size()) {
    std::size_t end = text.find(' ', at);
    if (end == std::string::npos) end = text.size();
    std::string word = text.substr(at, end - at);
    at = end + 1;
    const bool fits = lines.back().empty() || display_width(lines.back()) + 1 + display_width(word) <= width;
    if (!fits) lines.emplace_back();
    while (display_width(word) > width) {
      std::size_t cut = 0;
      for (int n = 0; n < width; ++n) {
        ++cut;
        while (cut < word.size() && (static_cast<unsigned char>(word[cut]) & 0xc0) == 0x80) ++cut;
      }
      lines.back() = word.substr(0, cut);
      word.erase(0, cut);
      lines.emplace_back();
    }
    lines.back() += (lines.back().empty() ? "" : " ") + word;
  }
  return lines;
}

std::string padded(const std::string& text, int width, Align align) {
  const std::string space(static_cast<std::size_t>(std::max(0, width - display_width(text))), ' ');
  return align == Align::left ? text + space : space + text;
}

}  // namespace

int display_width(const std::string& text) {
  return static_cast<int>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

void Table::add_row(std::vector<std::string> cells) {
  TW_CHECK(cells.size() == columns_.size());
  rows_.push_back(std::move(cells));
}

std::string Table::text(int width) const {
  std::vector<int> widths;
  int total = -kGap;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    int w = display_width(columns_[c].title);
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
  const auto add_line = [&](const std::vector<std::string>& cells) {
    std::string line;
    for (std::size_t c = 0; c < cells.size(); ++c)
      line += (c ? std::string(kGap, ' ') : "") + padded(cells[c], widths[c], columns_[c].align);
    while (!line.empty() && line.back() == ' ') line.pop_back();
    out += line + "\n";
  };
  const auto add_folded = [&](const std::vector<std::string>& cells) {
    std::vector<std::vector<std::string>> parts;
    std::size_t height = 1;
    for (std::size_t c = 0; c < cells.size(); ++c) {
      parts.push_back(folded(cells[c], widths[c]));
      height = std::max(height, parts.back().size());
    }
    for (std::size_t line = 0; line < height; ++line) {
      std::vector<std::string> now;
      for (const auto& part : parts) now.push_back(line < part.size() ? part[line] : "");
      add_line(now);
    }
  };
  std::vector<std::string> titles, rules;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    titles.push_back(columns_[c].title);
    rules.emplace_back(static_cast<std::size_t>(widths[c]), '-');
  }
  add_folded(titles);
  add_line(rules);
  for (const auto& row : rows_) add_folded(row);
  return out;
}

}  // namespace tilewright::report
