#include "port/built_in_families.h"

namespace tilewright::port {

hub::Families built_in_families(const models::FamilyRegistry& registry) {
  return {.names =
              [&registry] {
                std::vector<std::string> out;
                for (const models::Family& family : registry.families()) out.push_back(family.model_type);
                return out;
              },
          .find = [&registry](const std::string& name) -> std::optional<std::string> {
            const models::Family* family = registry.find(name);
            return family ? std::optional(family->model_type) : std::nullopt;
          }};
}

}  // namespace tilewright::port
