#include "hub/fetch/pull.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <set>
#include <thread>

#include "base/error.h"
#include "base/file_lock.h"
#include "hub/fetch/listing.h"
#include "hub/fetch/pull_plan.h"
#include "hub/fetch/snapshot_folder.h"
#include "hub_fetch/pull_fixture.h"

namespace tilewright::test {
namespace {

namespace fs = std::filesystem;
using hub::PullRequest;
using Status = hub::PulledFile::Status;

// Both layouts obey the same laws.
class PullTest : public PullFixture, public ::testing::WithParamInterface<bool> {
 public:
  PullTest() : request{.id = "org/model", .output_dir = GetParam() ? root / "model" : fs::path()} {}

  Status status_of(const hub::PullResult& result, const std::string& path) const {
    for (const hub::PulledFile& pulled : result.files) {
      if (pulled.file.path == path) return pulled.status;
    }
    throw std::runtime_error("not in the result: " + path);
  }

  HubRepository repository = small_repository();
  PullRequest request;
};
INSTANTIATE_TEST_SUITE_P(Layouts, PullTest, ::testing::Values(false, true),
                         [](const auto& layout) { return layout.param ? "Directory" : "Cache"; });

TEST_P(PullTest, BringsEveryFileAndThenNothingMore) {
  const std::string commit = server.serve(repository);
  const hub::PullResult first = pull(request);
  EXPECT_EQ(first.commit, commit);
  EXPECT_TRUE(first.path.is_absolute());
  EXPECT_FALSE(first.from_disk);
  EXPECT_EQ(first.path, GetParam() ? root / "model" : root / "cache/models--org--model/snapshots" / commit);
  expect_whole(repository, first.path);
  EXPECT_EQ(told.listed_files, 5u);
  EXPECT_EQ(std::set<std::string>(told.finished_files.begin(), told.finished_files.end()).size(), 5u);
  std::uint64_t received = 0;
  for (const hub::PulledFile& pulled : first.files) {
    EXPECT_EQ(pulled.status, Status::fetched) << pulled.file.path;
    EXPECT_EQ(pulled.received, pulled.file.size) << pulled.file.path;
    received += pulled.received;
  }
  EXPECT_EQ(told.bytes_to_fetch, received);
  EXPECT_EQ(server.body_bytes_sent("/resolve/"), received);

  server.forget_requests();
  const hub::PullResult second = pull(request);
  EXPECT_EQ(body_requests(), 0u);
  EXPECT_EQ(requests_of("/tree/"), 0u);  // the list of a commit is kept
  EXPECT_EQ(second.files.size(), 5u);
  for (const hub::PulledFile& pulled : second.files) EXPECT_EQ(pulled.status, Status::present) << pulled.file.path;
}

TEST_P(PullTest, BringsWhatThePatternsTake) {
  server.serve(repository);
  request.allow = {"*.json", "*.safetensors"};
  request.ignore = {"extra/"};
  const hub::PullResult result = pull(request);
  std::set<std::string> names;
  for (const hub::PulledFile& pulled : result.files) names.insert(pulled.file.path);
  EXPECT_EQ(names, (std::set<std::string>{"config.json", "tokenizer.json", "model.safetensors"}));
  EXPECT_FALSE(fs::exists(result.path / "extra"));
  EXPECT_EQ(body_requests(), 3u);
  request.allow = {"*.gguf"};
  const std::string error = pull_error(request);
  EXPECT_NE(error.find("*.gguf"), std::string::npos) << error;
}

TEST_P(PullTest, RefusesAWholeListingForOneUnsafeNameOrHash) {
  const std::vector<HubFile> traps = {{.path = "../out.json", .bytes = "x"},
                                      {.path = "/etc/out", .bytes = "x"},
                                      {.path = "a\\..\\b", .bytes = "x"},
                                      {.path = "C:/b", .bytes = "x"},
                                      {.path = "//host/share", .bytes = "x"},
                                      {.path = "a/./b", .bytes = "x"},
                                      {.path = "b.bin", .bytes = "x", .etag = "../../x"},
                                      {.path = "b.bin", .bytes = "x", .lfs = true, .etag = std::string(63, 'a')},
                                      {.path = "b.bin", .bytes = "x", .etag = std::string(40, 'g')}};
  for (const HubFile& trap : traps) {
    SCOPED_TRACE(trap.path + " " + trap.etag);
    HubRepository bad = repository;
    bad.files.push_back(trap);
    bad.commit = std::string(40, '1');
    server.serve(bad);
    request.allow = {"config.json"};  // what is wrong is not even asked for
    EXPECT_NE(pull_error(request), "");
    EXPECT_EQ(body_requests(), 0u);
    EXPECT_EQ(names_below(root), std::vector<std::string>{});
  }
}

TEST_P(PullTest, LooksForSpaceBeforeAnyBody) {
  repository.files.push_back({.path = "huge.bin",
                              .bytes = {},
                              .lfs = true,
                              .made_size = std::uint64_t{1} << 50,
                              .etag = std::string(64, 'a')});
  server.serve(repository);
  const std::string error = pull_error(request);
  EXPECT_NE(error.find("space"), std::string::npos) << error;
  EXPECT_EQ(body_requests(), 0u);
  request.ignore = {"huge.bin"};  // only what is asked for counts
  expect_whole(small_repository(), pull(request).path);
}

TEST_P(PullTest, FetchesOneContentOnce) {
  for (int i = 0; i < 5; i++) {
    const std::string n = std::to_string(i);
    repository.files.push_back({.path = "same" + n + ".bin", .bytes = std::string(50000, 'x'), .lfs = true});
    repository.files.push_back({.path = n + "/__init__.py", .bytes = ""});
  }
  server.serve(repository);
  const hub::PullResult result = pull(request);
  expect_whole(repository, result.path);
  EXPECT_EQ(requests_of("/same"), 1u);
  EXPECT_EQ(body_requests(), 6u);  // none of an empty file
  EXPECT_EQ(told.finished_files.size(), 15u);

  fs::remove(result.path / "same3.bin");
  server.forget_requests();
  expect_whole(repository, pull(request).path);
  EXPECT_EQ(told.bytes_to_fetch, 0u);
  EXPECT_EQ(body_requests(), 0u);
  if (!GetParam()) fs::remove_all(root / "cache/models--org--model/snapshots");  // blobs are enough
  expect_whole(repository, pull(request).path);
  EXPECT_EQ(told.bytes_to_fetch, 0u);
  EXPECT_EQ(body_requests(), 0u);

  request.force = true;
  expect_whole(repository, pull(request).path);
  EXPECT_EQ(requests_of("/same"), 1u);
}

TEST_P(PullTest, WhatCameWhileALockWasHeldIsLookedAtAgain) {
  const std::string commit = server.serve(repository);
  const std::unique_ptr<hub::SnapshotFolder> folder =
      GetParam() ? hub::plain_folder(root / "model") : hub::cache_folder(settings(), "org/model");
  const HubFile& config = file_named(repository, "config.json");
  std::optional<FileLock> lock = FileLock::lock(folder->lock_file(
      {.path = config.path, .size = config.bytes.size(), .blob_id = HubServer::etag_of(config), .sha256 = {}}));
  std::thread other([&] {  // brings it when all but this one are asked for
    for (int i = 0; i < 10000 && body_requests() < 4; i++) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    fs::create_directories(folder->path(commit));
    std::ofstream(folder->path(commit) / config.path) << config.bytes;
    lock.reset();
  });
  const hub::PullResult result = pull(request);
  other.join();
  EXPECT_EQ(requests_of("/config.json"), 0u);
  EXPECT_EQ(status_of(result, "config.json"), Status::present);
  expect_whole(repository, result.path);
}

TEST_P(PullTest, FetchesAgainIfForced) {
  server.serve(repository);
  pull(request);
  server.forget_requests();
  request.force = true;
  const hub::PullResult result = pull(request);
  EXPECT_EQ(body_requests(), 5u);
  EXPECT_EQ(requests_of("/tree/"), 1u);  // the kept list may be the trouble
  expect_whole(repository, result.path);
  EXPECT_EQ(status_of(result, "config.json"), Status::fetched);
}

TEST_P(PullTest, ADryRunWritesNothing) {
  server.serve(repository);
  request.dry_run = true;
  const hub::PullResult result = pull(request);
  EXPECT_EQ(result.files.size(), 5u);
  EXPECT_EQ(status_of(result, "config.json"), Status::to_fetch);
  EXPECT_EQ(body_requests(), 0u);
  EXPECT_EQ(names_below(root), std::vector<std::string>{});
  EXPECT_GT(told.bytes_to_fetch, 370000u);
}

TEST_P(PullTest, AWrongSumNamesTheFileAndTheNextRunStartsItAfresh) {
  server.serve(repository);
  server.add_rule({.target = "/model.safetensors", .flip_byte = 5});
  const std::string error = pull_error(request);
  EXPECT_NE(error.find("model.safetensors"), std::string::npos) << error;
  for (const std::string& name : names_below(root)) {
    if (!name.ends_with(".lock")) {
      EXPECT_EQ(name.find("model.safetensors"), std::string::npos) << name;
    }
  }
  server.forget_requests();
  expect_whole(repository, pull(request).path);
  EXPECT_EQ(server.body_bytes_sent("/model.safetensors"), 300000u);
}

TEST_P(PullTest, TheFirstErrorStopsTheOthersWhichGoOnLater) {
  for (int i = 0; i < 3; i++) {
    repository.files.push_back(
        {.path = "slow" + std::to_string(i) + ".bin", .bytes = {}, .lfs = true, .made_size = 8'000'000});
  }
  server.serve(repository);
  server.add_rule({.target = "/slow", .times = 3, .drip_ms = 1});  // 8 s and more, if nobody stops it
  server.add_rule({.target = "/config.json", .times = -1, .status = 404, .stall_ms = 300});
  const std::string error = pull_error(request);
  EXPECT_NE(error.find("config.json"), std::string::npos) << error;
  EXPECT_LT(server.body_bytes_sent("/slow"), 3 * 8'000'000u);
  const bool ref = fs::exists(root / "cache/models--org--model/refs/main");
  EXPECT_FALSE(ref);  // noted last
  std::uint64_t kept = 0;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    if (entry.is_regular_file() && entry.path().string().ends_with("incomplete")) kept += entry.file_size();
  }
  EXPECT_GT(kept, 0u);
  server.clear_rules();
  expect_whole(repository, pull(request).path);
}

TEST_P(PullTest, StopsWhenInterruptedAndGoesOnLater) {
  repository.files.push_back({.path = "slow.bin", .bytes = {}, .lfs = true, .made_size = 8'000'000});
  server.serve(repository);
  server.add_rule({.target = "/slow.bin", .drip_ms = 1});
  std::thread user([&] {
    for (int i = 0; i < 10000 && !told.any_progress; i++) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    interrupted = true;
  });
  EXPECT_THROW(pull(request), hub::Interrupted);
  user.join();
  EXPECT_LT(server.body_bytes_sent("/slow.bin"), 8'000'000u);
  interrupted = false;
  server.clear_rules();
  expect_whole(repository, pull(request).path);
}

TEST_P(PullTest, SeveralFilesAreUnderWayAtOnce) {
  struct Meeting {  // each body is answered only when three others are asked for
    std::mutex mutex;
    std::condition_variable changed;
    int here = 0;
    bool met = false;
    void join() {
      std::unique_lock lock(mutex);
      met = met || ++here == 4;
      changed.notify_all();
      changed.wait_for(lock, std::chrono::seconds(20), [&] { return met; });
    }
  } meeting;
  server.serve(repository);
  server.add_rule({.target = "/resolve/", .times = -1, .on_request = [&] { meeting.join(); }});
  request.workers = 4;
  expect_whole(repository, pull(request).path);
  EXPECT_TRUE(meeting.met);
}

TEST_P(PullTest, WithoutTheHubWhatIsHereIsUsedIfItIsComplete) {
  server.serve(repository);
  request.allow = {"*.json"};
  const fs::path path = pull(request).path;
  for (const bool offline : {true, false}) {
    SCOPED_TRACE(offline);
    hub::HubSettings set = settings();
    set.offline = offline;
    server.forget_requests();
    if (!offline) server.add_rule({.times = -1, .status = 503});
    request.allow = {"*.json"};
    told.notes.clear();
    const hub::PullResult result = hub::pull(set, request, told, options());
    EXPECT_TRUE(result.from_disk);
    EXPECT_EQ(result.path, path);
    EXPECT_EQ(result.files.size(), 2u);
    EXPECT_EQ(told.notes.find("warning") != std::string::npos, !offline) << told.notes;

    request.allow = {};
    try {
      hub::pull(set, request, told, options());
      ADD_FAILURE() << "files are missing";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("model.safetensors"), std::string::npos) << error.what();
    }
    request.allow = {"*.gguf"};
    EXPECT_THROW(hub::pull(set, request, told, options()), Error);
    request.allow = {"*.json"};
    request.revision = "other";
    EXPECT_THROW(hub::pull(set, request, told, options()), Error);
    request.revision = "main";
    request.force = true;
    EXPECT_THROW(hub::pull(set, request, told, options()), Error);
    request.force = false;
    if (offline) {
      EXPECT_EQ(server.requests().size(), 0u);
    }
  }
  fs::remove_all(path / "config.json");
  server.clear_rules();
  server.stop();
  request.allow = {"*.json"};
  EXPECT_THROW(pull(request), hub::Unreachable);
}

