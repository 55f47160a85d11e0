// A model's decode step and prompt pass as they are captured, for checking.
#pragma once

#include <cstdint>

#include "engine/capture/check_pass.h"
#include "engine/session.h"

namespace tilewright::engine {

// One token behind `prompt` others: embedding to the next token's choice, in place. Begins new sequences with room for
// `length` positions at each reset. The session must outlive it.
CheckedPass decode_pass(Session& session, std::int64_t prompt, std::int64_t length);
// A prompt of `rows` tokens in its bucket.
CheckedPass prompt_pass(Session& session, std::int64_t rows, std::int64_t length);

}  // namespace tilewright::engine
