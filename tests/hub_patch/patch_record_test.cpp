#include "hub/patch/patch_record.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "hub_patch/tree.h"

namespace tilewright::hub {
namespace {

using namespace testing_trees;

const std::string kSomeHash(64, 'a');

Json record_with(const Json& file, const Json& folders = Json::array()) {
  return {{"format", "tilewright-patch-1"}, {"files", {file}}, {"folders", folders}};
}

TEST(PatchRecord, ComesBackAsItWasWritten) {
  PatchRecord record;
  record.files = {{"a/b.py", kSomeHash, "", true},
                  {"config.json", kSomeHash, "config.json.tilewright.2.orig", true},
                  {"x.py", kSomeHash, "x.py.pypto_orig", false}};
  record.folders = {"a"};
  record.overlay_of = "/models/x";
  const Json json = patch_record_json(record);
  EXPECT_EQ(patch_record_json(parse_patch_record(json.dump(), "t")), json);
}

TEST(PatchRecord, RefusesWhatLeavesTheModel) {
  for (const char* path :
       {"../x", "/etc/passwd", "a/../../x", "", ".", "a//b", "C:x", "a\\b", ".tilewright/x", ".TileWright", "a/./b"})
    EXPECT_THROW(parse_patch_record(record_with({{"path", path}, {"sha256", kSomeHash}}).dump(), "t"), Error) << path;
  for (const char* backup : {"../config.json.orig", "model.safetensors", "config.json", "config.json.orig/../../x",
                             "config.json.bak", "config.json.tilewright.x.orig", "/config.json.orig"})
    EXPECT_THROW(parse_patch_record(
                     record_with({{"path", "config.json"}, {"sha256", kSomeHash}, {"backup", backup}}).dump(), "t"),
                 Error)
        << backup;
  for (const Json& folder : {Json("../a"), Json(1), Json(".tilewright")})
    EXPECT_THROW(parse_patch_record(record_with({{"path", "a"}, {"sha256", kSomeHash}}, {folder}).dump(), "t"), Error)
        << folder;
}

TEST(PatchRecord, RefusesOtherShapes) {
  for (const char* text :
       {"", "[]", "{}", "{\"format\": \"tilewright-patch-2\", \"files\": [], \"folders\": []}",
        "{\"format\": \"tilewright-patch-1\", \"files\": {}, \"folders\": []}",
        "{\"format\": \"tilewright-patch-1\", \"files\": [1], \"folders\": []}",
        "{\"format\": \"tilewright-patch-1\", \"files\": [{\"path\": \"a\", \"sha256\": \"1\"}], \"folders\": []}"})
    EXPECT_THROW(parse_patch_record(text, "t"), Error) << text;
}

TEST(PatchRecord, PatchedFilesAreThoseOfTheRecord) {
  const TemporaryTree tree;
  EXPECT_TRUE(patched_files(tree.path()).empty());
  EXPECT_FALSE(read_patch_record(tree.path()));
  put_file(tree.path() / ".tilewright/patch.json", record_with({{"path", "a.py"}, {"sha256", kSomeHash}}).dump());
  EXPECT_EQ(patched_files(tree.path()), std::vector<std::string>{"a.py"});
  put_file(tree.path() / ".tilewright/patch.json", "{");
  EXPECT_TRUE(patched_files(tree.path()).empty());
  EXPECT_THROW(read_patch_record(tree.path()), Error);
}

TEST(PatchRecord, IsNotReadThroughALink) {
  const TemporaryTree tree;
  put_file(tree.path() / "elsewhere/patch.json", record_with({{"path", "a.py"}, {"sha256", kSomeHash}}).dump());
  fs::create_directories(tree.path() / "model");
  fs::create_directory_symlink("../elsewhere", tree.path() / "model/.tilewright");
  EXPECT_THROW(read_patch_record(tree.path() / "model"), Error);
  fs::remove(tree.path() / "model/.tilewright");
  fs::create_directories(tree.path() / "model/.tilewright");
  fs::create_symlink("../../elsewhere/patch.json", tree.path() / "model/.tilewright/patch.json");
  EXPECT_THROW(read_patch_record(tree.path() / "model"), Error);
}

TEST(PatchRecord, FindsBackupsOfOtherTools) {
  const TemporaryTree tree;
  for (const char* path :
       {"config.json.pypto_orig", "sub/x.py.hf_orig", ".tilewright/y.pypto_orig", "y.orig", ".pypto_orig"})
    put_file(tree.path() / path, "x");
  fs::create_directories(tree.path() / "folder.pypto_orig");
  fs::create_symlink("nowhere", tree.path() / "z.hf_orig");
  fs::create_directory_symlink(".", tree.path() / "round");
  EXPECT_EQ(foreign_backups(tree.path()), (std::vector<std::string>{"config.json", "sub/x.py", "z"}));
  EXPECT_EQ(foreign_backup(tree.path(), "config.json"), "config.json.pypto_orig");
  EXPECT_FALSE(foreign_backup(tree.path(), "y"));
}

TEST(PatchRecord, NamesOfBackups) {
  for (int i = 0; i < 12; ++i) EXPECT_TRUE(is_backup_name("a/b.json", backup_name("a/b.json", i)));
  EXPECT_EQ(backup_name("a", 0), "a.orig");
  EXPECT_NE(unpatchable_reason(".TILEWRIGHT/x"), "");
  EXPECT_NE(unpatchable_reason("a/.."), "");
  EXPECT_EQ(unpatchable_reason("a/b.py"), "");
}

}  // namespace
}  // namespace tilewright::hub
