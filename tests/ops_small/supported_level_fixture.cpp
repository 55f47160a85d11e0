// Ends the program with 77 (skipped, for CTest) if TILEWRIGHT_ISA names a level that this processor does not support.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "base/cpu.h"

namespace tilewright {
namespace {

class SupportedLevel : public testing::Environment {
  void SetUp() override {
    const char* level = std::getenv("TILEWRIGHT_ISA");
    if (level == nullptr || *level == '\0' || is_supported(isa_from_name(level))) return;
    std::printf("skipped: this processor does not support %s\n", level);
    std::exit(77);
  }
};

[[maybe_unused]] const auto* const kSupportedLevel = testing::AddGlobalTestEnvironment(new SupportedLevel);

}  // namespace
}  // namespace tilewright
