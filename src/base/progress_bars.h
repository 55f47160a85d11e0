// Several things in progress at once, on stderr: a bar each and one for the sum on a terminal, plain lines elsewhere.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/progress.h"

namespace tilewright {

class ProgressBars {
 public:
  // `height`: rows of the terminal, asked before each drawing; bars that do not fit are counted in one line.
  ProgressBars(Progress::Output output, std::function<int()> height);
  ~ProgressBars();  // takes unfinished bars away; the cursor is below what stays
  ProgressBars(const ProgressBars&) = delete;
  ProgressBars& operator=(const ProgressBars&) = delete;

  // All may be called from any thread. `total`: bytes of everything, known from the start.
  void begin(std::string_view name, std::uint64_t total);
  // `held` of `size` bytes of `item`; the first call adds its bar. It may shrink. Speed counts what came in this run.
  void update(std::string_view item, std::uint64_t held, std::uint64_t size);
  void finish(std::string_view item);  // its bar goes; lines: one line
  void note(std::string_view text);    // a line that stays
  void end(std::string_view outcome);  // one line that stays: how many bytes, how long, how fast

 private:
  struct State;
  std::unique_ptr<State> state_;
};

int terminal_height();

}  // namespace tilewright
