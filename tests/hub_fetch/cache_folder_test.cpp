#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>

#include "base/error.h"
#include "hub/fetch/snapshot_folder.h"
#include "hub/patch/patch_record.h"
#include "hub_fetch/layout_pieces.h"
#include "hub_fetch/scratch_folder.h"

namespace tilewright::hub {
namespace {

namespace fs = std::filesystem;
using State = SnapshotFolder::State;

class CacheLayoutTest : public ScratchFolder {
 protected:
  CacheLayoutTest() {
    settings_.cache = folder_ / "hub";
    cache_ = cache_folder(settings_, "org/name");
  }
  HubSettings settings_;
  std::unique_ptr<SnapshotFolder> cache_;
  fs::path repository_ = folder_ / "hub" / "models--org--name", snapshot_ = repository_ / "snapshots" / kCommit;
  RemoteFile weights_ = remote_file("deep/er/w.safetensors", "weights", true),
             config_ = remote_file("config.json", "{}", false);
};

TEST_F(CacheLayoutTest, IsThatOfTheReference) {
  EXPECT_FALSE(fs::exists(settings_.cache)) << "nothing is written yet";
  EXPECT_EQ(cache_->state(config_, kCommit), State::missing);
  bring(*cache_, config_, "{}");
  bring(*cache_, weights_, "weights");
  cache_->note_revision("main", kCommit);
  cache_->note_revision("refs/pr/1", kOther);
  cache_->note_revision(kCommit, kCommit);
  EXPECT_EQ(cache_->path(kCommit), snapshot_);
  EXPECT_EQ(fs::read_symlink(snapshot_ / "config.json"), "../../blobs/" + config_.blob_id);
  EXPECT_EQ(fs::read_symlink(snapshot_ / "deep/er/w.safetensors"), "../../../../blobs/" + weights_.sha256);
  EXPECT_EQ(read(snapshot_ / "deep/er/w.safetensors"), "weights");
  EXPECT_EQ(read(repository_ / "refs/main"), kCommit);
  EXPECT_EQ(read(repository_ / "refs/refs/pr/1"), kOther);
  EXPECT_FALSE(fs::exists(repository_ / "refs" / kCommit));
  EXPECT_EQ(cache_->tree_file(kCommit), repository_ / "trees" / (kCommit + ".json"));
  EXPECT_TRUE(fs::exists(folder_ / "hub/.locks/models--org--name" / (weights_.sha256 + ".lock")));
  EXPECT_TRUE(read(folder_ / "hub/CACHEDIR.TAG").starts_with("Signature: 8a477f597d28d172789f06886806bc55\n"));
  EXPECT_EQ(std::distance(fs::directory_iterator(repository_ / "blobs"), fs::directory_iterator()), 2);
  EXPECT_EQ(cache_->known_commit("main"), kCommit);
  EXPECT_EQ(cache_->known_commit("refs/pr/1"), kOther);
  EXPECT_EQ(cache_->known_commit(kOther), kOther);
  EXPECT_EQ(cache_->known_commit("v1"), std::nullopt);
  EXPECT_EQ(cache_->state(config_, kCommit), State::present);
  EXPECT_EQ(cache_->state(weights_, kCommit), State::present);
  EXPECT_EQ(cache_->state(config_, kOther), State::missing);
  EXPECT_TRUE(cache_->has_content(config_)) << "another commit needs no body";
}

TEST_F(CacheLayoutTest, AnySafeNameArrives) {
  for (const std::string& name : kSafeNames) {
    const RemoteFile file = remote_file(name, "text of " + name, name.size() % 2 == 0);
    EXPECT_EQ(cache_->state(file, kCommit), State::missing) << name;
    bring(*cache_, file, "text of " + name);
    EXPECT_EQ(cache_->state(file, kCommit), State::present) << name;
    EXPECT_EQ(read(snapshot_ / name), "text of " + name);
  }
}

TEST_F(CacheLayoutTest, ABlobThatIsNotRightIsMissing) {
  bring(*cache_, weights_, "weights");
  const fs::path blob = repository_ / "blobs" / weights_.sha256;
  write(blob, "weight");
  EXPECT_FALSE(cache_->has_content(weights_));
  EXPECT_EQ(cache_->state(weights_, kCommit), State::missing);
  fs::remove(blob);  // a dangling link
  EXPECT_EQ(cache_->state(weights_, kCommit), State::missing);
  bring(*cache_, weights_, "weights");
  EXPECT_EQ(cache_->state(weights_, kCommit), State::present);
  fs::remove(snapshot_ / weights_.path);
  fs::create_symlink("../../../../blobs/" + config_.blob_id, snapshot_ / weights_.path);  // another file's
  write(repository_ / "blobs" / config_.blob_id, "7 bytes");
  EXPECT_EQ(cache_->state(weights_, kCommit), State::missing);
  cache_->admit(weights_, kCommit);
  EXPECT_EQ(read(snapshot_ / weights_.path), "weights");
}

TEST_F(CacheLayoutTest, ABlobMayBeALinkAndIsNeverWrittenThrough) {
  const fs::path shared = folder_ / "hub/blobs/ab/shared", blob = repository_ / "blobs" / weights_.sha256;
  write(shared, "weights");
  fs::create_directories(blob.parent_path());
  fs::create_symlink("../../blobs/ab/shared", blob);
  EXPECT_TRUE(cache_->has_content(weights_));
  bring(*cache_, weights_, "weights");
  EXPECT_TRUE(fs::is_symlink(blob));
  EXPECT_EQ(cache_->state(weights_, kCommit), State::present);
  write(shared, "changed, by its owner");
  bring(*cache_, weights_, "weights");
  EXPECT_FALSE(fs::is_symlink(blob));
  EXPECT_EQ(read(shared), "changed, by its owner");
  EXPECT_EQ(read(snapshot_ / weights_.path), "weights");
}

TEST_F(CacheLayoutTest, RealFilesInASnapshotCount) {
  write(snapshot_ / "config.json", "{}");
  EXPECT_EQ(cache_->state(config_, kCommit), State::present);
  write(snapshot_ / "config.json", "[]");
  EXPECT_EQ(cache_->state(config_, kCommit), State::missing);
  bring(*cache_, config_, "{}");
  EXPECT_EQ(cache_->state(config_, kCommit), State::present);
}

TEST_F(CacheLayoutTest, WithoutLinksFilesAreCopied) {
  settings_.links = false;
  cache_ = cache_folder(settings_, "org/name");
  bring(*cache_, weights_, "weights");
  EXPECT_FALSE(fs::is_symlink(snapshot_ / weights_.path));
  EXPECT_EQ(read(snapshot_ / weights_.path), "weights");
  EXPECT_EQ(cache_->state(weights_, kCommit), State::present);
}

TEST_F(CacheLayoutTest, ALinkedFolderInASnapshotIsRefused) {
  fs::create_directories(snapshot_);
  fs::create_directories(folder_ / "outside");
  fs::create_directory_symlink(folder_ / "outside", snapshot_ / "deep");
  EXPECT_THROW(bring(*cache_, weights_, "weights"), Error);
  EXPECT_TRUE(fs::is_empty(folder_ / "outside"));
}

TEST_F(CacheLayoutTest, ALinkedCacheIsTheUsersOwnWish) {
  fs::create_directories(folder_ / "disk");
  fs::create_directories(settings_.cache);
  fs::create_directory_symlink(folder_ / "disk", repository_);
  bring(*cache_, weights_, "weights");
  EXPECT_EQ(read(snapshot_ / weights_.path), "weights");
  EXPECT_TRUE(fs::exists(folder_ / "disk/blobs"));
}

TEST_F(CacheLayoutTest, IsReadWhereItCannotBeWritten) {
  bring(*cache_, config_, "{}");
  cache_->note_revision("main", kCommit);
  const auto mode = fs::perms::owner_read | fs::perms::owner_exec;
  fs::permissions(repository_ / "refs", mode);
  EXPECT_NO_THROW(cache_->note_revision("main", kCommit));
  EXPECT_NO_THROW(cache_->note_revision("other", kCommit));
  fs::permissions(repository_ / "refs", fs::perms::owner_all);
  fs::remove_all(repository_ / "refs");
  write(repository_ / "refs", "no folder at all");
  EXPECT_NO_THROW(cache_->note_revision("main", kCommit));
  EXPECT_EQ(cache_->known_commit("main"), std::nullopt);
  EXPECT_EQ(cache_->state(config_, kCommit), State::present);
}

TEST_F(CacheLayoutTest, WhatRefsSayIsChecked) {
  for (const std::string& text : {std::string("../../x"), std::string(), std::string(39, 'a'), kCommit + kCommit}) {
    write(repository_ / "refs/main", text);
    EXPECT_EQ(cache_->known_commit("main"), std::nullopt);
  }
  write(repository_ / "refs/main", kCommit + "\n");
  EXPECT_EQ(cache_->known_commit("main"), kCommit);
  EXPECT_THROW(cache_->known_commit("../main"), Error);
  EXPECT_THROW(cache_folder(settings_, "../x"), Error);
}

TEST_F(CacheLayoutTest, FilesPatchedByPyptoGymStay) {
  bring(*cache_, config_, "{}");
  const fs::path blob = repository_ / "blobs" / config_.blob_id;
  write(snapshot_ / "config.json.pypto_orig", "{}");
  EXPECT_EQ(cache_folder(settings_, "org/name")->state(config_, kCommit), State::present);
  write(blob, "{\"patched\": 1}");
  EXPECT_EQ(cache_folder(settings_, "org/name")->state(config_, kCommit), State::patched) << "through the link";
  write(blob, "{");
  write(snapshot_ / "config.json.pypto_orig", "{\"publisher's\": 1}");
  EXPECT_EQ(cache_folder(settings_, "org/name")->state(config_, kCommit), State::missing) << "a damaged blob";
  fs::remove(snapshot_ / "config.json");
  EXPECT_EQ(cache_folder(settings_, "org/name")->state(config_, kCommit), State::missing);
  write(snapshot_ / "config.json", "{\"patched\": 1}");
  EXPECT_EQ(cache_folder(settings_, "org/name")->state(config_, kCommit), State::patched);
  cache_folder(settings_, "org/name")->admit(config_, kCommit);
  EXPECT_EQ(read(snapshot_ / "config.json"), "{\"patched\": 1}");
}

}  // namespace
}  // namespace tilewright::hub
