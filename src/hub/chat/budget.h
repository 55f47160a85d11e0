// What one rendering may use, so that a hostile template ends in an error and not in a full disk or a stuck process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace tilewright::hub::jinja {

// What Python would raise. The interpreter adds the template's name and the line.
struct Fault {
  std::string message;
};

struct Budget {
  std::int64_t steps = 50'000'000;       // evaluated nodes, loop turns, and one per 64 bytes made
  std::int64_t live_bytes = 768 << 20;   // strings, lists and dicts alive at once
  std::size_t output_bytes = 256 << 20;  // rendered text
  int call_depth = 200;                  // nested macro and recursive-loop calls (Python stops near 180)
  std::size_t stack_bytes = 4 << 20;     // of the thread's stack
};

// The budget of the rendering that runs on this thread, or null. Values are made deep inside operators and filters,
// where no interpreter is at hand; they meter themselves against this.
extern thread_local Budget* current_budget;

// Counts work; throws Fault when the steps are used up.
void spend(std::size_t steps);
// Throws Fault unless something of this size may be made at all (checked before it is made).
void expect_size(std::uint64_t bytes);

// Base of every heap value: takes bytes from the current budget and gives them back.
class Metered {
 public:
  explicit Metered(std::size_t bytes);
  ~Metered();
  Metered(const Metered&) = delete;
  Metered& operator=(const Metered&) = delete;
  void grow(std::size_t bytes);

 private:
  std::size_t bytes_ = 0;
};

}  // namespace tilewright::hub::jinja
