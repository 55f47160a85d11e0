// Builds the syntax tree, with jinja2's grammar. Throws Error with the template's name and line; constructs that need
// other files (include, import, extends) and unknown tags are named as unsupported.
#pragma once

#include "hub/chat/syntax.h"

namespace tilewright::hub::jinja {

Syntax parse(std::string_view source, const std::string& name);

}  // namespace tilewright::hub::jinja
