// Code points whose upper, title or lower form is more than one code point, or differs from utf8proc's simple mapping.
#pragma once

#include <span>

namespace tilewright::hub::jinja {

struct SpecialCasing {
  char32_t code_point;
  const char32_t* upper;
  const char32_t* title;
  const char32_t* lower;
};

std::span<const SpecialCasing> special_casings();

}  // namespace tilewright::hub::jinja
