// Names of folders in the hub's cache, there and back.
#include "hub/fetch/cache_names.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "hub/fetch/names.h"

namespace tilewright::hub {
namespace {

TEST(CacheNames, LeadBackToTheRepository) {
  for (const std::string id : {"org/name", "gpt2", "a-b/c.d_e-f", "Qwen/Qwen3-0.6B"}) {
    const std::filesystem::path cache = "/models--x--y/snapshots";  // names further up say nothing
    const auto place = snapshot_place(cache / cache_folder_name(id) / "snapshots" / "c0ffee");
    ASSERT_TRUE(place) << id;
    EXPECT_EQ(place->id, id);
    EXPECT_EQ(place->commit, "c0ffee");
  }
  EXPECT_EQ(cache_folder_name("org/name"), "models--org--name");
  EXPECT_THROW(cache_folder_name("../x"), Error);
}

TEST(CacheNames, OtherDirectoriesAreNoSnapshots) {
  for (const char* path :
       {"", "snapshots", "/m/models--org--name/refs/c", "/m/org--name/snapshots/c", "/m/models--/snapshots/c",
        "/m/models--org--..--x/snapshots/c", "/m/models--a--b--c/snapshots/c"})
    EXPECT_FALSE(snapshot_place(path)) << path;
}

TEST(CacheNames, CommitsAreInLowerCaseAndBranchesAsTheyAre) {
  const std::string commit = "0123456789ABCDEFabcdef0123456789ABCDEF00";
  EXPECT_EQ(usual_revision(commit), "0123456789abcdefabcdef0123456789abcdef00");
  for (const std::string other : {"Main", "V1.0-RC", "refs/pr/A", "ABCDEF", ""})
    EXPECT_EQ(usual_revision(other), other);
}

}  // namespace
}  // namespace tilewright::hub
