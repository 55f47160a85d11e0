// A model directory of a published shape with random weights, for what reads files: config.json and model.safetensors.
#pragma once

#include <filesystem>
#include <string>

#include "models/core/family.h"

namespace tilewright::bench {

// Nothing is written if the directory holds one already. bf16. Throws Error if it cannot be written.
void write_dummy_directory(const models::FamilyRegistry& families, const std::string& shape,
                           const std::filesystem::path& directory);

}  // namespace tilewright::bench
