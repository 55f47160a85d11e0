// A model whose forward pass is nn/decoder.
#pragma once

#include <filesystem>
#include <memory>

#include "models/core/family.h"
#include "models/core/model.h"

namespace tilewright::models {

// The family of a model's directory: config.json's model_type; where that is not built in, the family that `tilewright
// patch --family` pinned. Throws Error as FamilyRegistry::of_config does.
const Family& family_of_directory(const FamilyRegistry& families, const std::filesystem::path& directory,
                                  const Json& config);

// From a directory with config.json and safetensors. Returns when the weights are on the device. Throws Error as
// FamilyRegistry, read_config and load_weights do.
std::unique_ptr<Model> load_model(ops::Context& context, const FamilyRegistry& families,
                                  const std::filesystem::path& directory, const LoadOptions& options);

// Of a published shape, with random weights; dtype: that of the options, else what the shape is published in.
std::unique_ptr<Model> make_dummy_model(ops::Context& context, const FamilyRegistry& families, std::string_view shape,
                                        const LoadOptions& options);

}  // namespace tilewright::models
