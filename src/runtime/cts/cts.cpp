#include "runtime/cts/cts.h"

#include "runtime/cts/cts_helpers.h"

namespace tilewright::runtime::cts {

const std::vector<Check>& checks() {
  static const std::vector<Check> all = [] {
    std::vector<Check> joined;
    for (const auto& part : {stream_checks(), memory_checks(), illegal_capture_checks(), illegal_replay_checks(),
                             capture_checks(), planned_memory_checks()})
      joined.insert(joined.end(), part.begin(), part.end());
    return joined;
  }();
  return all;
}

}  // namespace tilewright::runtime::cts
