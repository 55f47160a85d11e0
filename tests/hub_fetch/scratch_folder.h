// A folder for one test, gone after it.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace tilewright::hub {

class ScratchFolder : public testing::Test {
 protected:
  ScratchFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "tilewright_fetch_XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~ScratchFolder() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  static void write(const std::filesystem::path& path, const std::string& text) {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
  }
  static std::string read(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  std::filesystem::path folder_;
};

}  // namespace tilewright::hub
