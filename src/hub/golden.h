// A golden: what the reference implementation computed for a model, in one safetensors file (DESIGN "Models and
// weights").
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/host_tensor.h"

namespace tilewright::hub {

struct Golden {
  HostTensor input_ids;                // i64 [B, S]
  HostTensor logits;                   // f32 [B, S, V], computed in f32
  HostTensor greedy_ids;               // i64 [B, N], the greedy continuation of each row, end tokens ignored
  std::optional<HostTensor> top2_gap;  // f32 [B, N], ≥ 0; without it every greedy token must agree
  std::optional<float>
      bf16_error;            // largest logit error of the reference's own bf16 run; without it bf16 is not judged
  std::string reference;     // the implementation and its version
  DType dtype = DType::f32;  // the reference's compute dtype
  std::string model_type;
};

// Reads and checks the file: names, dtypes, shapes that fit each other, ids inside the vocabulary V, finite logits,
// metadata "format" = "tilewright-golden-1". Every mismatch is an Error.
Golden read_golden(const std::filesystem::path& path);

// "golden.safetensors" and "*_golden.safetensors": what lies in a model's directory under such a name is no weights.
bool is_golden_name(std::string_view file_name);
// The goldens that lie in a model's directory, by name; none if it cannot be read.
std::vector<std::filesystem::path> goldens_beside(const std::filesystem::path& model_dir);

}  // namespace tilewright::hub
