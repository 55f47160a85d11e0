// Text as Python sees it: UTF-8 held in std::string, counted, cut and changed by code points.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::hub::jinja {

bool is_ascii(std::string_view text);
// Strict UTF-8 (no surrogates, no overlong forms); the first bad byte's position, or npos.
std::size_t find_invalid_utf8(std::string_view text);
// Both expect valid UTF-8 and valid code points.
std::u32string decode(std::string_view text);
std::string encode(std::u32string_view text);
void append_utf8(std::string& out, char32_t c);
std::size_t code_points(std::string_view text);

bool is_space(char32_t c);       // str.isspace, and \s of Python's regular expressions
bool is_line_break(char32_t c);  // what str.splitlines splits at
bool is_printable(char32_t c);   // str.isprintable: what repr() does not escape
bool is_letter(char32_t c);      // str.isalpha
bool is_decimal(char32_t c);     // str.isdecimal
bool is_digit(char32_t c);       // str.isdigit
bool is_numeric(char32_t c);     // str.isnumeric
bool is_word(char32_t c);        // \w
bool is_lower(char32_t c);
bool is_upper(char32_t c);
bool is_title(char32_t c);

std::string upper(std::string_view text);       // full mapping: ß becomes SS
std::string lower(std::string_view text);       // full mapping, with the final sigma
std::string case_fold(std::string_view text);   // str.casefold
std::string capitalize(std::string_view text);  // str.capitalize
std::string title(std::string_view text);       // str.title
std::string swap_case(std::string_view text);
// At least one cased letter, and none of the other case (str.islower, str.isupper).
bool is_cased_all(std::string_view text, bool want_lower);

enum class Side { left, right, both };
// str.strip and its one-sided forms; without `characters`, white space.
std::string strip(std::string_view text, Side side);
std::string strip(std::string_view text, Side side, std::string_view characters);
std::vector<std::string> split_lines(std::string_view text, bool keep_ends);
std::vector<std::string> split_space(std::string_view text, std::int64_t limit, bool from_right);

}  // namespace tilewright::hub::jinja
