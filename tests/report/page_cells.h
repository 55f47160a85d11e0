// The cells of a page's tables that say where in the report their number lies.
#pragma once

#include <gtest/gtest.h>

#include <regex>
#include <string>
#include <vector>

#include "base/json.h"
#include "report/shown_number.h"

namespace tilewright::test {

struct PageCell {
  std::string json, text;
};

inline std::vector<PageCell> page_cells(const std::string& page) {
  static const std::regex cell("data-json=\"([^\"]*)\"[^>]*>([^<]*)<");
  std::vector<PageCell> out;
  for (auto it = std::sregex_iterator(page.begin(), page.end(), cell); it != std::sregex_iterator(); ++it)
    out.push_back({(*it)[1], (*it)[2]});
  return out;
}

// Whether a number was compared; a place without one must show none.
inline bool expect_cell_shows(const PageCell& cell, const Json& report) {
  const Json::json_pointer at(cell.json);
  const auto shown = shown_number(cell.text);
  if (!report.contains(at) || report[at].is_null()) {
    EXPECT_FALSE(shown) << cell.json << " shows " << cell.text;
    return false;
  }
  EXPECT_TRUE(shown) << cell.json << " shows " << cell.text;
  if (!shown) return false;
  const double value = report[at];
  EXPECT_NEAR(shown->value, value, shown->half_digit * 1.001) << cell.json << " shows " << cell.text;
  if (shown->value != value) {
    EXPECT_LE(shown->half_digit, std::abs(value) * 0.006 + 1e-12) << cell.json << " shows only " << cell.text;
  }
  return true;
}

}  // namespace tilewright::test
