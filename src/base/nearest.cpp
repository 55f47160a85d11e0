#include "base/nearest.h"

#include <algorithm>
#include <cctype>
#include <vector>

namespace tilewright {

int edit_distance(std::string_view a, std::string_view b) {
  const auto same = [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) == std::tolower(static_cast<unsigned char>(y));
  };
  std::vector<int> before, previous(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) previous[j] = static_cast<int>(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = static_cast<int>(i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({previous[j] + 1, row[j - 1] + 1, previous[j - 1] + (same(a[i - 1], b[j - 1]) ? 0 : 1)});
      if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1]))
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before = previous;
    std::swap(previous, row);
  }
  return previous[b.size()];
}

std::string nearest(std::string_view name, std::span<const std::string> candidates, double share) {
  std::string best;
  double least = share;
  for (const std::string& candidate : candidates) {
    const double longer = static_cast<double>(std::max<std::size_t>({name.size(), candidate.size(), 1}));
    const double distance = edit_distance(name, candidate) / longer;
    if (distance <= least && (best.empty() || distance < least)) {
      least = distance;
      best = candidate;
    }
  }
  return best;
}

}  // namespace tilewright
