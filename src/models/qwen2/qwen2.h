// The parts of the family, one file each; qwen2.cpp puts them together.
#pragma once

#include <string>
#include <vector>

#include "models/core/family.h"

namespace tilewright::models::qwen2 {

nn::DecoderConfig read_config(const Json& config, const std::string& where);
std::vector<WeightName> weight_names();
std::vector<PublishedShape> shapes();

}  // namespace tilewright::models::qwen2
