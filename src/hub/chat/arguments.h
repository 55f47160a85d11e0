// Binds call arguments to parameters as Python does.
#pragma once

#include <initializer_list>
#include <string>

#include "hub/chat/value.h"

namespace tilewright::hub::jinja {

class Bound {
 public:
  // `parameters` in order; a name that starts with '/' cannot be given by keyword. The first `required` have no
  // default. Throws Fault for too many, unknown, repeated or absent arguments.
  Bound(const char* function, Arguments& arguments, std::initializer_list<const char*> parameters,
        std::size_t required);

  bool has(std::size_t i) const { return !values_[i].is(Kind::missing); }
  const Value& operator[](std::size_t i) const { return values_[i]; }  // missing when absent
  bool truth_or(std::size_t i, bool otherwise) const;
  std::int64_t integer_or(std::size_t i, std::int64_t otherwise) const;  // Fault unless int or bool
  bool none(std::size_t i) const { return !has(i) || values_[i].is(Kind::none); }
  // Fault unless a string.
  const std::string& text(std::size_t i) const;

 private:
  Values values_;
};

}  // namespace tilewright::hub::jinja
