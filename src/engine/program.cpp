#include "engine/program.h"

namespace tilewright {

void register_operators(ops::Registry& registry);
void register_backends(runtime::DeviceRegistry& devices, ops::Registry& registry);
void register_families(models::FamilyRegistry& families);

Program::Program(const std::function<void(ops::Registry&)>& before_finish) {
  register_operators(operators);
  register_backends(devices, operators);
  register_families(families);
  if (before_finish) before_finish(operators);
  operators.finish();
}

}  // namespace tilewright
