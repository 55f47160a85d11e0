// What a program that runs models needs once: operators, devices, families. Filled by the functions that CMake
// generates from the folders (cmake/registration.cmake).
#pragma once

#include "models/core/family.h"
#include "ops/core/registry.h"
#include "runtime/device.h"

namespace tilewright {

struct Program {
  Program();  // throws Error if the operators are inconsistent
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  ops::Registry operators;
  runtime::DeviceRegistry devices;
  models::FamilyRegistry families;
};

}  // namespace tilewright
