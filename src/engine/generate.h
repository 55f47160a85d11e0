// One answer to one prompt: prefill, then token by token.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "engine/sampler.h"
#include "engine/session.h"

namespace tilewright::engine {

enum class FinishReason { stop, length, interrupted };
std::string_view finish_reason_name(FinishReason reason);

struct GenerateRequest {
  std::vector<std::int64_t> prompt;      // at least one token
  std::int64_t max_new_tokens = 512;     // cut to what the context has room for
  std::int64_t context = 0;              // positions to reserve; 0: prompt + new tokens
  std::vector<std::int64_t> end_tokens;  // empty: never stop early
  Sampling sampling;
  std::function<void(std::int64_t)> on_token;      // called for each token but the end token, as soon as it is known
  const std::atomic<bool>* interrupted = nullptr;  // looked at before each token
};

struct GenerateResult {
  std::vector<std::int64_t> tokens;  // the end token included
  FinishReason reason = FinishReason::length;
  double first_token_s = 0;  // from the start of the prefill to the first token known to the host
  double after_first_s = 0;  // from the first token to the last
  double prefill_tok_s = 0;  // prompt tokens / first_token_s
  double decode_tok_s = 0;   // (tokens - 1) / after_first_s; 0 if there is one token
};

// Throws Error for an empty prompt, a prompt longer than the context (the model's, or `context` if that is given), a
// context beyond the model's, and if memory for the cache does not suffice. Times are on the device's clock.
GenerateResult generate(Session& session, const GenerateRequest& request);

}  // namespace tilewright::engine
