#include "base/cache_folder.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <string>

namespace tilewright {
namespace {

// Restores a variable of the environment.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    value ? setenv(name, value, 1) : unsetenv(name);
  }
  ~Variable() { before_ ? setenv(name_, before_->c_str(), 1) : unsetenv(name_); }

 private:
  const char* name_;
  std::optional<std::string> before_;
};

TEST(CacheFolder, FollowsTheVariablesAndNoRelativePath) {
  const struct {
    const char *cache, *home, *expected;
  } cases[] = {{"/c", "/h", "/c/tilewright"},      {nullptr, "/h", "/h/.cache/tilewright"},
               {"", "/h", "/h/.cache/tilewright"}, {"relative", "/h", "/h/.cache/tilewright"},
               {"relative", "also", ""},           {nullptr, nullptr, ""},
               {"/c", nullptr, "/c/tilewright"}};
  for (const auto& each : cases) {
    const Variable cache("XDG_CACHE_HOME", each.cache), home("HOME", each.home);
    EXPECT_EQ(user_cache_folder(), each.expected);
  }
}

}  // namespace
}  // namespace tilewright
