#include "base/progress_bars.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <mutex>
#include <optional>
#include <vector>

#include "base/number_text.h"
#include "base/terminal_text.h"

namespace tilewright {
namespace {

constexpr int kWidest = 100, kUsualRows = 24;
constexpr double kBetweenDrawings = 0.1, kBetweenTotals = 10;  // seconds
constexpr double kSpeedOver = 5, kBetweenSamples = 0.5;        // seconds
constexpr double kLinesAtOnce = 20;                            // of small items; one more each second
constexpr std::uint64_t kBigItem = std::uint64_t{64} << 20;    // always has a line of its own

// Bytes per second over the last seconds.
class Speed {
 public:
  explicit Speed(double now) { samples_.push_back({now, 0}); }
  void add(std::uint64_t bytes) { came_ += bytes; }
  void sample(double now) {
    if (now - samples_.back().at < kBetweenSamples) return;
    samples_.push_back({now, came_});
    while (samples_.size() > 2 && now - samples_[1].at >= kSpeedOver) samples_.pop_front();
  }
  std::uint64_t came() const { return came_; }
  // 0: not known yet.
  double value(double now) const {
    const double seconds = now - samples_.front().at;
    return seconds < kBetweenSamples ? 0 : static_cast<double>(came_ - samples_.front().bytes) / seconds;
  }

 private:
  struct Sample {
    double at;
    std::uint64_t bytes;
  };
  std::deque<Sample> samples_;
  std::uint64_t came_ = 0;
};

struct Item {
  std::string name;
  std::uint64_t held = 0, size = 0;
  Speed speed;
};

// One row: what it is called, how far it is, and words behind that, the last of which give way first.
struct Row {
  std::string name;
  double share = 0;
  std::vector<std::string> figures;
};

double share_of(std::uint64_t held, std::uint64_t size) {
  return size == 0 ? 1 : static_cast<double>(std::min(held, size)) / static_cast<double>(size);
}

std::string percent(double share) { return fmt::format("{:3} %", static_cast<int>(100 * share)); }

std::string of_text(std::uint64_t size) { return "of " + bytes_text(static_cast<double>(size)); }

std::string speed_text(double bytes_per_second) {
  return bytes_per_second > 0 ? bytes_text(bytes_per_second) + "/s" : "";
}

// The column is there before the speed is known: names would jump.
std::string speed_cell(double bytes_per_second) { return fmt::format("{:<10}", speed_text(bytes_per_second)); }

std::string padded_to(const std::string& text, int width) {
  return text + std::string(static_cast<std::size_t>(std::max(0, width - display_width(text))), ' ');
}

// Rows in columns that stand below each other, within `width` cells.
std::vector<std::string> aligned(const std::vector<Row>& rows, int width) {
  constexpr int kGoodName = 20, kLeastCells = 6, kMostCells = 24, kGap = 2, kFrame = 2;
  std::vector<int> columns;
  int longest = 0;
  for (const Row& row : rows) {
    longest = std::max(longest, display_width(one_line(row.name)));
    columns.resize(std::max(columns.size(), row.figures.size()), 0);
    for (std::size_t i = 0; i < row.figures.size(); ++i)
      columns[i] = std::max(columns[i], display_width(row.figures[i]));
  }
  const auto taken = [&] {
    int sum = 0;
    for (const int column : columns) sum += column > 0 ? kGap + column : 0;
    return sum;
  };
  const int name_wanted = std::min(longest, kGoodName);
  while (columns.size() > 1 && name_wanted + kGap + kLeastCells + kFrame + taken() > width) columns.pop_back();
  int cells = std::clamp(width - longest - kGap - kFrame - taken(), kLeastCells, kMostCells);
  if (name_wanted + kGap + cells + kFrame + taken() > width) cells = 0;  // a percentage says as much
  const int bar = cells > 0 ? kGap + cells + kFrame : 0;
  const int name = std::clamp(width - bar - taken(), 0, longest);
  std::vector<std::string> out;
  for (const Row& row : rows) {
    std::string text = padded_to(shortened_in_the_middle(row.name, name), name);
    const int full = static_cast<int>(row.share * cells);
    if (cells > 0)
      text += "  [" + std::string(static_cast<std::size_t>(full), '#') +
              std::string(static_cast<std::size_t>(cells - full), '.') + "]";
    for (std::size_t i = 0; i < columns.size() && i < row.figures.size(); ++i)
      if (columns[i] > 0) text += "  " + padded_to(row.figures[i], columns[i]);
    text = cut_to_width(text, width);
    text.erase(text.find_last_not_of(' ') + 1);
    out.push_back(std::move(text));
  }
  return out;
}

}  // namespace

struct ProgressBars::State {
  std::mutex mutex;
  Progress::Output output;
  std::function<int()> height;
  std::string name;
  bool running = false;
  std::uint64_t total = 0, finished_bytes = 0;
  std::size_t expected = 0, finished = 0;
  std::vector<Item> items;  // under way, the oldest first
  std::optional<Speed> speed;
  double begun = 0, drawn = 0;
  std::vector<int> shown;  // cells of the lines on the screen
  int shown_width = 0;
  double lines_left = kLinesAtOnce, line_at = 0;
  std::size_t unsaid = 0;  // finished without a line

