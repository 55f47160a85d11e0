// What a user sees of a pull: bars on a terminal, lines elsewhere; warnings in any case.
#pragma once

#include <string>

#include "base/progress_bars.h"
#include "hub/fetch/pull.h"

namespace tilewright::port {

class PullProgress : public hub::PullObserver {
 public:
  // `name` begins the lines that stay: "pull org/name". With an output that is off, notes go to stderr all the same:
  // what they warn of matters to who wants no bars, too.
  PullProgress(std::string name, const Progress::Output& output);

  void listed(const std::string& commit, std::size_t files, std::uint64_t bytes_to_fetch) override;
  void progress(const hub::RemoteFile& file, std::uint64_t held) override;
  void finished(const hub::RemoteFile& file) override;
  void note(const std::string& text) override;
  // All is here. One line that stays, unless the output is off.
  void end(const std::string& outcome);

 private:
  std::string name_;
  Progress::Style style_;
  bool begun_ = false;
  ProgressBars bars_;
};

// "8 files, 4.912 GB; 5 fetched, commit 0123456": so many digits of it.
std::string pull_outcome(const hub::PullResult& result, std::size_t commit_digits = 7);

}  // namespace tilewright::port
