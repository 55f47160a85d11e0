#include "models/qwen3/qwen3.h"

namespace tilewright::models {

void register_qwen3(FamilyRegistry& registry);
void register_qwen3(FamilyRegistry& registry) {
  registry.add({.model_type = "qwen3",
                .summary = "Qwen3, dense: q and k normed per head",
                .read_config = qwen3::read_config,
                .weight_names = qwen3::weight_names(),
                .shapes = qwen3::shapes()});
}

}  // namespace tilewright::models
