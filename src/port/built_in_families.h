// The model families of this program, as patching asks for them.
#pragma once

#include "hub/patch/patch.h"
#include "models/core/family.h"

namespace tilewright::port {

// `registry` must outlive it.
hub::Families built_in_families(const models::FamilyRegistry& registry);

}  // namespace tilewright::port
