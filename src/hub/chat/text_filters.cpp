// Filters that make text.
#include <algorithm>
#include <string_view>

#include "hub/chat/arguments.h"
#include "hub/chat/attributes.h"
#include "hub/chat/filters.h"
#include "hub/chat/interpreter.h"
#include "hub/chat/json_text.h"
#include "hub/chat/operators.h"
#include "hub/chat/text.h"
#include "hub/chat/text_form.h"
#include "hub/chat/text_layout.h"

namespace tilewright::hub::jinja {
namespace {

// markupsafe's soft_str: text stays what it is, anything else becomes str(value).
Value soft(const Value& value) { return value.is(Kind::string) ? value : Value::string(str(value)); }

Value method(Interpreter& interpreter, const Value& text, const char* name, Arguments given) {
  return interpreter.call(string_method(text, name), std::move(given));
}

template <const char* const& name>
Value by_method(Interpreter& interpreter, Arguments& given) {
  const Bound bound(name, given, {"s"}, 1);
  return method(interpreter, soft(bound[0]), name, {});
}
constexpr const char* upper_name = "upper";
constexpr const char* lower_name = "lower";
constexpr const char* capitalize_name = "capitalize";

Value string(Interpreter&, Arguments& given) {
  const Bound bound("string", given, {"/s"}, 1);
  return soft(bound[0]);
}

Value trim(Interpreter& interpreter, Arguments& given) {
  const Bound bound("trim", given, {"value", "chars"}, 1);
  return method(interpreter, soft(bound[0]), "strip", {bound.has(1) ? Values{bound[1]} : Values{}, {}});
}

Value center(Interpreter& interpreter, Arguments& given) {
  const Bound bound("center", given, {"value", "width"}, 1);
  return method(interpreter, soft(bound[0]), "center", {{bound.has(1) ? bound[1] : Value::integer(80)}, {}});
}

Value title_case(Interpreter&, Arguments& given) {
  const Bound bound("title", given, {"s"}, 1);
  const Value text = soft(bound[0]);
  // Words begin after white space and after - ( { [ <
  std::u32string points = decode(text.text());
  std::string out;
  std::u32string word;
  const auto flush = [&] {
    if (word.empty()) return;
    out += upper(encode(word.substr(0, 1))) + lower(encode(word.substr(1)));
    word.clear();
  };
  for (char32_t c : points) {
    const bool breaks = is_space(c) || std::u32string_view(U"-({[<").find(c) != std::u32string_view::npos;
    if (breaks) {
      flush();
      append_utf8(out, c);
    } else {
      word.push_back(c);
    }
  }
  flush();
  return Value::string(std::move(out));
}

Value replace(Interpreter& interpreter, Arguments& given) {
  const Bound bound("replace", given, {"s", "old", "new", "count"}, 3);
  const Value count = bound.none(3) ? Value::integer(-1) : bound[3];
  return method(interpreter, Value::string(str(bound[0])), "replace",
                {{Value::string(str(bound[1])), Value::string(str(bound[2])), count}, {}});
}

Value escape_filter(Interpreter&, Arguments& given) {
  const Bound bound("escape", given, {"/s"}, 1);
  return escape(bound[0]);
}

Value force_escape(Interpreter&, Arguments& given) {
  const Bound bound("forceescape", given, {"value"}, 1);
  return escape(Value::string(str(bound[0])));
}

Value safe(Interpreter&, Arguments& given) {
  const Bound bound("safe", given, {"value"}, 1);
  return Value::string(str(bound[0]), true);
}

Value format(Interpreter&, Arguments& given) {
  if (given.positional.empty()) throw Fault{"format() missing required argument 'value'"};
  const Value text = soft(given.positional[0]);
  Values rest(given.positional.begin() + 1, given.positional.end());
  if (given.named.empty()) return modulo(text, Value::tuple(std::move(rest)));
  if (!rest.empty()) throw Fault{"can't handle positional and keyword arguments at the same time"};
  std::vector<std::pair<Value, Value>> entries;
  for (auto& [name, value] : given.named) entries.emplace_back(Value::string(name), value);
  return modulo(text, Value::dict(std::move(entries)));
}

Value indent(Interpreter&, Arguments& given) {
  const Bound bound("indent", given, {"s", "width", "first", "blank"}, 1);
  const Value& text = bound[0];
  if (!text.is(Kind::string))
    throw Fault{text.is_undefined() ? text.hint() : "indent needs a string, not " + type_name(text)};
  std::string pad(4, ' ');
  if (bound.has(1)) {
    if (bound[1].is(Kind::string)) {
      pad = text.is_markup() ? escape(bound[1]).text() : bound[1].text();
    } else {
      const std::int64_t width = as_index(bound[1]);
      if (width > 10000) throw Fault{"indent beyond 10000 is unsupported"};
      pad.assign(static_cast<std::size_t>(std::max<std::int64_t>(width, 0)), ' ');
    }
  }
  const bool first = bound.truth_or(2, false), blank = bound.truth_or(3, false);
  const std::vector<std::string> lines = split_lines(text.text() + "\n", false);
  expect_size(text.text().size() + lines.size() * pad.size());
  std::string out = first ? pad : "";
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i) out += (blank || !lines[i].empty()) ? "\n" + pad : "\n";
    out += lines[i];
  }
  return Value::string(std::move(out), text.is_markup());
}

