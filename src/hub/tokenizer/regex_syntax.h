// Published patterns are written for Oniguruma (Ruby syntax, Unicode classes); PCRE2 reads a slightly different
// language.
#pragma once

#include <string>
#include <string_view>

namespace tilewright::hub {

// The same pattern in PCRE2's syntax, for PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE. What differs: \s, \w, \h and \b
// (other character sets), scripts (by Script, not Script_Extensions), (?m), {,n}, {n,m}+ (not possessive), nested
// classes. Throws Error, naming `where`, for class intersections and negated classes inside classes, which PCRE2 10.42
// lacks.
std::string pcre_from_oniguruma(std::string_view pattern, const std::string& where);

}  // namespace tilewright::hub
