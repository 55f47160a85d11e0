#include "base/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/terminal_text.h"

namespace tilewright {
namespace {

constexpr int kMostColumns = 100, kUsualColumns = 80;
constexpr double kBetweenBars = 0.1, kBetweenLines = 10;  // seconds
constexpr int kBarCells = 24, kLeastCells = 6;

int terminal_width() {
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  const char* columns = std::getenv("COLUMNS");
  const int given = columns ? std::atoi(columns) : 0;
  return given > 0 ? given : kUsualColumns;
}

bool can_redraw() {
  const char* term = std::getenv("TERM");
  return isatty(STDERR_FILENO) == 1 && term && *term && std::strcmp(term, "dumb") != 0;
}

}  // namespace

std::string duration_text(double seconds) {
  if (!(seconds >= 0) || seconds > 1e9) return "–";
  if (seconds < 9.95) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

Progress::Output Progress::on_stderr(bool quiet) {
  Output out;
  out.style = quiet ? Style::off : can_redraw() ? Style::bar : Style::lines;
  out.width = terminal_width;
  out.write = [](std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), stderr);
    std::fflush(stderr);
  };
  out.now = [] { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); };
  return out;
}

Progress::~Progress() { hide(); }

void Progress::begin(std::string_view name, std::uint64_t total) {
  const std::lock_guard lock(mutex_);
  if (output_.style == Style::off) return;
  name_ = name;
  doing_.clear();
  done_ = 0;
  total_ = total;
  running_ = true;
  begun_ = drawn_ = output_.now();
  draw(true);
}

void Progress::update(std::uint64_t done, std::uint64_t total, std::string_view doing) {
  const std::lock_guard lock(mutex_);
  if (!running_) return;
  done_ = std::min(done, total);
  total_ = total;
  doing_ = doing;
  draw(false);
}

void Progress::end(std::string_view outcome) {
  const std::lock_guard lock(mutex_);
  if (!running_) return;
  running_ = false;
  erase();
  const std::string rest = outcome.empty() ? "" : fmt::format("; {}", outcome);
  output_.write(fmt::format("{}: {}{}\n", name_, duration_text(output_.now() - begun_), rest));
}

void Progress::note(std::string_view text) {
  const std::lock_guard lock(mutex_);
  if (output_.style == Style::off) return;
  erase();
  output_.write(fmt::format("{}\n", text));
  if (running_ && output_.style == Style::bar) draw(true);
}

void Progress::hide() {
  const std::lock_guard lock(mutex_);
  erase();
}

void Progress::erase() {
  if (shown_) output_.write("\r\033[K");
  shown_ = false;
}

double Progress::share() const { return total_ == 0 ? -1 : static_cast<double>(done_) / static_cast<double>(total_); }

std::string Progress::times() const {
  const double elapsed = output_.now() - begun_;
  std::string out = duration_text(elapsed);
  // A guess from the first moments would jump about.
  if (share() > 0.02 && share() < 1 && elapsed > 1)
    out += fmt::format(", about {} left", duration_text(elapsed / share() * (1 - share())));
  return out;
}

std::string Progress::bar_text() const {
  // One column stays free: a terminal may wrap a full line.
  const int width = std::clamp(output_.width(), 1, kMostColumns) - 1;
  std::string text = name_ + "  ";
  const std::string figures =
      share() < 0 ? times() : fmt::format("{:3} %  {}", static_cast<int>(std::floor(100 * share())), times());
  // What is under way comes before a long bar.
  const int room = width - display_width(text) - display_width(figures) - 4;
  const int cells = std::min({kBarCells, room, std::max(kLeastCells, room - display_width(doing_) - 2)});
  if (share() >= 0 && cells >= kLeastCells) {
    const int full = static_cast<int>(std::floor(share() * cells));
    text += "[" + std::string(static_cast<std::size_t>(full), '#') +
            std::string(static_cast<std::size_t>(cells - full), '.') + "] ";
  }
  text += figures;
  if (!doing_.empty()) text += "  " + doing_;
  return cut_to_width(text, width);
}

void Progress::draw(bool at_once) {
  const double now = output_.now();
  if (output_.style == Style::bar) {
    if (!at_once && shown_ && now - drawn_ < kBetweenBars) return;
    output_.write("\r\033[K" + bar_text());
    shown_ = true;
    drawn_ = now;
  } else if (output_.style == Style::lines && !at_once && now - drawn_ >= kBetweenLines) {
    const std::string part = share() < 0 ? "" : fmt::format("{} %, ", static_cast<int>(std::floor(100 * share())));
    output_.write(fmt::format("{}: {}{}{}\n", name_, part, times(), doing_.empty() ? "" : "; " + doing_));
    drawn_ = now;
  }
}

}  // namespace tilewright