TEST_P(PullTest, WithoutAListWhatIsHereIsTakenWithANote) {
  server.serve(repository);
  const fs::path path = pull(request).path;
  const fs::path store = GetParam() ? root / "model/.cache/huggingface" : root / "cache/models--org--model";
  ASSERT_TRUE(fs::exists(store / "trees"));
  fs::remove_all(store / "trees");
  hub::HubSettings set = settings();
  set.offline = true;
  const hub::PullResult result = hub::pull(set, request, told, options());
  EXPECT_EQ(result.path, path);
  EXPECT_EQ(result.files.size(), 5u);
  EXPECT_NE(told.notes.find("no list"), std::string::npos) << told.notes;
}

TEST_P(PullTest, AKeptListThatLacksAFileIsAskedForAnew) {
  server.serve(repository);
  const hub::PullResult first = pull(request);
  const fs::path kept = (GetParam() ? root / "model/.cache/huggingface" : root / "cache/models--org--model") / "trees" /
                        (first.commit + ".json");
  std::optional<std::vector<hub::RemoteFile>> files = hub::read_tree_file(kept);
  ASSERT_TRUE(files);
  std::erase_if(*files, [](const hub::RemoteFile& file) { return file.path == "tokenizer.json"; });
  hub::write_tree_file(kept, *files);
  fs::remove(first.path / "tokenizer.json");
  expect_whole(repository, pull(request).path);
  EXPECT_EQ(hub::read_tree_file(kept).value().size(), repository.files.size());
}

