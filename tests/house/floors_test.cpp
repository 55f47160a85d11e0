// The floors of src/ (src/floors.txt) hold: a folder includes only folders on lower floors, and no two rows include each other.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>

#include "base/mapped_file.h"

namespace tilewright {
namespace {

namespace fs = std::filesystem;

struct Row {
  int floor;
  std::string folder;  // "ops/core", or "ops/*": each subfolder is a row
};

std::vector<Row> parse_floors(const std::string& text) {
  std::vector<Row> rows;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    Row row;
    if (words >> row.floor >> row.folder) rows.push_back(row);
  }
  return rows;
}

// The row that a path under src/ belongs to: floor and the row's own name ("ops/rms_norm"); floor -1 if there is none.
std::pair<int, std::string> row_of(const std::vector<Row>& rows, const std::string& path) {
  for (const bool wildcard : {false, true})
    for (const Row& row : rows) {
      const bool is_wildcard = row.folder.ends_with("/*");
      if (is_wildcard != wildcard) continue;
      const std::string prefix = is_wildcard ? row.folder.substr(0, row.folder.size() - 1) : row.folder + "/";
      if (!path.starts_with(prefix)) continue;
      if (!is_wildcard) return {row.floor, row.folder};
      const std::size_t end = path.find('/', prefix.size());
      if (end != std::string::npos) return {row.floor, path.substr(0, end)};
    }
  return {-1, ""};
}

// What is wrong with one file's includes; empty if nothing.
std::vector<std::string> violations(const std::vector<Row>& rows, const std::string& file, const std::string& text) {
  std::vector<std::string> out;
  const auto [floor, row] = row_of(rows, file);
  if (floor < 0) return {file + " lies in no folder of src/floors.txt"};
  static const std::regex include(R"re(^\s*#\s*include\s*"([^"]+)")re");
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (!std::regex_search(line, match, include)) continue;
    const auto [other_floor, other_row] = row_of(rows, match[1]);
    if (other_floor < 0) continue;  // not ours, or generated
    if (other_row == row || other_floor < floor) continue;
    out.push_back(file + " (floor " + std::to_string(floor) + ") includes " + match[1].str() + " (floor " + std::to_string(other_floor) + ")");
  }
  return out;
}

std::vector<Row> floors() { return parse_floors(read_text_file(fs::path(TILEWRIGHT_SOURCE_DIR) / "src/floors.txt")); }

TEST(Floors, EveryIncludeGoesDown) {
  const fs::path root = fs::path(TILEWRIGHT_SOURCE_DIR) / "src";
  const auto rows = floors();
  int files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    const std::string extension = entry.path().extension();
    if (extension != ".h" && extension != ".cpp" && extension != ".inl") continue;
    ++files;
    for (const std::string& wrong : violations(rows, fs::relative(entry.path(), root), read_text_file(entry.path()))) ADD_FAILURE() << wrong;
  }
  EXPECT_GT(files, 20);
}

TEST(Floors, AViolationIsFound) {
  const auto rows = floors();
  EXPECT_EQ(violations(rows, "base/a.h", "#include \"tensor/shape.h\"\n").size(), 1u);
  EXPECT_EQ(violations(rows, "ops/rope/a.cpp", "#include \"ops/rms_norm/rms_norm.h\"\n").size(), 1u);
  EXPECT_EQ(violations(rows, "backends/host/a.cpp", "#include \"ops/small/rows.h\"\n").size(), 1u);
  EXPECT_EQ(violations(rows, "engine/a.cpp", "#include \"models/qwen3/config.h\"\n").size(), 1u);
  EXPECT_EQ(violations(rows, "nowhere/a.cpp", "").size(), 1u);
  EXPECT_TRUE(violations(rows, "ops/rope/a.cpp", "#include \"ops/core/op.h\"\n#include <vector>\n").empty());
  EXPECT_TRUE(violations(rows, "hub/gguf/a.cpp", "#include \"hub/tokenizer/tokenizer.h\"\n").empty());
}

TEST(House, EveryFolderOfARowHasAReadme) {
  const fs::path root = fs::path(TILEWRIGHT_SOURCE_DIR) / "src";
  for (const Row& row : floors()) {
    if (row.folder.ends_with("/*")) continue;
    EXPECT_TRUE(!fs::exists(root / row.folder) || fs::exists(root / row.folder / "README.md")) << row.folder;
  }
}

}  // namespace
}  // namespace tilewright
