// A GGUF file as a Hugging Face model directory: config.json, model.safetensors (or shards with their index),
// tokenizer.json, tokenizer_config.json, chat_template.jinja where the file has a template, generation_config.json.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>

#include "tensor/dtype.h"

namespace tilewright::hub {

struct GgufImport {
  std::filesystem::path file;
  std::filesystem::path output_dir;
  std::optional<DType> dtype;  // f32, f16 or bf16; nothing: the file's float type, f32 if it is quantised
  bool force = false;          // replace the model in a directory that is not empty
  std::uint64_t shard_bytes = 5'000'000'000;
  std::function<void(std::uint64_t done, std::uint64_t total)> progress = {};  // bytes of weights written
};

// Everything is written to a directory beside `output_dir`, which takes its name when it is whole: on failure nothing
// is left and an older directory is as it was. With `force`, files of the older directory that belong to no model are
// kept. Throws Error: what the file holds cannot be imported, the directory is not empty, the disk is full.
void import_gguf(const GgufImport& request);

}  // namespace tilewright::hub
