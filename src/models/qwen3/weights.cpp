#include "models/core/decoder_names.h"
#include "models/qwen3/qwen3.h"

namespace tilewright::models::qwen3 {

std::vector<WeightName> weight_names() {
  std::vector<WeightName> out = decoder_names();
  for (WeightName& name : qk_norm_names()) out.push_back(std::move(name));
  return out;
}

}  // namespace tilewright::models::qwen3
