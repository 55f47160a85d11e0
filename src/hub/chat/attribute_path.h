// The attribute argument of filters such as map, sort and groupby: "name", "a.b.0", 3.
#pragma once

#include "hub/chat/value.h"

namespace tilewright::hub::jinja {

class AttributePath {
 public:
  explicit AttributePath(const Value& attribute);  // missing or none: the item itself
  // `otherwise` (missing: none given) replaces what is undefined.
  Value of(Value item, const Value& otherwise = Value::missing()) const;

 private:
  Values parts_;
};

// A comma-separated list of paths, as sort takes it; the key is the list of what they find.
class AttributePaths {
 public:
  explicit AttributePaths(const Value& attribute);
  Value key(const Value& item, bool ignore_case) const;

 private:
  std::vector<AttributePath> paths_;
};

Value without_case(const Value& value);  // strings in lower case, all else as it is

}  // namespace tilewright::hub::jinja
