#include "engine/fuse_list.h"

#include <gtest/gtest.h>

namespace tilewright::engine {
namespace {

TEST(FuseList, WordsStandInAnyOrder) {
  const struct {
    const char *text, *composites;
    bool automatic, found;
  } cases[] = {{"", "none", false, false},
               {"none", "none", false, false},
               {"auto", "none", true, false},
               {"found", "none", false, true},
               {"rms_norm,rope", "rms_norm,rope", false, false},
               {"found,auto", "none", true, true},
               {"rms_norm,auto,rope,found", "rms_norm,rope", true, true},
               {"automatic,founder", "automatic,founder", false, false}};
  for (const auto& each : cases) {
    const FuseList list = parse_fuse_list(each.text);
    EXPECT_EQ(list.composites, each.composites) << each.text;
    EXPECT_EQ(list.automatic, each.automatic) << each.text;
    EXPECT_EQ(list.found, each.found) << each.text;
  }
}

}  // namespace
}  // namespace tilewright::engine
