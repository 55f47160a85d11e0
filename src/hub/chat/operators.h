// Python's operators on template values. Every one throws Fault where Python raises.
#pragma once

#include "hub/chat/value.h"

namespace tilewright::hub::jinja {

Value add(const Value& a, const Value& b);
Value subtract(const Value& a, const Value& b);
Value multiply(const Value& a, const Value& b);
Value divide(const Value& a, const Value& b);
Value floor_divide(const Value& a, const Value& b);
Value modulo(const Value& a, const Value& b);  // for a string: % formatting
Value power(const Value& a, const Value& b);
Value negate(const Value& a);
Value plus(const Value& a);
bool contains(const Value& container, const Value& item);

// value[start:stop:step]; a missing bound is None. Strings by code points.
Value slice(const Value& value, const Value& start, const Value& stop, const Value& step);
// value[index] of a sequence or mapping; missing where Python raises TypeError, IndexError or KeyError.
Value subscript(const Value& value, const Value& index);

// What Python takes where it wants an integer (operator.index): int and bool. Fault otherwise.
std::int64_t as_index(const Value& value);
Value round_number(const Value& value, std::int64_t digits);
// A double that holds a whole number, as int(); Fault beyond 64 bits (Python has no such limit), for NaN and infinity.
Value integer_from_real(double value);

// "%s and %d" % values; `arguments` as Python passes it: a tuple, a mapping or one value.
std::string percent_format(const Value& format, const Value& arguments);
// HTML-escapes into Markup; Markup stays as it is.
Value escape(const Value& value);

}  // namespace tilewright::hub::jinja
