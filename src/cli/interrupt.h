// Ctrl-C: the first one asks for an orderly end, a second one ends the program at once.
#pragma once

#include <atomic>

namespace tilewright::cli {

// From now on the first interrupt sets this flag.
const std::atomic<bool>& listen_for_interrupt();

}  // namespace tilewright::cli
