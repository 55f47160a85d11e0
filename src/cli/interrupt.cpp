#include "cli/interrupt.h"

#include <csignal>

namespace tilewright::cli {
namespace {

std::atomic<bool> interrupted{false};

}  // namespace

const std::atomic<bool>& listen_for_interrupt() {
  struct sigaction action {};
  action.sa_handler = [](int) { interrupted.store(true, std::memory_order_relaxed); };
  action.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, nullptr);
  return interrupted;
}

}  // namespace tilewright::cli
