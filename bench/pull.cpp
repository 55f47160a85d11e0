// Downloads from a hub on the loopback interface: `pull`, which hashes what comes and can go on after a kill, beside
// parallel curl, which does neither, to the same disk, taking turns; and how long a repository of 40,000 files takes to
// be listed and filtered. The hub is a process of its own (tests/hub_server).
#include "hub/fetch/pull.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <vector>

#include "base/error.h"
#include "base/process_memory.h"
#include "measure/statistics.h"
#include "support/child.h"
#include "support/temporary_folder.h"

namespace {

using namespace tilewright;
namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

struct Options {
  int rounds = 6, workers = 8;
  std::string files = "8x256MiB", tree = "40000", folder;
  std::string child;  // of this program: an endpoint to pull from
  bool dry = false;
};

constexpr double kThroughputBar = 0.70, kTreeSecondsBar = 2;
constexpr std::uint64_t kTreeMemoryBar = std::uint64_t{200} << 20;

hub::HubSettings settings_for(const std::string& endpoint, const fs::path& folder) {
  hub::HubSettings settings;
  settings.endpoint = endpoint;
  settings.home = folder;
  settings.cache = folder;
  return settings;
}

// What a child does. Its answer: seconds, peak memory.
int pull_once(const Options& options) {
  hub::PullObserver silent;
  hub::PullRequest request{.id = "org/model", .workers = options.workers, .dry_run = options.dry};
  if (options.dry) request.allow = {"*.json", "*7*"};
  const Clock::time_point begin = Clock::now();
  const hub::PullResult result = hub::pull(settings_for(options.child, options.folder), request, silent);
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  fmt::print("{} {} {}\n", seconds, peak_resident_bytes(), result.files.size());
  return 0;
}

std::string build_file(const char* relative) {
  return (fs::read_symlink("/proc/self/exe").parent_path().parent_path() / relative).string();
}

struct Answer {
  double seconds = 0;
  std::uint64_t peak = 0;
  std::size_t files = 0;
};
Answer pull_in_child(const Options& options, const std::string& endpoint, const fs::path& folder, bool dry) {
  std::vector<std::string> command = {fs::read_symlink("/proc/self/exe").string(),
                                      "--child",
                                      endpoint,
                                      "--folder",
                                      folder.string(),
                                      "--workers",
                                      std::to_string(options.workers)};
  if (dry) command.push_back("--dry");
  bench::Child child(command, true);
  const std::string line = child.read_line();
  Answer answer;
  if (child.wait() != 0 ||
      std::sscanf(line.c_str(), "%lf %lu %zu", &answer.seconds, &answer.peak, &answer.files) != 3) {
    fail({.what = "the pull failed", .where = endpoint, .expected = {}, .found = line, .fix = {}});
  }
  return answer;
}

double seconds_of_curl(const std::string& endpoint, const std::vector<hub::PulledFile>& files, const fs::path& folder,
                       int workers) {
  std::vector<std::string> command = {"curl",
                                      "--silent",
                                      "--show-error",
                                      "--fail",
                                      "--parallel",
                                      "--parallel-max",
                                      std::to_string(workers),
                                      "--create-dirs",
                                      "--no-progress-meter"};
  for (const hub::PulledFile& pulled : files) {
    command.push_back(fmt::format("{}/org/model/resolve/main/{}", endpoint, pulled.file.path));
    command.push_back("-o");
    command.push_back((folder / pulled.file.path).string());
  }
  const Clock::time_point begin = Clock::now();
  bench::Child child(command, true);
  const int status = child.wait();
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  if (status != 0) {
    fail({.what = "curl failed", .where = endpoint, .expected = {}, .found = std::to_string(status), .fix = {}});
  }
  return seconds;
}

std::string verdict(bool met) { return met ? "met" : "NOT MET"; }

std::string with_interval(const measure::Estimate& estimate) {
  if (!estimate.interval) return fmt::format("{:.1f} %", 100 * estimate.value);
  return fmt::format("{:.1f} % ({:.1f} – {:.1f})", 100 * estimate.value, 100 * estimate.low(), 100 * estimate.high());
}

void compare_throughput(const Options& options, const fs::path& folder) {
  bench::Child server({build_file("tests/hub_server/hub_server"), "--made", "org/model:" + options.files}, true);
  const std::string endpoint = server.read_line();
  hub::PullObserver silent;
  const hub::PullResult listed =
      hub::pull(settings_for(endpoint, folder), {.id = "org/model", .dry_run = true}, silent);
  double bytes = 0;
  for (const hub::PulledFile& pulled : listed.files) bytes += static_cast<double>(pulled.file.size);
  std::vector<double> curl, pull;
  fmt::print("{} files, {:.2f} GB, {} at once; GB/s\n  round   curl   pull\n", listed.files.size(), bytes / 1e9,
             options.workers);
  for (int round = -1; round < options.rounds; round++) {  // the first one warms up
    double seconds[2] = {};
    for (int turn = 0; turn < 2; turn++) {
      const bool ours = (turn + round) % 2 != 0;
      const fs::path place = folder / (ours ? "pull" : "curl");
      fs::remove_all(place);
      fs::create_directories(place);
      sync();  // what was written before is not to be waited for now
      seconds[ours] = ours ? pull_in_child(options, endpoint, place, false).seconds
                           : seconds_of_curl(endpoint, listed.files, place, options.workers);
      fs::remove_all(place);
    }
    if (round < 0) continue;
    curl.push_back(bytes / seconds[0]);
    pull.push_back(bytes / seconds[1]);
    fmt::print("  {:5} {:6.2f} {:6.2f}\n", round + 1, curl.back() / 1e9, pull.back() / 1e9);
    std::fflush(stdout);
  }
  const measure::Estimate ratio = measure::estimate_ratio(pull, curl);
  fmt::print("median: curl {:.2f} GB/s, pull {:.2f} GB/s; pull / curl {}; bar {:.0f} %: {}\n",
             measure::median(curl) / 1e9, measure::median(pull) / 1e9, with_interval(ratio), 100 * kThroughputBar,
             verdict(ratio.value >= kThroughputBar));
}

void measure_tree(const Options& options, const fs::path& folder) {
  bench::Child server({build_file("tests/hub_server/hub_server"), "--tree", "org/model:" + options.tree}, true);
  const std::string endpoint = server.read_line();
  std::vector<double> seconds;
  std::uint64_t peak = 0;
  std::size_t files = 0;
  for (int round = 0; round < options.rounds; round++) {
    const Answer answer = pull_in_child(options, endpoint, folder / "tree", true);
    seconds.push_back(answer.seconds);
    peak = std::max(peak, answer.peak);
    files = answer.files;
  }
  const double median = measure::median(seconds);
  fmt::print(
      "{} files listed and filtered to {}: {:.2f} s ({:.2f} – {:.2f}), bar {} s: {}; peak {:.0f} MiB, bar {} MiB: {}\n",
      options.tree, files, median, measure::lowest(seconds), measure::highest(seconds), kTreeSecondsBar,
      verdict(median <= kTreeSecondsBar), static_cast<double>(peak) / (1 << 20), kTreeMemoryBar >> 20,
      verdict(peak <= kTreeMemoryBar));
}

}  // namespace

int main(int count, char** words) {
  CLI::App app{"Downloads beside parallel curl, and a tree of many files"};
  Options options;
  app.add_option("--rounds", options.rounds, "paired rounds; 6 and more for an interval")->check(CLI::Range(1, 1000));
  app.add_option("--workers", options.workers, "files at once")->check(CLI::Range(1, 64));
  app.add_option("--files", options.files, "COUNTxSIZE; empty: not measured");
  app.add_option("--tree", options.tree, "files of the tree; empty: not measured");
  app.add_option("--folder", options.folder, "on the disk to write to; else the temporary folder");
  app.add_option("--child", options.child)->group("");
  app.add_flag("--dry", options.dry)->group("");
  CLI11_PARSE(app, count, words);
  try {
    if (!options.child.empty()) return pull_once(options);
    const bench::TemporaryFolder temporary;
    const fs::path folder = options.folder.empty() ? temporary.path() : fs::path(options.folder) / "tilewright-bench";
    fs::create_directories(folder);
    if (!options.files.empty()) compare_throughput(options, folder);
    if (!options.tree.empty()) measure_tree(options, folder);
    fs::remove_all(folder);
  } catch (const Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
