// The functions every chat template finds: range, namespace, dict, cycler, joiner, raise_exception, strftime_now.
#pragma once

#include <string_view>

#include "hub/chat/value.h"

namespace tilewright::hub::jinja {

// Missing when there is no such global.
Value find_global(std::string_view name);

}  // namespace tilewright::hub::jinja
