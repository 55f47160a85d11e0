// str() and repr() of values as Python writes them.
#pragma once

#include <string>

#include "hub/chat/value.h"

namespace tilewright::hub::jinja {

std::string str(const Value& value);
std::string repr(const Value& value);
std::string repr_of_text(std::string_view text);
std::string repr_of_real(double value);  // shortest digits that read back the same, in Python's notation
std::size_t string_length(const Value& string);

}  // namespace tilewright::hub::jinja
