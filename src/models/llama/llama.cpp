#include "models/llama/llama.h"

namespace tilewright::models {

void register_llama(FamilyRegistry& registry);
void register_llama(FamilyRegistry& registry) {
  registry.add({.model_type = "llama",
                .summary = "Llama 2 and 3, SmolLM2 and others of that layout",
                .read_config = llama::read_config,
                .weight_names = llama::weight_names(),
                .shapes = llama::shapes()});
}

}  // namespace tilewright::models