Value truncate(Interpreter&, Arguments& given) {
  const Bound bound("truncate", given, {"s", "length", "killwords", "end", "leeway"}, 1);
  const std::int64_t size = bound.integer_or(1, 255), leeway = bound.none(4) ? 5 : as_index(bound[4]);
  const std::string end = bound.has(3) ? bound.text(3) : "...";
  const auto end_size = static_cast<std::int64_t>(code_points(end));
  if (size < end_size) throw Fault{"expected length >= " + std::to_string(end_size)};
  if (leeway < 0) throw Fault{"expected leeway >= 0"};
  const auto n = length(bound[0]);
  if (!n) throw Fault{"object of type '" + type_name(bound[0]) + "' has no len()"};
  if (static_cast<std::int64_t>(*n) <= size || static_cast<std::int64_t>(*n) - size <= leeway) return bound[0];
  std::string kept = encode(decode(bound.text(0)).substr(0, static_cast<std::size_t>(size - end_size)));
  if (!bound.truth_or(2, false))
    if (const std::size_t space = kept.rfind(' '); space != kept.npos) kept.resize(space);
  return Value::string(kept + end, bound[0].is_markup());
}

Value word_wrap(Interpreter&, Arguments& given) {
  const Bound bound("wordwrap", given, {"s", "width", "break_long_words", "wrapstring", "break_on_hyphens"}, 1);
  const std::int64_t width = bound.integer_or(1, 79);
  const std::string between = bound.none(3) ? "\n" : bound.text(3);
  std::string out;
  bool first = true;
  for (const std::string& line : split_lines(bound.text(0), false)) {
    const auto parts = wrap_line(line, width, bound.truth_or(2, true), bound.truth_or(4, true));
    if (!first) out += between;
    first = false;
    for (std::size_t i = 0; i < parts.size(); ++i) out += (i ? between : "") + parts[i];
    if (out.size() > (1u << 16)) expect_size(out.size());
  }
  return Value::string(std::move(out));
}

Value word_count(Interpreter&, Arguments& given) {
  const Bound bound("wordcount", given, {"s"}, 1);
  std::int64_t words = 0;
  bool inside = false;
  for (char32_t c : decode(str(bound[0]))) {
    const bool word = is_word(c);
    words += word && !inside ? 1 : 0;
    inside = word;
  }
  return Value::integer(words);
}

Value strip_tags(Interpreter&, Arguments& given) {
  const Bound bound("striptags", given, {"value"}, 1);
  return Value::string(without_tags(str(bound[0])));
}

Value url_encode(Interpreter&, Arguments& given) {
  const Bound bound("urlencode", given, {"value"}, 1);
  const Value& value = bound[0];
  if (value.is(Kind::string) || !iterate(value)) return Value::string(url_quoted(str(value), false));
  std::string out;
  const auto items =
      iterate(value.is(Kind::dict) ? Value::of(Kind::view, std::make_shared<View>(value, View::Part::items)) : value);
  for (Value item; items->next(item);) {
    const Values pair = to_vector(item);
    if (pair.size() != 2) throw Fault{"urlencode needs pairs"};
    out += (out.empty() ? "" : "&") + url_quoted(str(pair[0]), true) + "=" + url_quoted(str(pair[1]), true);
  }
  return Value::string(std::move(out));
}