  std::vector<Item>::iterator find(std::string_view item) {
    return std::find_if(items.begin(), items.end(), [&](const Item& each) { return each.name == item; });
  }

  std::uint64_t held() const {
    std::uint64_t sum = finished_bytes;
    for (const Item& item : items) sum += item.held;
    return sum;
  }

  std::string count_text() const {
    if (expected == 0) return finished == 1 ? "1 file" : fmt::format("{} files", finished);
    return fmt::format("{} of {} file{}", finished, expected, expected == 1 ? "" : "s");
  }

  std::string left_text(double now) const {
    const std::uint64_t have = held();
    const double rate = speed->value(now);
    if (rate <= 0 || have >= total || now - begun < 1) return "";
    return fmt::format("about {} left", duration_text(static_cast<double>(total - have) / rate));
  }

  Row total_row(double now) const {
    const double share = share_of(held(), total);
    return {.name = "total",
            .share = share,
            .figures = {percent(share), of_text(total), speed_cell(speed->value(now)), left_text(now)}};
  }

  std::vector<std::string> lines(double now) const {
    // One column stays free: a terminal may wrap a full line. One row stays free for the cursor.
    const int width = std::max(1, std::min(output.width(), kWidest) - 1);
    const auto rows = static_cast<std::size_t>(std::max(0, height() - 1));
    if (rows == 0) return {};
    std::size_t bars = items.size();
    if (bars + 1 > rows) bars = rows > 2 ? rows - 2 : 0;
    std::vector<Row> out;
    for (std::size_t i = 0; i < bars; ++i) {
      const Item& item = items[i];
      const double share = share_of(item.held, item.size);
      out.push_back({item.name, share, {percent(share), of_text(item.size), speed_cell(item.speed.value(now))}});
    }
    out.push_back(total_row(now));
    if (expected > 0) out.back().name = count_text();
    std::vector<std::string> text = aligned(out, width);
    if (bars < items.size() && rows > 1)
      text.insert(
          text.end() - 1,
          cut_to_width(fmt::format("{}{} files under way", bars > 0 ? "and " : "", items.size() - bars), width));
    return text;
  }

  // What goes before new text: the bars go, row by row. (Erasing the rest of the screen at once makes terminals keep a
  // copy for scrolling back.) Terminals that became narrower have broken the lines that they showed.
  std::string erasing() {
    if (shown.empty()) return "";
    const int width = std::max(1, output.width());
    int rows = 0;
    for (const int cells : shown) rows += width >= shown_width ? 1 : std::max(1, (cells + width - 1) / width);
    shown.clear();
    rows = std::min(rows, std::max(1, height() - 1));
    std::string out = "\r\033[K";
    for (int i = 0; i < rows; ++i) out += "\033[A\033[K";
    return out;
  }

  std::string drawing(double now) {
    std::string out;
    for (const std::string& line : lines(now)) {
      out += line + "\n";
      shown.push_back(display_width(line));
    }
    shown_width = output.width();
    drawn = now;
    return out;
  }

