#include "engine/program.h"

namespace tilewright {

void register_operators(ops::Registry& registry);
void register_backends(runtime::DeviceRegistry& devices, ops::Registry& registry);
void register_families(models::FamilyRegistry& families);

Program::Program() {
  register_operators(operators);
  register_backends(devices, operators);
  register_families(families);
  operators.finish();
}

}  // namespace tilewright
