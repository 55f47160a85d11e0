#include "tile/interp/write_log.h"

#include <algorithm>
#include <utility>

namespace tilewright::tile {

void WriteLog::enter_iteration(std::int64_t loop) {
  steps_.push_back({current_, loop});
  current_ = steps_.size() - 1;
}

void WriteLog::leave_iteration() { current_ = steps_[current_].parent; }

bool WriteLog::note(int tensor, std::int64_t element) {
  writers_.resize(std::max(writers_.size(), static_cast<std::size_t>(tensor) + 1));
  const auto [entry, fresh] = writers_[static_cast<std::size_t>(tensor)].try_emplace(element, current_);
  const std::size_t before = std::exchange(entry->second, current_);
  if (fresh || before == current_) return true;
  // Two paths of iterations clash if they pass one loop at different iterations.
  for (std::size_t a = before; a != 0; a = steps_[a].parent)
    for (std::size_t b = current_; b != 0; b = steps_[b].parent)
      if (steps_[a].loop == steps_[b].loop && a != b) return false;
  return true;
}

}  // namespace tilewright::tile
