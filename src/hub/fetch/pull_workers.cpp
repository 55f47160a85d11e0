#include "hub/fetch/pull_workers.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <fstream>
#include <mutex>
#include <thread>
#include <vector>

#include "base/file_lock.h"
#include "hub/fetch/download.h"
#include "hub/fetch/hub_client.h"
#include "hub/fetch/partial_file.h"

namespace tilewright::hub {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr auto kInterruptPoll = std::chrono::milliseconds(50);
constexpr auto kSilentWait = std::chrono::milliseconds(300);
constexpr auto kProgressInterval = std::chrono::milliseconds(30);  // faster than any bar is drawn

Checksum checksum_of(const RemoteFile& file) {
  return {
      .kind = file.sha256.empty() ? Digest::Kind::sha1 : Digest::Kind::sha256, .hex = file.etag(), .size = file.size};
}

// Each has a connection (and what libcurl waits on), a lock, a partial file and its state: more workers than the system
// lets us open files for would only fail.
std::size_t most_workers() {
  constexpr rlim_t kFilesOfAWorker = 10, kOtherFiles = 40;
  struct rlimit limit {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return SIZE_MAX;
  return limit.rlim_cur < kOtherFiles + kFilesOfAWorker ? 1 : (limit.rlim_cur - kOtherFiles) / kFilesOfAWorker;
}

// One thread's: has its own connection.
class PullWorker {
 public:
  PullWorker(const PullWork& work, PullPlan& plan, const HttpClient::Options& http)
      : work_(work), plan_(plan), stop_(*http.interrupted), http_(work.settings, http), hub_(work.settings, http_) {}

  void run(const PullTask& task) {
    fs::path source = task.source;
    for (const std::size_t i : task.files) {
      if (stop_) throw Interrupted{};
      PulledFile& pulled = plan_.files[i];
      pulled.status = bring(pulled, source);
      source = work_.folder.content_file(pulled.file);
      work_.observer.finished(pulled.file);
    }
  }

 private:
  // `source`: a file that has the content, if it is still right; empty if there is none.
  PulledFile::Status bring(PulledFile& pulled, const fs::path& source) {
    const RemoteFile& file = pulled.file;
    const FileLock lock = locked(file);
    const bool anew = work_.force && source.empty();
    if (!work_.force && work_.folder.state(file, work_.commit) != SnapshotFolder::State::missing) {
      return PulledFile::Status::present;  // another process brought it meanwhile
    }
    if (anew || !work_.folder.has_content(file)) fetch(pulled, source);
    work_.folder.admit(file, work_.commit);
    return PulledFile::Status::fetched;
  }

  FileLock locked(const RemoteFile& file) {
    bool told = false;
    const Clock::time_point began = Clock::now();
    return FileLock::lock(work_.folder.lock_file(file), [&] {
      if (stop_) throw Interrupted{};
      if (Clock::now() - began < kSilentWait) return;  // for a small file there is nothing to say
      if (!told) work_.observer.note(fmt::format("another process is fetching {}, waiting", file.path));
      told = true;
    });
  }

  void fetch(PulledFile& pulled, const fs::path& source) {
    const RemoteFile& file = pulled.file;
    PartialFile partial(work_.folder.partial_file(file), checksum_of(file));
    if (source.empty() || !copy_from(source, partial)) {
      std::uint64_t held_before = partial.size();
      Clock::time_point told{};
      download(http_, hub_, hub_.file_url(work_.id, work_.commit, file.path), file.path, partial,
               [&](std::uint64_t held) {
                 pulled.received += held > held_before ? held - held_before : 0;
                 const bool shrunk = held < held_before;
                 held_before = held;
                 const Clock::time_point now = Clock::now();
                 if (!shrunk && held < file.size && now - told < kProgressInterval) return;
                 told = now;
                 work_.observer.progress(file, held);
               });
    }
    partial.publish(work_.folder.content_file(file));
  }

  // Whether `partial` is whole and right now; else it is empty, or as it was.
  bool copy_from(const fs::path& source, PartialFile& partial) {
    std::error_code error;
    if (fs::file_size(source, error) != partial.checksum().size || error) return false;
    std::ifstream in(source, std::ios::binary);
    std::vector<char> buffer(std::size_t{1} << 20);
    partial.restart();
    while (in && !partial.is_whole()) {
      if (stop_) throw Interrupted{};
      const std::uint64_t lacking = partial.checksum().size - partial.size();
      in.read(buffer.data(), static_cast<std::streamsize>(std::min<std::uint64_t>(buffer.size(), lacking)));
      partial.append(std::as_bytes(std::span(buffer.data(), static_cast<std::size_t>(in.gcount()))));
    }
    if (partial.is_whole() && partial.is_right()) return true;
    partial.restart();
    return false;
  }

  const PullWork& work_;
  PullPlan& plan_;
  const std::atomic<bool>& stop_;
  HttpClient http_;
  HubClient hub_;
};

// Threads that take one task after the other. Destroyed, it stops them.
class PullCrew {
 public:
  PullCrew(const PullWork& work, PullPlan& plan) : work_(work), plan_(plan), http_(work.http) {
    http_.interrupted = &stop_;
  }
  ~PullCrew() {
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
  }
  PullCrew(const PullCrew&) = delete;
  PullCrew& operator=(const PullCrew&) = delete;

  void run() {
    const std::size_t count =
        std::min({static_cast<std::size_t>(std::max(1, work_.workers)), plan_.tasks.size(), most_workers()});
    running_ = count;
    while (threads_.size() < count) threads_.emplace_back([this] { take_tasks(); });
    std::unique_lock lock(mutex_);
    while (running_ > 0 && !error_) {
      if (work_.http.interrupted != nullptr && *work_.http.interrupted) throw Interrupted{};
      changed_.wait_for(lock, kInterruptPoll);
    }
    if (error_) std::rethrow_exception(error_);
  }

 private:
  void take_tasks() {
    std::exception_ptr error;
    try {
      PullWorker worker(work_, plan_, http_);
      for (std::size_t next = next_++; next < plan_.tasks.size() && !stop_; next = next_++)
        worker.run(plan_.tasks[next]);
    } catch (const Interrupted&) {  // by the crew, for a reason of its own
    } catch (...) {
      error = std::current_exception();
    }
    const std::lock_guard guard(mutex_);
    running_--;
    if (error && !error_) error_ = error;
    if (error) stop_ = true;
    changed_.notify_all();
  }

  const PullWork& work_;
  PullPlan& plan_;
  std::atomic<bool> stop_ = false;
  HttpClient::Options http_;
  std::atomic<std::size_t> next_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t running_ = 0;
  std::exception_ptr error_;
  std::vector<std::thread> threads_;
};

}  // namespace

void carry_out(const PullWork& work, PullPlan& plan) { PullCrew(work, plan).run(); }

}  // namespace tilewright::hub
