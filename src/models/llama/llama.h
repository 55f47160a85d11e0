// The parts of the family, one file each; llama.cpp puts them together.
#pragma once

#include <string>
#include <vector>

#include "models/core/family.h"

namespace tilewright::models::llama {

nn::DecoderConfig read_config(const Json& config, const std::string& where);
std::vector<WeightName> weight_names();
std::vector<PublishedShape> shapes();

}  // namespace tilewright::models::llama
