// A process of its own that loads a model directory and makes the first tokens: its memory is that of the engine alone.
#pragma once

#include <string>

namespace tilewright::bench {

// Prints one line of JSON {load_s, first_token_s, weight_bytes, vmrss_bytes, vmhwm_bytes}. Returns the exit status.
int first_token(const std::string& directory, int threads);

}  // namespace tilewright::bench
