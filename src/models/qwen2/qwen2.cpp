#include "models/qwen2/qwen2.h"

namespace tilewright::models {

void register_qwen2(FamilyRegistry& registry);
void register_qwen2(FamilyRegistry& registry) {
  registry.add({.model_type = "qwen2",
                .summary = "Qwen2 and Qwen2.5: biases on q, k and v",
                .read_config = qwen2::read_config,
                .weight_names = qwen2::weight_names(),
                .shapes = qwen2::shapes()});
}

}  // namespace tilewright::models
