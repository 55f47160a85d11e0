// Attribute and item access with the sandbox's rules, and the methods of strings, lists, dicts and numbers.
#pragma once

#include <functional>
#include <string>

#include "hub/chat/value.h"

namespace tilewright::hub::jinja {

// object.name: the attribute, else the item of that name, else undefined.
Value get_attribute(const Value& object, const std::string& name);
// object[index]: the item, else (for a string) the attribute, else undefined.
Value get_item(const Value& object, const Value& index);
// Only the attribute; missing where Python raises AttributeError. Names that start with "_" and methods that would
// change a list or dict give an undefined value that explains itself when used.
Value find_attribute(const Value& object, const std::string& name);

using Callback = std::function<Value(Interpreter&, Arguments&)>;
Value make_function(std::string name, Callback callback, std::uint32_t depth = 0);

// Missing when there is no such method.
Value string_method(const Value& object, const std::string& name);
std::string format_fields(const Value& format, Arguments& arguments);   // str.format
std::string format_value(const Value& value, const std::string& spec);  // format(value, spec)

}  // namespace tilewright::hub::jinja