  void draw(bool at_once) {
    const double now = output.now();
    speed->sample(now);
    if (output.style == Progress::Style::bar) {
      if (!at_once && now - drawn < kBetweenDrawings) return;
      const std::string erase = erasing();
      output.write(erase + drawing(now));
    } else if (output.style == Progress::Style::lines && now - drawn >= kBetweenTotals) {
      std::string line = fmt::format("{}: {}, {} % {}", name, count_text(),
                                     static_cast<int>(100 * share_of(held(), total)), of_text(total));
      for (const std::string& figure : {speed_text(speed->value(now)), left_text(now)})
        if (!figure.empty()) line += ", " + figure;
      output.write(line + "\n");
      drawn = now;
    }
  }

  void say_finished(const Item& item) {
    const double now = output.now();
    lines_left = std::min(kLinesAtOnce, lines_left + (now - line_at));
    line_at = now;
    if (item.size < kBigItem) {
      if (lines_left < 1) {
        ++unsaid;
        return;
      }
      lines_left -= 1;
    }
    output.write(fmt::format("{}: {}, {}{}\n", one_line(item.name), bytes_text(static_cast<double>(item.size)),
                             count_text(), unsaid > 0 ? fmt::format(" ({} before it)", unsaid) : ""));
    unsaid = 0;
  }
};

ProgressBars::ProgressBars(Progress::Output output, std::function<int()> height) : state_(new State) {
  state_->output = std::move(output);
  state_->height = std::move(height);
}

ProgressBars::~ProgressBars() {
  const std::lock_guard lock(state_->mutex);
  if (const std::string erase = state_->erasing(); !erase.empty()) state_->output.write(erase);
}

void ProgressBars::begin(std::string_view name, std::uint64_t total, std::size_t items) {
  State& s = *state_;
  const std::lock_guard lock(s.mutex);
  if (s.output.style == Progress::Style::off) return;
  s.name = one_line(name);
  s.total = total;
  s.expected = items;
  s.finished_bytes = s.finished = s.unsaid = 0;
  s.items.clear();
  s.lines_left = kLinesAtOnce;
  s.begun = s.drawn = s.line_at = s.output.now();
  s.speed.emplace(s.begun);
  s.running = true;
  s.draw(true);
}

void ProgressBars::update(std::string_view item, std::uint64_t held, std::uint64_t size) {
  State& s = *state_;
  const std::lock_guard lock(s.mutex);
  if (!s.running) return;
  auto found = s.find(item);
  if (found == s.items.end()) {
    s.items.push_back({std::string(item), held, size, Speed(s.output.now())});
    found = s.items.end() - 1;
  }
  if (held > found->held) {
    found->speed.add(held - found->held);
    s.speed->add(held - found->held);
  }
  found->held = held;
  found->size = size;
  found->speed.sample(s.output.now());
  s.draw(false);
}

void ProgressBars::finish(std::string_view item) {
  State& s = *state_;
  const std::lock_guard lock(s.mutex);
  if (!s.running) return;
  const auto found = s.find(item);
  if (found == s.items.end()) return;
  s.finished_bytes += found->size;
  ++s.finished;
  const Item done = *found;
  s.items.erase(found);
  if (s.output.style == Progress::Style::lines) s.say_finished(done);
  s.draw(false);
}

void ProgressBars::note(std::string_view text) {
  State& s = *state_;
  const std::lock_guard lock(s.mutex);
  if (s.output.style == Progress::Style::off) return;
  const bool bars = s.running && s.output.style == Progress::Style::bar;
  std::string out = s.erasing() + one_line(text) + "\n";
  if (bars) out += s.drawing(s.output.now());
  s.output.write(out);
}

void ProgressBars::end(std::string_view outcome) {
  State& s = *state_;
  const std::lock_guard lock(s.mutex);
  if (!s.running) return;
  s.running = false;
  const double seconds = s.output.now() - s.begun;
  const auto came = static_cast<double>(s.speed->came());
  std::string line = s.name + ": ";
  if (came > 0) line += bytes_text(came) + " in ";
  line += duration_text(seconds);
  if (came > 0 && seconds >= kBetweenSamples) line += ", " + speed_text(came / seconds);
  if (!outcome.empty()) line += "; " + one_line(outcome);
  s.output.write(s.erasing() + line + "\n");
}

int terminal_height() {
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0) return size.ws_row;
  return kUsualRows;
}

}  // namespace tilewright
