// The operators' own cases, src/ops/*/cases.json.
#pragma once

#include <cstdint>
#include <vector>

#include "ops/core/case_file.h"

namespace tilewright::test {

std::vector<ops::OpCase> all_cases();

// Of all inputs together.
std::int64_t elements_of(const ops::OpCase& one);

}  // namespace tilewright::test
