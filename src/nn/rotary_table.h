// Rotary tables as the reference implementation makes them: inverse frequencies and angles in f32.
#pragma once

#include <cstdint>
#include <vector>

#include "nn/decoder_config.h"
#include "tensor/host_tensor.h"

namespace tilewright::nn {

// head_dim/2 inverse frequencies. `length`: for dynamic scaling the length (largest position + 1) that the base follows
// once it exceeds max_positions; other types ignore it. Formulas: NTK-aware scaling for dynamic, the YaRN paper
// (arXiv 2309.00071) §3 for yarn, Llama 3.1's smoothed scaling for llama3.
std::vector<float> inverse_frequencies(const DecoderConfig& config, std::int64_t length);

struct RotaryTable {
  HostTensor cos, sin;  // [positions, head_dim]; the second half repeats the first
};
// Rows for the positions first … first+count-1: cos and sin of position · inverse frequency in f32, times the attention
// factor, rounded to `dtype`.
RotaryTable rotary_table(const DecoderConfig& config, const std::vector<float>& frequencies, std::int64_t first,
                         std::int64_t count, DType dtype);

}  // namespace tilewright::nn
