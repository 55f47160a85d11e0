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
