// One iteration of a regime on a runner: what is timed, and what is not.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "engine/runner.h"
#include "measure/regime.h"
#include "tensor/host_tensor.h"

namespace tilewright::measure {

struct Pass {
  Regime regime = Regime::decode;
  std::int64_t batch = 1;
  std::int64_t prompt = 1;  // rows of each prompt
  std::int64_t steps = 0;   // decode: timed single tokens behind it
  HostTensor ids;           // i64 [batch, prompt]

  std::int64_t length() const { return prompt + steps; }  // positions that are used
  std::int64_t tokens() const { return batch * (regime == Regime::prefill ? prompt : steps); }  // that the rate counts
  std::string label() const;  // "decode 128 after 8, batch 1"
};

// Thrown in the middle of work that has no part worth keeping.
struct PassInterrupted {};
inline void stop_if(const std::atomic<bool>* interrupted) {
  if (interrupted && interrupted->load(std::memory_order_relaxed)) throw PassInterrupted{};
}

// Prompts of seeded random ids inside the vocabulary; the same seed gives the same on every machine, and a longer
// prompt begins as a shorter one.
HostTensor random_prompt(std::int64_t vocabulary, std::int64_t batch, std::int64_t rows, std::uint64_t seed);

// New sequences, and all that comes before the timed part; returns when the device is idle.
void begin_iteration(engine::Runner& runner, const Pass& pass);
// The timed part. Prefill: the prompt, and its first token read by the host. Decode: as many times as there are steps,
// one step and its token read. No clock, event or observer. False if it was interrupted.
bool run_iteration(engine::Runner& runner, const Pass& pass, const std::atomic<bool>* interrupted = nullptr);
// Seconds on the device's clock: one reading before, one after. NaN if it was interrupted.
double time_iteration(engine::Runner& runner, const Pass& pass, const std::atomic<bool>* interrupted = nullptr);

}  // namespace tilewright::measure
