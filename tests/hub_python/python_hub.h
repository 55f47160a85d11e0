// Python's huggingface_hub in a process of its own, with a home of its own.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>

#include "base/json.h"

namespace tilewright::test {

// Why it cannot run here; empty if it can.
std::string python_hub_missing();

struct PythonAnswers {
  Json answers;     // one for each call: {"result"} or {"error", "classes", "message"}
  std::string log;  // its stderr
};

// Makes the calls one after the other: [{"call": "snapshot_download", "arguments": {…}}, …].
PythonAnswers call_python_hub(const Json& calls, const std::string& endpoint, const std::filesystem::path& home,
                              const std::map<std::string, std::string>& environment = {});

// A folder for one test, gone afterwards; the test is skipped where Python is absent.
class PythonHub : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;
  std::filesystem::path folder;
};

// Relative path → contents of all files below a folder, links followed; `.cache` left out.
std::map<std::string, std::string> files_below(const std::filesystem::path& folder);

}  // namespace tilewright::test
