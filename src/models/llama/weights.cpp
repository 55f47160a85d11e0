#include "models/core/decoder_names.h"
#include "models/llama/llama.h"

namespace tilewright::models::llama {

std::vector<WeightName> weight_names() { return decoder_names(); }

}  // namespace tilewright::models::llama
