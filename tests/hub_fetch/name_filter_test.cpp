#include "hub/fetch/name_filter.h"

#include <gtest/gtest.h>

#include <fstream>
#include <random>

namespace tilewright::hub {
namespace {

std::string bytes_of(const std::string& hex) {
  std::string text;
  for (std::size_t i = 0; hex != "-" && i + 1 < hex.size(); i += 2)
    text += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return text;
}

TEST(NameFilterTest, AgreesWithPython) {  // tools/make_pattern_cases.py
  std::ifstream in(TILEWRIGHT_SOURCE_DIR "/tests/hub_fetch/pattern_cases.txt");
  int wanted = 0, cases = 0, taken = 0;
  for (std::string name, pattern; in >> wanted >> name >> pattern; ++cases, taken += wanted)
    EXPECT_EQ(matches_pattern(bytes_of(name), bytes_of(pattern)), wanted == 1)
        << '"' << bytes_of(name) << "\" and \"" << bytes_of(pattern) << '"';
  EXPECT_GT(cases, 10000);
  EXPECT_GT(taken, 1000);
}

// Of matching by trial of every split, this would be some 10^200 steps: the test would not end.
TEST(NameFilterTest, ManyStarsAreNotExponential) {
  std::string pattern;
  for (int i = 0; i < 400; ++i) pattern += "a*";
  EXPECT_FALSE(matches_pattern(std::string(4000, 'a'), pattern + "b"));
  EXPECT_TRUE(matches_pattern(std::string(4000, 'a') + "b", pattern + "b"));
  EXPECT_FALSE(matches_pattern(std::string(4000, 'a'), std::string(4000, '*') + "b"));
}

TEST(NameFilterTest, AStarIsAnyText) {  // against the definition, by trial of every split
  const auto by_definition = [](const auto& self, std::string_view name, std::string_view pattern) -> bool {
    if (pattern.empty()) return name.empty();
    if (pattern[0] == '*')
      return self(self, name, pattern.substr(1)) || (!name.empty() && self(self, name.substr(1), pattern));
    return !name.empty() && (pattern[0] == '?' || pattern[0] == name[0]) &&
           self(self, name.substr(1), pattern.substr(1));
  };
  std::mt19937 random(3);
  for (int round = 0; round < 20000; ++round) {
    std::string name, pattern;
    for (std::size_t i = random() % 9; i-- > 0;) name += "ab"[random() % 2];
    for (std::size_t i = random() % 7; i-- > 0;) pattern += "ab*?"[random() % 4];
    EXPECT_EQ(matches_pattern(name, pattern), by_definition(by_definition, name, pattern)) << name << ' ' << pattern;
  }
}

TEST(NameFilterTest, IgnoringComesAfterAllowing) {
  const NameFilter all({}, {});
  EXPECT_TRUE(all.takes("anything/at all"));
  EXPECT_EQ(all.describe(), "");
  const NameFilter some({"*.json", "weights/"}, {"*secret*"});
  EXPECT_TRUE(some.takes("config.json"));
  EXPECT_TRUE(some.takes("deep/config.json"));
  EXPECT_TRUE(some.takes("weights/a/b.bin"));
  EXPECT_FALSE(some.takes("weights"));
  EXPECT_FALSE(some.takes("Config.JSON"));
  EXPECT_FALSE(some.takes("secret.json"));
  EXPECT_FALSE(some.takes("a.txt"));
  EXPECT_TRUE(NameFilter({"weights\\*.bin"}, {}).takes("weights/a.bin"));
  EXPECT_FALSE(NameFilter({}, {"weights\\"}).takes("weights/a.bin"));
  EXPECT_EQ(NameFilter({"*.json"}, {"b"}).describe(), "--allow-pattern '*.json' and no --ignore-pattern 'b'");
  EXPECT_EQ(NameFilter({}, {"b", "c/"}).describe(), "no --ignore-pattern 'b' or 'c/*'");
  EXPECT_EQ(NameFilter({"a", "b"}, {}).describe(), "--allow-pattern 'a' or 'b'");
}

}  // namespace
}  // namespace tilewright::hub
