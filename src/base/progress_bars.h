// Several things in progress at once, on stderr: a bar each and one for the sum on a terminal, plain lines elsewhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/progress.h"

namespace tilewright {

class ProgressBars {
 public:
  // `height`: rows of the terminal, asked before each drawing; bars that do not fit are counted in one line. The cursor
  // stays visible and below the bars, so that a program that is killed leaves a usable terminal.
  ProgressBars(Progress::Output output, std::function<int()> height);
  ~ProgressBars();  // takes unfinished bars away; the cursor is below what stays
  ProgressBars(const ProgressBars&) = delete;
  ProgressBars& operator=(const ProgressBars&) = delete;

  // All may be called from any thread. `total`: bytes of everything, known from the start; `items`: how many there will
  // be, 0 if that is not known.
  void begin(std::string_view name, std::uint64_t total, std::size_t items = 0);
  // `held` of `size` bytes of `item`; the first call adds its bar. It may shrink. Speed counts what came in this run.
  void update(std::string_view item, std::uint64_t held, std::uint64_t size);
  // Its bar goes. Lines: one line; of many small items at most one a second (and some at once), the others are counted.
  void finish(std::string_view item);
  void note(std::string_view text);         // a line that stays, above the bars
  void end(std::string_view outcome = {});  // one line that stays: how many bytes came, how long, how fast

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Rows of the terminal on stderr; 24 if that is not known.
int terminal_height();

}  // namespace tilewright
