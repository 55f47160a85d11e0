#include "port/pull_progress.h"

#include <fmt/format.h>

#include <cstdio>

#include "base/number_text.h"
#include "base/terminal_text.h"

namespace tilewright::port {

PullProgress::PullProgress(std::string name, const Progress::Output& output)
    : name_(std::move(name)), style_(output.style), bars_(output, terminal_height) {}

void PullProgress::listed(const std::string&, std::size_t, std::uint64_t bytes_to_fetch) {
  if (bytes_to_fetch == 0) return;
  bars_.begin(name_, bytes_to_fetch);
  begun_ = true;
}

void PullProgress::progress(const hub::RemoteFile& file, std::uint64_t held) {
  bars_.update(file.path, held, file.size);
}

void PullProgress::finished(const hub::RemoteFile& file) { bars_.finish(file.path); }

void PullProgress::note(const std::string& text) {
  if (style_ == Progress::Style::off)
    fmt::print(stderr, "{}\n", one_line(text));
  else
    bars_.note(text);
}

void PullProgress::end(const std::string& outcome) {
  if (begun_)
    bars_.end(outcome);
  else if (style_ != Progress::Style::off)
    bars_.note(name_ + ": " + outcome);
}

std::string pull_outcome(const hub::PullResult& result, std::size_t commit_digits) {
  double bytes = 0;
  std::size_t fetched = 0, patched = 0;
  for (const hub::PulledFile& each : result.files) {
    bytes += static_cast<double>(each.file.size);
    fetched += each.status == hub::PulledFile::Status::fetched;
    patched += each.status == hub::PulledFile::Status::patched;
  }
  std::string out =
      fmt::format("{} file{}, {}; ", result.files.size(), result.files.size() == 1 ? "" : "s", bytes_text(bytes));
  if (result.from_disk)
    out += "the hub was not asked";
  else
    out += fetched == 0 ? "all here before" : fmt::format("{} fetched", fetched);
  if (patched > 0) out += fmt::format(", {} patched and kept", patched);
  if (!result.commit.empty()) out += ", commit " + result.commit.substr(0, commit_digits);
  return out;
}

}  // namespace tilewright::port
