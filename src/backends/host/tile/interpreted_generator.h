// Runs tile programs of the host by the interpreter: for tests, which so have every kernel's meaning without a
// compiler. Far too slow for anything else.
#pragma once

#include <memory>

#include "ops/core/code_generator.h"

namespace tilewright::backends::host {

// `registry.set_code_generator("host", make_interpreted_generator())`
std::shared_ptr<ops::CodeGenerator> make_interpreted_generator();

}  // namespace tilewright::backends::host