// Nothing but the hash tells the two apart.
TEST_P(PullTest, ANewCommitMayChangeAFileAndNotItsSize) {
  server.serve(repository);
  pull(request);
  repository.files[0].bytes.back() = ' ';
  server.serve(repository);
  expect_whole(repository, pull(request).path);
}

TEST_P(PullTest, TakesANewCommitOfTheSameBranch) {
  server.serve(repository);
  pull(request);
  repository.files[0].bytes += "\n";
  const std::string commit = server.serve(repository);
  server.forget_requests();
  const hub::PullResult result = pull(request);
  EXPECT_EQ(result.commit, commit);
  expect_whole(repository, result.path);
  EXPECT_EQ(body_requests(), 1u);
}

TEST_P(PullTest, NeedsNoLinks) {
  server.serve(repository);
  hub::HubSettings set = settings();
  set.links = false;
  const hub::PullResult result = hub::pull(set, request, told, options());
  expect_whole(repository, result.path);
  for (const auto& entry : fs::recursive_directory_iterator(result.path)) {
    EXPECT_FALSE(entry.is_symlink()) << entry.path();
  }
}

TEST_F(PullFixture, WhatPartialFilesHoldNeedsNoSpace) {
  const HubRepository repository = {.id = "org/model",
                                    .files = {{.path = "w.bin", .bytes = {}, .lfs = true, .made_size = 50'000'000}}};
  const std::unique_ptr<hub::SnapshotFolder> folder = hub::plain_folder(root / "model");
  const hub::RemoteFile file{.path = "w.bin",
                             .size = 50'000'000,
                             .blob_id = std::string(40, 'a'),
                             .sha256 = HubServer::etag_of(repository.files[0])};
  const std::string commit(40, 'c');
  const hub::PullPlan plan = hub::plan_pull(*folder, {file}, commit, {.copies_files = true}, [] {});
  EXPECT_EQ(plan.bytes_to_fetch, 50'000'000u);
  EXPECT_THROW(hub::require_space(plan, *folder, 50'000'000, root), Error);  // some is left over
  EXPECT_NO_THROW(hub::require_space(plan, *folder, 51'000'000, root));      // but not much
  EXPECT_THROW(hub::require_space(plan, *folder, 40'000'000, root), Error);
  fs::create_directories(folder->partial_file(file).parent_path());
  std::ofstream(folder->partial_file(file)) << std::string(30'000'000, 'x');
  EXPECT_NO_THROW(hub::require_space(plan, *folder, 40'000'000, root));
  EXPECT_GT(hub::free_space(root / "not/there/yet").value_or(0), 0u);
}

