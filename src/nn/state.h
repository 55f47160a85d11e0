// What a model keeps between two forwards: a list of named device tensors that the model declares. Engine and capture
// see only the list.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/tensor.h"

namespace tilewright::nn {

inline constexpr std::int64_t kBucket = 256;  // attention in decode covers a multiple of this many positions

inline std::int64_t round_up_to_bucket(std::int64_t length) { return (length + kBucket - 1) / kBucket * kBucket; }

struct NamedTensor {
  std::string name;  // "position", "layers.3.key" …
  runtime::Tensor tensor;
};

// tensors[0] is "position": i32 [batch], where the next forward writes. The others are the model's business.
struct State {
  std::int64_t batch = 0;
  std::int64_t max_len = 0;  // positions that the tensors have room for
  std::vector<NamedTensor> tensors;

  const runtime::Tensor& position() const { return tensors[0].tensor; }
};

}  // namespace tilewright::nn
