// Progress of long work on stderr: one bar that is redrawn on a terminal, a line now and then elsewhere. Never stdout.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>

namespace tilewright {

class Progress {
 public:
  enum class Style {
    bar,    // a bar that overwrites itself; a step that is done leaves one line
    lines,  // no control characters: every ten seconds a line, and one for each step that is done
    off,
  };
  struct Output {
    Style style = Style::off;
    std::function<int()> width = {};  // columns, asked before each drawing; at most 100 are used
    std::function<void(std::string_view)> write = {};
    std::function<double()> now = {};  // seconds, never going back
  };
  // stderr: a bar if it is a terminal that can do one (TERM neither "dumb" nor unset), else lines; off if `quiet`.
  static Output on_stderr(bool quiet);

  explicit Progress(Output output) : output_(std::move(output)) {}
  ~Progress();  // takes an unfinished bar away
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // All of these may be called from any thread. A step has a short name ("measure"); beginning one ends the one before
  // without a word. `total`: of any unit; 0 if it is not known.
  void begin(std::string_view name, std::uint64_t total = 0);
  // `doing`: what is under way, for people ("decode 128: round 3 of 6"); may be empty.
  void update(std::uint64_t done, std::uint64_t total, std::string_view doing = {});
  // The step is done; the line that stays says how long it took, and `outcome`.
  void end(std::string_view outcome = {});
  // A line that stays, above the bar.
  void note(std::string_view text);
  // Takes the bar away until the next update: for who is about to print.
  void hide();

 private:
  void draw(bool at_once);
  void erase();
  std::string bar_text() const;
  double share() const;  // done, 0 … 1; negative: not known
  std::string times() const;

  std::mutex mutex_;
  Output output_;
  std::string name_, doing_;
  bool running_ = false, shown_ = false;
  std::uint64_t done_ = 0, total_ = 0;
  double begun_ = 0, drawn_ = 0;
};

// "7 s", "1:05", "2:03:09".
std::string duration_text(double seconds);

}  // namespace tilewright
