#include "measure/pass.h"

#include <fmt/format.h>

#include <limits>

#include "engine/observed.h"

namespace tilewright::measure {
namespace {

bool asked_to_stop(const std::atomic<bool>* interrupted) {
  return interrupted && interrupted->load(std::memory_order_relaxed);
}

}  // namespace

std::string Pass::label() const {
  return regime == Regime::prefill ? fmt::format("prefill {}, batch {}", prompt, batch)
                                   : fmt::format("{} {} after {}, batch {}", regime_name(regime), steps, prompt, batch);
}

HostTensor random_prompt(std::int64_t vocabulary, std::int64_t batch, std::int64_t rows, std::uint64_t seed) {
  HostTensor out(DType::i64, {batch, rows});
  for (std::int64_t b = 0; b < batch; ++b) {
    std::uint64_t state = seed + 0x9e3779b97f4a7c15u * static_cast<std::uint64_t>(b);
    for (std::int64_t i = 0; i < rows; ++i) {
      state += 0x9e3779b97f4a7c15u;  // splitmix64
      std::uint64_t z = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9u;
      z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
      out.data<std::int64_t>()[b * rows + i] =
          static_cast<std::int64_t>((z ^ (z >> 31)) % static_cast<std::uint64_t>(vocabulary));
    }
  }
  return out;
}

void begin_iteration(engine::Runner& runner, const Pass& pass) {
  runner.begin(pass.batch, pass.length());
  if (pass.regime != Regime::prefill) runner.prefill(pass.ids);
  runner.session().device().synchronize();
}

bool run_iteration(engine::Runner& runner, const Pass& pass, const std::atomic<bool>* interrupted) {
  if (pass.regime == Regime::prefill) {
    runner.prefill(pass.ids);
    runner.read_token();
    return !asked_to_stop(interrupted);
  }
  for (std::int64_t step = 0; step < pass.steps; ++step) {
    if (asked_to_stop(interrupted)) return false;
    runner.step();
    runner.read_token();
  }
  return true;
}

double time_iteration(engine::Runner& runner, const Pass& pass, const std::atomic<bool>* interrupted) {
  const engine::Observed unwatched(runner.session().context(), nullptr);  // fallbacks are counted in other passes
  begin_iteration(runner, pass);
  runtime::Device& device = runner.session().device();
  const double start = device.now();
  const bool whole = run_iteration(runner, pass, interrupted);
  const double end = device.now();
  return whole ? end - start : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace tilewright::measure
