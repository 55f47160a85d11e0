#include "measure/regime.h"

#include <fmt/format.h>

#include <vector>

#include "base/error.h"
#include "base/nearest.h"

namespace tilewright::measure {
namespace {

constexpr std::string_view kNames[] = {"prefill", "decode", "diffusion"};

}  // namespace

std::string_view regime_name(Regime regime) { return kNames[static_cast<int>(regime)]; }

RegimeChoice choose_regime(std::string_view asked, const RegimeFacts& facts) {
  if (asked == "auto") {
    if (facts.streamed)
      return {Regime::prefill, "auto: the weights are streamed, so that a decode loop would read them for every token"};
    if (facts.memory_bytes > 0 && facts.weight_bytes > facts.memory_bytes)
      return {Regime::prefill, fmt::format("auto: {} MiB of weights are too large for the machine's {} MiB of memory",
                                           facts.weight_bytes >> 20, facts.memory_bytes >> 20)};
    if (facts.block_diffusion) return {Regime::diffusion, "auto: the model generates by block diffusion"};
    return {Regime::decode, "auto: the model is autoregressive"};
  }
  if (asked == "prefill" || asked == "decode")
    return {asked == "prefill" ? Regime::prefill : Regime::decode, "as asked"};
  if (asked == "diffusion") {
    if (!facts.block_diffusion)
      fail({.what = "this model does not generate by diffusion",
            .where = "--regime",
            .expected = "prefill, decode or auto for " + facts.model,
            .found = "diffusion",
            .fix = "--regime decode measures what an autoregressive model generates"});
    return {Regime::diffusion, "as asked"};
  }
  const std::vector<std::string> known = {"auto", "prefill", "decode", "diffusion"};
  const std::string near = nearest(asked, known);
  fail({.what = "no such regime",
        .where = "--regime",
        .expected = "auto, prefill, decode or diffusion",
        .found = std::string(asked),
        .fix = near.empty() ? "auto picks one and says why" : fmt::format("did you mean \"{}\"?", near)});
}

}  // namespace tilewright::measure
