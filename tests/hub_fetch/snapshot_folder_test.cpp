#include "hub/fetch/snapshot_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>

#include "base/digest.h"
#include "base/error.h"
#include "base/file_lock.h"
#include "hub/fetch/partial_file.h"
#include "hub/patch/patch_record.h"
#include "hub_fetch/scratch_folder.h"

namespace tilewright::hub {
namespace {

namespace fs = std::filesystem;
using State = SnapshotFolder::State;

const std::string kCommit(40, 'c'), kOther(40, 'd');

RemoteFile remote_file(const std::string& path, const std::string& text, bool lfs) {
  Digest git = git_blob_digest(text.size());
  git.update(text);
  return {.path = path, .size = text.size(), .blob_id = git.hex(), .sha256 = lfs ? sha256_of_text(text) : ""};
}

// As pulling does it.
void bring(SnapshotFolder& folder, const RemoteFile& file, const std::string& text,
           const std::string& commit = kCommit) {
  const FileLock lock = FileLock::lock(folder.lock_file(file));
  if (!folder.has_content(file)) {
    PartialFile partial(folder.partial_file(file),
                        {.kind = file.sha256.empty() ? Digest::Kind::sha1 : Digest::Kind::sha256,
                         .hex = file.etag(),
                         .size = file.size});
    partial.restart();
    partial.append(std::as_bytes(std::span(text)));
    partial.publish(folder.content_file(file));
  }
  folder.admit(file, commit);
}

// Names that a repository may have: each must arrive under just this name.
const std::vector<std::string> kSafeNames = {"config.json",
                                             ".gitattributes",
                                             "a b/c d.txt",
                                             "deep/er/and/deeper/x",
                                             "\xe6\x97\xa5\xe6\x9c\xac/\xe8\xaa\x9e",
                                             "...",
                                             "-rf",
                                             "*?[",
                                             "$HOME",
                                             std::string(255, 'n'),
                                             "q/" + std::string(248, 'm'),
                                             "x.metadata",
                                             "x.lock",
                                             "'\"",
                                             "\xf0\x9f\x98\x80.json"};

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

class PlainLayoutTest : public ScratchFolder {
 protected:
  std::unique_ptr<SnapshotFolder> plain(bool may_write = true) { return plain_folder(model_, "org/name", may_write); }
  fs::path model_ = folder_ / "m", kept_ = model_ / ".cache/huggingface";
  RemoteFile weights_ = remote_file("deep/w.safetensors", "weights", true),
             config_ = remote_file("config.json", "{}", false);
};

TEST_F(PlainLayoutTest, IsThatOfTheReference) {
  auto folder = plain();
  EXPECT_FALSE(fs::exists(model_));
  bring(*folder, weights_, "weights");
  EXPECT_EQ(read(model_ / "deep/w.safetensors"), "weights");
  EXPECT_FALSE(fs::is_symlink(model_ / "deep/w.safetensors"));
  const std::string metadata = read(kept_ / "download/deep/w.safetensors.metadata");
  ASSERT_TRUE(metadata.starts_with(kCommit + "\n" + weights_.sha256 + "\n")) << metadata;
  const double now = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  EXPECT_NEAR(std::stod(metadata.substr(106)), now, 60);  // the same clock; a slow machine is not a minute slow
  EXPECT_EQ(metadata.back(), '\n');
  EXPECT_TRUE(fs::exists(kept_ / "download/deep/w.safetensors.lock"));
  EXPECT_EQ(read(kept_ / ".gitignore"), "*");
  EXPECT_TRUE(fs::exists(kept_ / "CACHEDIR.TAG"));
  EXPECT_EQ(folder->tree_file(kCommit), kept_ / "trees" / (kCommit + ".json"));
  // What Python makes of the name: base64.urlsafe_b64encode(hashlib.sha1(b"w.safetensors.metadata").digest())
  EXPECT_EQ(folder->partial_file(weights_),
            kept_ / "download/deep" / ("SRi8Wj6xQ6stkzPD2-oZfsD06BU=." + weights_.sha256 + ".incomplete"));
  EXPECT_EQ(folder->state(weights_, kCommit), State::present);
  EXPECT_TRUE(folder->has_content(weights_));
  EXPECT_FALSE(folder->has_content(remote_file(weights_.path, "WEIGHTS", true))) << "of the same size";
  EXPECT_FALSE(folder->has_content(config_));
  EXPECT_EQ(folder->known_commit("main"), std::nullopt);
  folder->note_revision("main", kCommit);
  EXPECT_EQ(plain()->known_commit("main"), kCommit);
  EXPECT_EQ(plain_folder(model_, "another/name")->known_commit("main"), std::nullopt);
}

TEST_F(PlainLayoutTest, RevisionsThatPythonNotedCount) {
  const fs::path cache = folder_ / "hub";
  write(cache / "models--org--name/refs/main", kCommit);
  const auto known = [&] { return plain_folder(model_, "org/name", true, cache)->known_commit("main"); };
  EXPECT_EQ(known(), std::nullopt) << "that commit may be in the cache alone";
  write(kept_ / "trees" / (kCommit + ".json"), "{}");
  EXPECT_EQ(known(), kCommit);
  plain()->note_revision("main", kOther);
  EXPECT_EQ(known(), kOther);
  EXPECT_EQ(plain_folder(model_, "org/other", true, cache)->known_commit("main"), std::nullopt);
}

TEST_F(PlainLayoutTest, AnySafeNameArrives) {
  auto folder = plain();
  for (const std::string& name : kSafeNames) {
    const RemoteFile file = remote_file(name, "text of " + name, name.size() % 2 == 0);
    bring(*folder, file, "text of " + name);
    EXPECT_EQ(folder->state(file, kCommit), State::present) << name;
    EXPECT_EQ(read(model_ / name), "text of " + name);
  }
}

TEST_F(PlainLayoutTest, AFileOfUnknownOriginIsHashed) {
  write(model_ / "config.json", "{}");
  write(model_ / "deep/w.safetensors", "weights");
  EXPECT_EQ(plain(false)->state(config_, kCommit), State::present);
  EXPECT_FALSE(fs::exists(model_ / ".cache")) << "a dry run writes nothing";
  EXPECT_EQ(plain()->state(config_, kCommit), State::present);
  EXPECT_EQ(plain()->state(weights_, kCommit), State::present);
  EXPECT_TRUE(read(kept_ / "download/config.json.metadata").starts_with(kCommit + "\n" + config_.blob_id + "\n"));
  write(model_ / "config.json", "[]");
  fs::remove_all(kept_);
  EXPECT_EQ(plain()->state(config_, kCommit), State::missing);
  EXPECT_FALSE(fs::exists(kept_ / "download/config.json.metadata"));
}

TEST_F(PlainLayoutTest, MetadataIsBelievedWhileItIsYounger) {
  bring(*plain(), config_, "{}");
  const fs::path file = model_ / "config.json", metadata = kept_ / "download/config.json.metadata";
  const auto changed_at = [&](double seconds_after) {
    struct stat info {};
    ASSERT_EQ(::stat(file.c_str(), &info), 0);
    const std::string text = read(metadata);
    const double noted = std::stod(text.substr(82)) + seconds_after;
    const auto whole = static_cast<time_t>(noted);
    const struct timespec times[2] = {{whole, 0},
                                      {whole, static_cast<long>((noted - static_cast<double>(whole)) * 1e9)}};
    ASSERT_EQ(::utimensat(AT_FDCWD, file.c_str(), times, 0), 0);
  };
  write(file, "[]");  // same size, other content: only the times tell
  changed_at(0.9);
  EXPECT_EQ(plain()->state(config_, kCommit), State::present);
  EXPECT_TRUE(plain()->has_content(config_));
  changed_at(1.1);
  EXPECT_FALSE(plain()->has_content(config_));
  EXPECT_EQ(plain()->state(config_, kCommit), State::missing);
  write(file, "{}");
  changed_at(100);
  EXPECT_EQ(plain()->state(config_, kCommit), State::present) << "changed back";
  write(metadata, kCommit + "\n" + std::string(40, 'e') + "\n9999999999.5\n");
  EXPECT_EQ(plain()->state(config_, kCommit), State::missing) << "known to be another one";
  for (const std::string& damaged :
       {std::string(), std::string("x"), kCommit + "\n", kCommit + "\n" + config_.blob_id + "\n",
        kCommit + "\n" + config_.blob_id + "\nsoon\n", std::string(5000, '\n')}) {
    write(metadata, damaged);
    EXPECT_EQ(plain()->state(config_, kCommit), State::present) << "hashed then";
  }
  write(metadata, kCommit + "\n" + config_.blob_id + "\n9999999999\n");
  EXPECT_EQ(plain()->state(config_, kOther), State::present);
  EXPECT_TRUE(read(metadata).starts_with(kOther)) << "it is the same file in that commit";
  write(file, "{ }");
  EXPECT_EQ(plain()->state(config_, kCommit), State::missing) << "the size is always asked";
}

TEST_F(PlainLayoutTest, NothingIsWrittenThroughALink) {
  const fs::path outside = folder_ / "outside";
  const auto clean = [&] {
    fs::remove_all(model_);
    fs::remove_all(outside);
    write(outside / "precious", "precious");
    fs::create_directories(model_);
  };
  const auto outside_is_as_it_was = [&] {
    return read(outside / "precious") == "precious" &&
           std::distance(fs::directory_iterator(outside), fs::directory_iterator()) == 1;
  };
  const fs::path download = kept_ / "download/deep";
  clean();
  const fs::path partial = plain()->partial_file(weights_);
  for (const fs::path& file : {model_ / "deep/w.safetensors", download / "w.safetensors.metadata", partial,
                               fs::path(partial.string() + ".state"), kept_ / ".gitignore", kept_ / "CACHEDIR.TAG"}) {
    clean();
    fs::create_directories(file.parent_path());
    fs::create_symlink(outside / "precious", file);
    bring(*plain(), weights_, "weights");
    EXPECT_TRUE(outside_is_as_it_was()) << file;
    EXPECT_EQ(read(model_ / "deep/w.safetensors"), "weights");
  }
  for (const fs::path& file :
       {download / "w.safetensors.lock", model_ / "deep", model_ / ".cache", kept_, kept_ / "download", download}) {
    clean();
    fs::create_directories(file.parent_path());
    fs::create_symlink(file.extension() == ".lock" ? outside / "new" : outside, file);
    EXPECT_THROW(bring(*plain(), weights_, "weights"), Error) << file;
    EXPECT_TRUE(outside_is_as_it_was()) << file;
    EXPECT_NO_THROW(plain()->note_revision("main", kCommit));
    EXPECT_TRUE(outside_is_as_it_was()) << file;
  }
  clean();
  fs::create_directories(kept_);
  fs::create_symlink(outside, kept_ / "trees");
  EXPECT_THROW(plain()->tree_file(kCommit), Error);
}

TEST_F(PlainLayoutTest, ALinkedDirectoryIsTheUsersOwnWish) {
  fs::create_directories(folder_ / "disk");
  fs::create_directory_symlink(folder_ / "disk", model_);
  bring(*plain(), weights_, "weights");
  EXPECT_EQ(read(folder_ / "disk/deep/w.safetensors"), "weights");
}

TEST_F(PlainLayoutTest, MustBeAFolder) {
  write(folder_ / "file", "x");
  EXPECT_THROW(plain_folder(folder_ / "file"), Error);
  EXPECT_THROW(plain_folder(folder_ / "file/below/it"), Error);
  EXPECT_NO_THROW(plain_folder(folder_ / "new/below/it"));
  write(model_ / "deep", "a file where a folder must be");
  EXPECT_THROW(bring(*plain(), weights_, "weights"), Error);
  fs::create_directories(model_ / "config.json");
  EXPECT_THROW(plain()->state(config_, kCommit), Error) << "found before anything is fetched";
  EXPECT_THROW(bring(*plain(), config_, "{}"), Error);
  EXPECT_TRUE(fs::is_directory(model_ / "config.json"));
}

TEST_F(PlainLayoutTest, PatchedFilesStay) {
  bring(*plain(), config_, "{}");
  const PatchRecord record{
      .files = {{.path = "config.json", .sha256 = std::string(64, 'a'), .backup = "config.json.orig"}},
      .folders = {},
      .overlay_of = {}};
  write(model_ / ".tilewright/patch.json", patch_record_json(record).dump());
  write(model_ / "config.json", "{\"patched\": 1}");
  EXPECT_EQ(plain()->patched_files(kCommit), std::vector<std::string>{"config.json"});
  EXPECT_EQ(plain()->state(config_, kCommit), State::patched);
  EXPECT_EQ(plain()->state(weights_, kCommit), State::missing);
  fs::remove(model_ / "config.json");
  EXPECT_EQ(plain()->state(config_, kCommit), State::missing) << "a file that is gone does not stay";
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

TEST_F(PlainLayoutTest, FilesPatchedByPyptoGymStay) {
  for (const char* suffix : {".pypto_orig", ".hf_orig"}) {
    bring(*plain(), config_, "{}");
    write(model_ / ("config.json" + std::string(suffix)), "{}");
    EXPECT_EQ(plain()->state(config_, kCommit), State::present) << "what is the publisher's is not patched";
    write(model_ / "config.json", "{\"patched\": 1}");
    EXPECT_EQ(plain()->state(config_, kCommit), State::patched) << suffix;
    fs::remove(model_ / ".cache/huggingface/download/config.json.metadata");
    EXPECT_EQ(plain()->state(config_, kCommit), State::patched) << "fetched by whatever tool";
    fs::remove_all(model_);
  }
}

TEST_F(PlainLayoutTest, ABackupThatThePublisherShipsKeepsNoOldFile) {
  bring(*plain(), config_, "{}");
  write(model_ / "config.json.hf_orig", "{\"older\": 1}");
  RemoteFile next = config_;
  next.size = 3;
  next.blob_id = remote_file("config.json", "{ }", false).blob_id;
  EXPECT_EQ(plain()->state(next, kCommit), State::missing) << "the file is as it was fetched";
}

}  // namespace
}  // namespace tilewright::hub
