// Binds every name to a place before the template runs, by jinja2's rules: what a scope stores is its own, what a
// branch of an if may store starts with the outer value, all else is looked up outward and at last among the variables
// given.
#pragma once

#include "hub/chat/syntax.h"

namespace tilewright::hub::jinja {

// Fills the scope plans and places of the tree. Throws Error for filters and tests that do not exist, where jinja2
// does.
void bind_names(Syntax& syntax, const std::string& name);

}  // namespace tilewright::hub::jinja
