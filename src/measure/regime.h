// What tokens per second mean (DESIGN "Words"), and the workflow's rule for choosing it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tilewright::measure {

enum class Regime { prefill, decode, diffusion };
std::string_view regime_name(Regime regime);

// What the rule looks at.
struct RegimeFacts {
  std::string model;             // for messages
  bool block_diffusion = false;  // it generates by denoising blocks instead of token by token
  bool streamed = false;         // its weights are read again in every pass
  std::uint64_t weight_bytes = 0;
  std::uint64_t memory_bytes = 0;  // of the machine; 0: unknown
};

struct RegimeChoice {
  Regime regime = Regime::decode;
  std::string reason;
};

// `asked`: "auto" or a regime's name. auto: weights streamed, or too large for the machine → prefill (a decode loop
// would read them from the file for every token); block diffusion → diffusion; else autoregressive → decode. Throws
// Error for another word, and for diffusion of a model without it.
RegimeChoice choose_regime(std::string_view asked, const RegimeFacts& facts);

}  // namespace tilewright::measure
