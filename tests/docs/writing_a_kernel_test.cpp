// docs/writing-a-kernel.md does what it says: its files are built (cmake/documented_operator.cmake), its commands run
// here.
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "base/mapped_file.h"

namespace tilewright {
namespace {

// The lines of the page that begin with "$ ".
std::vector<std::string> commands() {
  std::istringstream page(
      read_text_file(std::filesystem::path(TILEWRIGHT_SOURCE_DIR) / "docs" / "writing-a-kernel.md"));
  std::vector<std::string> out;
  for (std::string line; std::getline(page, line);)
    if (line.starts_with("$ tilewright ")) out.push_back(line.substr(13));
  return out;
}

struct Outcome {
  int code = -1;
  std::string text;
};
Outcome run(const std::string& command) {
  const std::string cache = testing::TempDir() + "tilewright_docs_cache";
  const std::string line = "XDG_CACHE_HOME=" + cache +
                           " TILEWRIGHT_LLVM_MODULE=" TILEWRIGHT_BINARY_DIR
                           "/lib/libtilewright_llvm.so " TILEWRIGHT_BINARY_DIR "/documented/tilewright_documented " +
                           command + " 2>&1";
  Outcome out;
  FILE* pipe = popen(line.c_str(), "r");
  char buffer[4096];
  for (std::size_t n; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) out.text.append(buffer, n);
  out.code = pclose(pipe);
  return out;
}

TEST(WritingAKernel, EveryCommandOfThePageRuns) {
  const std::vector<std::string> all = commands();
  ASSERT_EQ(all.size(), 4u);
  for (const std::string& command : all) {
    const Outcome o = run(command);
    EXPECT_EQ(o.code, 0) << command << "\n" << o.text;
    if (!command.starts_with("kernels show")) continue;
    const char* wanted = command.find("assembly") == std::string::npos ? "parallel block" : "tw_run";
    EXPECT_NE(o.text.find(wanted), std::string::npos) << o.text;
  }
}

TEST(WritingAKernel, TheKernelIsVerifiedAndMeasured) {
  const Outcome verified = run("kernels verify sigmoid_mul --random 20");
  std::istringstream lines(verified.text);
  int passed = 0;
  for (std::string line; std::getline(lines, line);)
    passed += line.starts_with("sigmoid_mul") && line.find("pass") != std::string::npos;
  EXPECT_EQ(passed, 4) << verified.text;  // written and derived, f32 and bf16
  const Outcome measured = run("kernels bench sigmoid_mul --rounds 2");
  for (const char* arm : {"decomposition", "\nsigmoid_mul ", "sigmoid_mul.derived", "limit"})
    EXPECT_NE(measured.text.find(arm), std::string::npos) << arm << "\n" << measured.text;
}

}  // namespace
}  // namespace tilewright
