// Putting a finished folder where another one stands, so that one of the two is always there.
#pragma once

#include <filesystem>

#include "hub/patch/directory_change.h"

namespace tilewright::hub {

// A folder beside `target` in which its successor is built, under `folder()`/new. Killed at any point, `target` is the
// old or the new one, whole; the next Workshop beside it takes the rest away. Only a file system that cannot exchange
// two names leaves an instant without either: the next Workshop then puts the new one in place.
class Workshop {
 public:
  // `target` canonical but for its last part; folders above it are made (and go again if nothing comes of it). Throws
  // Error if it cannot be made, or another command builds there.
  Workshop(const std::filesystem::path& target, const StepHook& hook);
  ~Workshop();
  Workshop(const Workshop&) = delete;
  Workshop& operator=(const Workshop&) = delete;

  std::filesystem::path folder() const;  // an empty folder at first

  // With everything in folder(): flushes it and makes it `target`; what was there goes afterwards. Not `replace`: a
  // target that is not empty is an Error. `exchange` false: as on a file system that cannot exchange names.
  void put_in_place(bool replace, bool exchange = true);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tilewright::hub