TEST_F(PullFixture, ACopyOfAFileThatChangedUnseenIsNotTaken) {
  server.serve({.id = "org/model",
                .files = {{.path = "a.bin", .bytes = std::string(5000, 'x'), .lfs = true},
                          {.path = "b.bin", .bytes = std::string(5000, 'x'), .lfs = true}}});
  const PullRequest request{.id = "org/model", .output_dir = root / "model"};
  pull(request);
  const auto when = fs::last_write_time(root / "model/a.bin");
  std::ofstream(root / "model/a.bin") << std::string(5000, 'y');
  fs::last_write_time(root / "model/a.bin", when);
  fs::remove(root / "model/b.bin");
  pull(request);
  EXPECT_EQ(bytes_of_file(root / "model/b.bin"), std::string(5000, 'x'));
}

TEST_F(PullFixture, APlanCountsEachCopyAndBeginsWithTheLargest) {
  const std::unique_ptr<hub::SnapshotFolder> folder = hub::plain_folder(root / "model");
  const hub::RemoteFile small{.path = "a", .size = 10, .blob_id = std::string(40, 'a')},
      large{.path = "b", .size = 1000, .blob_id = std::string(40, 'b')};
  hub::RemoteFile again = large;
  again.path = "c";
  const std::string commit(40, 'c');
  for (const bool keeps : {false, true})
    for (const bool copies : {false, true}) {
      const hub::PullPlan plan =
          hub::plan_pull(*folder, {small, large, again}, commit, {.keeps_blobs = keeps, .copies_files = copies}, [] {});
      EXPECT_EQ(plan.bytes_to_fetch, 1010u);
      EXPECT_EQ(plan.bytes_to_store, (keeps ? 1010u : 0u) + (copies ? 2010u : 0u));
      ASSERT_EQ(plan.tasks.size(), 2u);
      EXPECT_EQ(plan.tasks[0].files, (std::vector<std::size_t>{1, 2}));
    }
}

TEST_F(PullFixture, SizesThatDoNotAddUpAreTooLarge) {
  const std::unique_ptr<hub::SnapshotFolder> folder = hub::plain_folder(root / "model");
  const hub::RemoteFile a{.path = "a", .size = UINT64_MAX - 1, .blob_id = std::string(40, 'a')};
  const hub::RemoteFile b{.path = "b", .size = UINT64_MAX - 1, .blob_id = std::string(40, 'b')};
  const hub::PullPlan plan = hub::plan_pull(*folder, {a, b}, std::string(40, 'c'), {.keeps_blobs = true}, [] {});
  EXPECT_EQ(plan.bytes_to_store, UINT64_MAX);
  EXPECT_THROW(hub::require_space(plan, *folder, UINT64_MAX - 1, root), Error);
}

}  // namespace
}  // namespace tilewright::test
