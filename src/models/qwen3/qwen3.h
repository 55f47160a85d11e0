// The parts of the family, one file each; qwen3.cpp puts them together.
#pragma once

#include <string>
#include <vector>

#include "models/core/family.h"

namespace tilewright::models::qwen3 {

nn::DecoderConfig read_config(const Json& config, const std::string& where);
std::vector<WeightName> weight_names();
std::vector<PublishedShape> shapes();

}  // namespace tilewright::models::qwen3
