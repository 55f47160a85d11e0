#include "cli/number_list.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace tilewright::cli {
namespace {

constexpr std::int64_t kMost = std::int64_t{1} << 31;

std::optional<std::int64_t> number_of(const std::string& word) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size() || value < 1 || value > kMost) return {};
  return value;
}

}  // namespace

std::string whole_number_complaint(const std::string& text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool good = error == std::errc() && end == text.data() + text.size();
  return good ? "" : "expected a whole number from 0 to 18446744073709551615, found " + text;
}

std::vector<std::string> word_list(const std::string& text) {
  std::vector<std::string> out;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t comma = std::min(text.find(',', begin), text.size());
    const std::size_t first = text.find_first_not_of(' ', begin);
    const std::size_t last = comma == begin ? std::string::npos : text.find_last_not_of(' ', comma - 1);
    const bool blank = first >= comma || last == std::string::npos || last < first;
    out.push_back(blank ? "" : text.substr(first, last - first + 1));
    begin = comma + 1;
  }
  return out;
}

std::string number_list_complaint(const std::string& text) {
  for (const std::string& word : word_list(text))
    if (!number_of(word))
      return "expected whole numbers from 1 to 2147483648, separated by commas, found " +
             (text.empty() ? std::string("nothing") : text);
  return "";
}

std::vector<std::int64_t> number_list(const std::string& text) {
  std::vector<std::int64_t> out;
  for (const std::string& word : word_list(text)) out.push_back(*number_of(word));
  return out;
}

}  // namespace tilewright::cli
