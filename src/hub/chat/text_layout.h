// Larger text work of the filters wordwrap, striptags and urlencode.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::hub::jinja {

// Python's textwrap.wrap of one line (tabs and white space kept as they are). Throws Fault for a width below 1.
std::vector<std::string> wrap_line(std::string_view line, std::int64_t width, bool break_long_words,
                                   bool break_on_hyphens);
// Comments and tags removed, white space collapsed, the five XML entities, &nbsp; and numeric ones replaced.
std::string without_tags(std::string_view text);
// Percent-encoding of UTF-8; '/' is kept, unless for a query string, where a space becomes '+'.
std::string url_quoted(std::string_view text, bool for_query);

}  // namespace tilewright::hub::jinja
