#include "hub/chat/budget.h"

namespace tilewright::hub::jinja {

thread_local Budget* current_budget = nullptr;

void spend(std::size_t steps) {
  if (!current_budget) return;
  current_budget->steps -= static_cast<std::int64_t>(steps);
  if (current_budget->steps < 0) throw Fault{"the template does too much work (step limit)"};
}

void expect_size(std::uint64_t bytes) {
  constexpr std::uint64_t largest = 128u << 20;
  if (bytes > largest) throw Fault{"a value would be larger than 128 MiB"};
  spend(static_cast<std::size_t>(bytes / 64));
}

Metered::Metered(std::size_t bytes) { grow(bytes); }

void Metered::grow(std::size_t bytes) {
  if (!current_budget) return;
  if (current_budget->live_bytes < static_cast<std::int64_t>(bytes)) throw Fault{"the template holds too much memory"};
  current_budget->live_bytes -= static_cast<std::int64_t>(bytes);
  bytes_ += bytes;
  spend(1 + bytes / 64);
}

Metered::~Metered() {
  if (current_budget) current_budget->live_bytes += static_cast<std::int64_t>(bytes_);
}

}  // namespace tilewright::hub::jinja
