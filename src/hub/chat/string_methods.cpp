// The methods of str.
#include <algorithm>
#include <array>

#include "hub/chat/arguments.h"
#include "hub/chat/attributes.h"
#include "hub/chat/filters.h"
#include "hub/chat/interpreter.h"
#include "hub/chat/operators.h"
#include "hub/chat/text.h"
#include "hub/chat/text_form.h"

namespace tilewright::hub::jinja {
namespace {

// A method works on the string; results that are text keep the Markup mark.
using Method = Value (*)(const Value& self, Arguments& given);

Value same_kind(const Value& self, std::string text) { return Value::string(std::move(text), self.is_markup()); }

// Text given to a Markup string is escaped first.
std::string taken(const Value& self, const Bound& bound, std::size_t i) {
  const std::string& text = bound.text(i);
  return self.is_markup() ? escape(bound[i]).text() : text;
}

template <std::string (*change)(std::string_view)>
Value changed(const Value& self, Arguments& given) {
  const Bound bound("str method", given, {}, 0);
  expect_size(self.text().size() * 4);
  return same_kind(self, change(self.text()));
}

template <Side side>
Value stripped(const Value& self, Arguments& given) {
  const Bound bound("strip", given, {"/chars"}, 0);
  expect_size(self.text().size() * 4);
  return same_kind(self, bound.none(0) ? strip(self.text(), side) : strip(self.text(), side, bound.text(0)));
}

template <bool from_right>
Value split(const Value& self, Arguments& given) {
  const Bound bound("split", given, {"sep", "maxsplit"}, 0);
  expect_size(self.text().size() * 4);
  std::int64_t limit = bound.integer_or(1, -1);
  std::vector<std::string> parts;
  if (bound.none(0)) {
    parts = split_space(self.text(), limit, from_right);
  } else {
    const std::string &text = self.text(), &separator = bound.text(0);
    if (separator.empty()) throw Fault{"empty separator"};
    std::size_t begin = 0, end = text.size();
    for (; limit != 0; --limit) {
      const std::size_t at = from_right
                                 ? (end < separator.size() ? text.npos : text.rfind(separator, end - separator.size()))
                                 : text.find(separator, begin);
      if (at == text.npos) break;
      if (from_right) {
        parts.push_back(text.substr(at + separator.size(), end - at - separator.size()));
        end = at;
      } else {
        parts.push_back(text.substr(begin, at - begin));
        begin = at + separator.size();
      }
      spend(1);
    }
    parts.push_back(text.substr(begin, end - begin));
    if (from_right) std::reverse(parts.begin(), parts.end());
  }
  Values items;
  for (std::string& part : parts) items.push_back(same_kind(self, std::move(part)));
  return Value::list(std::move(items));
}

Value lines(const Value& self, Arguments& given) {
  const Bound bound("splitlines", given, {"keepends"}, 0);
  expect_size(self.text().size() * 4);
  Values items;
  for (std::string& line : split_lines(self.text(), bound.truth_or(0, false)))
    items.push_back(same_kind(self, std::move(line)));
  return Value::list(std::move(items));
}

// The bytes of text[start:end] (by code points, negative from the end); none when start lies beyond the end.
struct Window {
  std::string_view text;
  std::size_t first;  // code points before it
  bool valid;
};

Window window(const Value& self, const Bound& bound, std::size_t start_index) {
  const std::string& text = self.text();
  spend(1 + text.size() / 64);
  const auto n = static_cast<std::int64_t>(code_points(text));
  const auto adjust = [&](std::size_t i, std::int64_t otherwise) {
    if (bound.none(i)) return otherwise;
    std::int64_t at = as_index(bound[i]);
    if (at < 0) at = std::max<std::int64_t>(at + n, 0);
    return at;
  };
  const std::int64_t start = adjust(start_index, 0), end = std::min(adjust(start_index + 1, n), n);
  if (start > end) return {{}, 0, false};
  std::size_t from = 0, i = 0;
  const auto forward = [&](std::size_t byte, std::int64_t count) {
    while (count-- > 0) {
      ++byte;
      while (byte < text.size() && (static_cast<unsigned char>(text[byte]) & 0xC0) == 0x80) ++byte;
    }
    return byte;
  };
  from = forward(0, start);
  i = forward(from, end - start);
  return {std::string_view(text).substr(from, i - from), static_cast<std::size_t>(start), true};
}

template <bool from_right, bool must>
Value found(const Value& self, Arguments& given) {
  const Bound bound("find", given, {"/sub", "/start", "/end"}, 1);
  const std::string& needle = bound.text(0);
  const Window view = window(self, bound, 1);
  const std::size_t at = !view.valid ? view.text.npos : from_right ? view.text.rfind(needle) : view.text.find(needle);
  if (at == view.text.npos) {
    if (must) throw Fault{"substring not found"};
    return Value::integer(-1);
  }
  return Value::integer(static_cast<std::int64_t>(view.first + code_points(view.text.substr(0, at))));
}

Value count(const Value& self, Arguments& given) {
  const Bound bound("count", given, {"/sub", "/start", "/end"}, 1);
  const std::string& needle = bound.text(0);
  const Window view = window(self, bound, 1);
  if (!view.valid) return Value::integer(0);
  if (needle.empty()) return Value::integer(static_cast<std::int64_t>(code_points(view.text)) + 1);
  std::int64_t n = 0;
  for (std::size_t at = view.text.find(needle); at != view.text.npos; at = view.text.find(needle, at + needle.size()))
    ++n;
  return Value::integer(n);
}

template <bool at_end>
Value has_affix(const Value& self, Arguments& given) {
  const Bound bound(at_end ? "endswith" : "startswith", given, {"/affix", "/start", "/end"}, 1);
  const Window view = window(self, bound, 1);
  const auto matches = [&](const Value& affix) {
    if (affix.is_undefined()) throw Fault{affix.hint()};
    if (!affix.is(Kind::string))
      throw Fault{std::string(at_end ? "endswith" : "startswith") + " first arg must be str or a tuple of str, not " +
                  type_name(affix)};
    return view.valid && (at_end ? view.text.ends_with(affix.text()) : view.text.starts_with(affix.text()));
  };
  if (!bound[0].is(Kind::tuple)) return Value::boolean(matches(bound[0]));
  for (const Value& affix : bound[0].items())
    if (matches(affix)) return Value::boolean(true);
  return Value::boolean(false);
}

template <bool at_end>
Value without_affix(const Value& self, Arguments& given) {
  const Bound bound(at_end ? "removesuffix" : "removeprefix", given, {"/affix"}, 1);
  const std::string &text = self.text(), &affix = bound.text(0);
  if (at_end ? !text.ends_with(affix) : !text.starts_with(affix)) return same_kind(self, text);
  return same_kind(self, at_end ? text.substr(0, text.size() - affix.size()) : text.substr(affix.size()));
}

std::string replaced(const std::string& text, const std::string& old, const std::string& with, std::int64_t limit) {
  std::string out;
  std::size_t at = 0;
  if (old.empty()) {  // between all code points
    while (limit != 0) {
      out += with;
      --limit;
      if (at == text.size()) return out;
      std::size_t next = at + 1;
      while (next < text.size() && (static_cast<unsigned char>(text[next]) & 0xC0) == 0x80) ++next;
      out.append(text, at, next - at);
      at = next;
      if (out.size() > 4096) expect_size(out.size() / 64);
    }
    return out.append(text, at);
  }
  while (limit != 0) {
    const std::size_t next = text.find(old, at);
    if (next == text.npos) break;
    if (out.size() + with.size() > (128u << 20)) expect_size(out.size() + with.size());
    out.append(text, at, next - at).append(with);
    at = next + old.size();
    --limit;
  }
  return out.append(text, at);
}

Value replace(const Value& self, Arguments& given) {
  const Bound bound("replace", given, {"/old", "/new", "/count"}, 2);
  expect_size(self.text().size());
  const std::string with = taken(self, bound, 1);
  return same_kind(self, replaced(self.text(), bound.text(0), with, bound.integer_or(2, -1)));
}

Value join(const Value& self, Arguments& given) {
  const Bound bound("join", given, {"/iterable"}, 1);
  std::string out;
  bool first = true;
  const auto items = iterate(bound[0]);
  if (!items) throw Fault{"can only join an iterable"};
  for (Value item; items->next(item);) {
    if (!first) out += self.text();
    first = false;
    if (self.is_markup())
      out += escape(item).text();
    else if (!item.is(Kind::string))
      throw Fault{"sequence item: expected str instance, " + type_name(item) + " found"};
    else
      out += item.text();
    if (out.size() > (1u << 20)) expect_size(out.size());
  }
  return same_kind(self, std::move(out));
}

template <bool from_right>
Value partition(const Value& self, Arguments& given) {
  const Bound bound("partition", given, {"/sep"}, 1);
  const std::string &text = self.text(), &separator = bound.text(0);
  if (separator.empty()) throw Fault{"empty separator"};
  const std::size_t at = from_right ? text.rfind(separator) : text.find(separator);
  const auto part = [&](std::string value) { return same_kind(self, std::move(value)); };
  if (at == text.npos)
    return from_right ? Value::tuple({part(""), part(""), part(text)}) : Value::tuple({part(text), part(""), part("")});
  return Value::tuple({part(text.substr(0, at)), part(separator), part(text.substr(at + separator.size()))});
}

enum class Pad { left, right, center };

template <Pad side>
Value padded(const Value& self, Arguments& given) {
  const Bound bound("center", given, {"/width", "/fillchar"}, 1);
  const std::string fill = bound.has(1) ? taken(self, bound, 1) : " ";
  if (code_points(fill) != 1) throw Fault{"the fill character must be exactly one character long"};
  const std::int64_t width = as_index(bound[0]), n = static_cast<std::int64_t>(code_points(self.text()));
  if (width <= n) return same_kind(self, self.text());
  if (width > (1 << 27)) throw Fault{"a value would be larger than 128 MiB"};
  expect_size(static_cast<std::uint64_t>(width) * fill.size());
  const std::int64_t total = width - n;
  const std::int64_t left = side == Pad::left ? total : side == Pad::right ? 0 : total / 2 + (total & width & 1);
  std::string out;
  for (std::int64_t i = 0; i < left; ++i) out += fill;
  out += self.text();
  for (std::int64_t i = 0; i < total - left; ++i) out += fill;
  return same_kind(self, std::move(out));
}

Value zero_filled(const Value& self, Arguments& given) {
  const Bound bound("zfill", given, {"/width"}, 1);
  const std::int64_t width = as_index(bound[0]), n = static_cast<std::int64_t>(code_points(self.text()));
  if (width <= n) return same_kind(self, self.text());
  if (width > (1 << 27)) throw Fault{"a value would be larger than 128 MiB"};
  expect_size(static_cast<std::uint64_t>(width));
  const std::string& text = self.text();
  const bool sign = !text.empty() && (text[0] == '+' || text[0] == '-');
  return same_kind(self, (sign ? text.substr(0, 1) : "") + std::string(static_cast<std::size_t>(width - n), '0') +
                             text.substr(sign ? 1 : 0));
}

Value tabs_expanded(const Value& self, Arguments& given) {
  const Bound bound("expandtabs", given, {"tabsize"}, 0);
  const std::int64_t size = bound.integer_or(0, 8);
  if (size > 1000) throw Fault{"tab size beyond 1000 is unsupported"};
  std::string out;
  std::int64_t column = 0;
  for (char32_t c : decode(self.text())) {
    if (c == '\t') {
      const std::int64_t spaces = size > 0 ? size - column % size : 0;
      out.append(static_cast<std::size_t>(spaces), ' ');
      column += spaces;
      if (out.size() > (1u << 20)) expect_size(out.size());
    } else {
      append_utf8(out, c);
      column = c == '\n' || c == '\r' ? 0 : column + 1;
    }
  }
  return same_kind(self, std::move(out));
}

// True when the text has characters and all pass.
template <bool (*passes)(char32_t)>
Value all_characters(const Value& self, Arguments& given) {
  const Bound bound("str method", given, {}, 0);
  const std::u32string points = decode(self.text());
  return Value::boolean(!points.empty() && std::all_of(points.begin(), points.end(), passes));
}

bool is_alphanumeric(char32_t c) { return is_letter(c) || is_decimal(c) || is_digit(c) || is_numeric(c); }

template <bool want_lower>
Value cased(const Value& self, Arguments& given) {
  const Bound bound("str method", given, {}, 0);
  return Value::boolean(is_cased_all(self.text(), want_lower));
}

Value is_titled(const Value& self, Arguments& given) {
  const Bound bound("istitle", given, {}, 0);
  bool any = false, previous = false;
  for (char32_t c : decode(self.text())) {
    if (is_upper(c) || is_title(c)) {
      if (previous) return Value::boolean(false);
      previous = any = true;
    } else if (is_lower(c)) {
      if (!previous) return Value::boolean(false);
      any = true;
    } else {
      previous = false;
    }
  }
  return Value::boolean(any);
}

Value is_plain_ascii(const Value& self, Arguments& given) {
  const Bound bound("isascii", given, {}, 0);
  return Value::boolean(is_ascii(self.text()));
}

Value is_identifier(const Value& self, Arguments& given) {
  const Bound bound("isidentifier", given, {}, 0);
  const std::u32string points = decode(self.text());
  return Value::boolean(!points.empty() && !is_numeric(points[0]) &&
                        std::all_of(points.begin(), points.end(), is_word));
}

Value is_all_printable(const Value& self, Arguments& given) {
  const Bound bound("isprintable", given, {}, 0);
  const std::u32string points = decode(self.text());
  return Value::boolean(std::all_of(points.begin(), points.end(), is_printable));
}

Value formatted(const Value& self, Arguments& given) {
  Arguments copy = given;
  if (self.is_markup())
    for (Value& value : copy.positional) value = escape(value);
  if (self.is_markup())
    for (auto& [_, value] : copy.named) value = escape(value);
  return same_kind(self, format_fields(self, copy));
}

Value format_mapped(const Value& self, Arguments& given) {
  const Bound bound("format_map", given, {"/mapping"}, 1);
  if (!bound[0].is(Kind::dict)) throw Fault{"format_map() needs a mapping"};
  Arguments fields;
  for (const auto& [key, value] : bound[0].dict().entries)
    if (key.is(Kind::string)) fields.named.emplace_back(key.text(), value);
  return same_kind(self, format_fields(self, fields));
}

struct Named {
  std::string_view name;
  Method method;
};

constexpr Named methods[] = {
    {"upper", changed<upper>},
    {"lower", changed<lower>},
    {"casefold", changed<case_fold>},
    {"capitalize", changed<capitalize>},
    {"title", changed<title>},
    {"swapcase", changed<swap_case>},
    {"strip", stripped<Side::both>},
    {"lstrip", stripped<Side::left>},
    {"rstrip", stripped<Side::right>},
    {"split", split<false>},
    {"rsplit", split<true>},
    {"splitlines", lines},
    {"find", found<false, false>},
    {"rfind", found<true, false>},
    {"index", found<false, true>},
    {"rindex", found<true, true>},
    {"count", count},
    {"startswith", has_affix<false>},
    {"endswith", has_affix<true>},
    {"removeprefix", without_affix<false>},
    {"removesuffix", without_affix<true>},
    {"replace", replace},
    {"join", join},
    {"partition", partition<false>},
    {"rpartition", partition<true>},
    {"ljust", padded<Pad::right>},
    {"rjust", padded<Pad::left>},
    {"center", padded<Pad::center>},
    {"zfill", zero_filled},
    {"expandtabs", tabs_expanded},
    {"isspace", all_characters<is_space>},
    {"isalpha", all_characters<is_letter>},
    {"isdecimal", all_characters<is_decimal>},
    {"isdigit", all_characters<is_digit>},
    {"isnumeric", all_characters<is_numeric>},
    {"isalnum", all_characters<is_alphanumeric>},
    {"isprintable", is_all_printable},
    {"islower", cased<true>},
    {"isupper", cased<false>},
    {"istitle", is_titled},
    {"isascii", is_plain_ascii},
    {"isidentifier", is_identifier},
    {"format", formatted},
    {"format_map", format_mapped},
};

}  // namespace

Value string_method(const Value& object, const std::string& name) {
  for (const Named& entry : methods)
    if (entry.name == name)
      return make_function(
          name, [object, method = entry.method](Interpreter&, Arguments& given) { return method(object, given); });
  return Value::missing();
}

}  // namespace tilewright::hub::jinja
