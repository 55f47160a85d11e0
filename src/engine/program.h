// What a program that runs models needs once: operators, devices, families. Filled by the functions that CMake
// generates from the folders (cmake/registration.cmake).
#pragma once

#include <functional>

#include "models/core/family.h"
#include "ops/core/registry.h"
#include "runtime/device.h"

namespace tilewright {

struct Program {
  // Throws Error if the operators are inconsistent. `before_finish` may add to the operators or replace what runs them.
  explicit Program(const std::function<void(ops::Registry&)>& before_finish = {});
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  ops::Registry operators;
  runtime::DeviceRegistry devices;
  models::FamilyRegistry families;
};

}  // namespace tilewright