Value xml_attributes(Interpreter&, Arguments& given) {
  const Bound bound("xmlattr", given, {"d", "autospace"}, 1);
  if (!bound[0].is(Kind::dict)) throw Fault{"xmlattr needs a mapping, not " + type_name(bound[0])};
  std::string out;
  for (const auto& [key, value] : bound[0].dict().entries) {
    if (value.is(Kind::none) || value.is_undefined()) continue;
    if (!key.is(Kind::string)) throw Fault{"expected string or bytes-like object"};
    if (key.text().find_first_of(" \t\n\r\f\v/>=") != std::string::npos)
      throw Fault{"Invalid character in attribute name: " + repr(key)};
    out += (out.empty() ? "" : " ") + escape(key).text() + "=\"" + escape(value).text() + "\"";
  }
  return Value::string(bound.truth_or(1, true) && !out.empty() ? " " + out : out);
}

// pprint.pformat of what fits one line: a repr with sorted keys.
Value sorted_for_print(const Value& value) {
  if (value.is_sequence()) {
    Values items;
    for (const Value& item : value.items()) items.push_back(sorted_for_print(item));
    return value.is(Kind::list) ? Value::list(std::move(items)) : Value::tuple(std::move(items));
  }
  if (!value.is(Kind::dict)) return value;
  std::vector<std::pair<Value, Value>> entries;
  for (const auto& [key, item] : value.dict().entries) entries.emplace_back(key, sorted_for_print(item));
  std::stable_sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) {
    const bool same = a.first.kind() == b.first.kind() || (a.first.is_number() && b.first.is_number());
    return same ? less(a.first, b.first) : type_name(a.first) < type_name(b.first);
  });
  return Value::dict(std::move(entries));
}

Value pretty(Interpreter&, Arguments& given) {
  const Bound bound("pprint", given, {"value"}, 1);
  std::string text = repr(sorted_for_print(bound[0]));
  if (code_points(text) > 80) throw Fault{"pprint of a value longer than one line is unsupported"};
  return Value::string(std::move(text));
}

Value json(Interpreter&, Arguments& given) {
  const Bound bound("tojson", given, {"x", "ensure_ascii", "indent", "separators", "sort_keys"}, 1);
  JsonStyle style;
  style.ensure_ascii = bound.truth_or(1, false);
  style.sort_keys = bound.truth_or(4, false);
  if (!bound.none(2)) {
    if (bound[2].is(Kind::string)) {
      style.indent = bound[2].text();
    } else {
      const std::int64_t width = as_index(bound[2]);
      if (width > 1000) throw Fault{"an indent beyond 1000 is unsupported"};
      style.indent = std::string(static_cast<std::size_t>(std::max<std::int64_t>(width, 0)), ' ');
    }
    style.item_separator = ",";
  }
  if (!bound.none(3) && truth(bound[3])) {
    const Values pair = to_vector(bound[3]);
    if (pair.size() != 2 || !pair[0].is(Kind::string) || !pair[1].is(Kind::string))
      throw Fault{"separators must be two strings"};
    style.item_separator = pair[0].text();
    style.key_separator = pair[1].text();
  } else if (!bound.none(3)) {
    throw Fault{"not enough values to unpack (expected 2)"};
  }
  return Value::string(to_json(bound[0], style));
}

constexpr NamedFilter text_table[] = {
    {"capitalize", by_method<capitalize_name>},
    {"center", center},
    {"e", escape_filter},
    {"escape", escape_filter},
    {"forceescape", force_escape},
    {"format", format},
    {"indent", indent},
    {"lower", by_method<lower_name>},
    {"pprint", pretty},
    {"replace", replace},
    {"safe", safe},
    {"string", string},
    {"striptags", strip_tags},
    {"title", title_case},
    {"tojson", json},
    {"trim", trim},
    {"truncate", truncate},
    {"upper", by_method<upper_name>},
    {"urlencode", url_encode},
    {"wordcount", word_count},
    {"wordwrap", word_wrap},
    {"xmlattr", xml_attributes},
};

}  // namespace

FilterTable text_filters() { return {std::begin(text_table), std::end(text_table)}; }

}  // namespace tilewright::hub::jinja
