#include "models/core/decoder_names.h"
#include "models/qwen2/qwen2.h"

namespace tilewright::models::qwen2 {

std::vector<WeightName> weight_names() { return decoder_names(); }

}  // namespace tilewright::models::qwen2
