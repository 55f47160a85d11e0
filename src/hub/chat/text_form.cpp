#include "hub/chat/text_form.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "hub/chat/text.h"

namespace tilewright::hub::jinja {
namespace {

void append_repr(std::string& out, const Value& value);

void append_items(std::string& out, const Values& items) {
  bool first = true;
  for (const Value& item : items) {
    if (!first) out += ", ";
    first = false;
    append_repr(out, item);
  }
}

void append_pair(std::string& out, std::string_view key, const Value& value) {
  out += repr_of_text(key);
  out += ": ";
  append_repr(out, value);
}

// Namespaces may hold themselves, so their printing needs a stop of its own.
struct NamespaceDepth {
  NamespaceDepth() {
    if (++depth > 50) {
      --depth;
      throw Fault{"a namespace holds itself, or namespaces nest too deeply to be printed"};
    }
  }
  ~NamespaceDepth() { --depth; }
  static thread_local int depth;
};
thread_local int NamespaceDepth::depth = 0;

void append_repr(std::string& out, const Value& value) {
  spend(1);
  if (out.size() > (128u << 20)) expect_size(out.size());
  switch (value.kind()) {
    case Kind::missing:
    case Kind::undefined:
      out += "Undefined";
      return;
    case Kind::none:
      out += "None";
      return;
    case Kind::boolean:
      out += value.as_boolean() ? "True" : "False";
      return;
    case Kind::integer:
      out += std::to_string(value.as_integer());
      return;
    case Kind::real:
      out += repr_of_real(value.as_real());
      return;
    case Kind::string:
      if (value.is_markup())
        out += "Markup(" + repr_of_text(value.text()) + ")";
      else
        out += repr_of_text(value.text());
      return;
    case Kind::list:
      out += '[';
      append_items(out, value.items());
      out += ']';
      return;
    case Kind::tuple:
      out += '(';
      append_items(out, value.items());
      out += value.items().size() == 1 ? ",)" : ")";
      return;
    case Kind::dict: {
      out += '{';
      bool first = true;
      for (const auto& [key, item] : value.dict().entries) {
        if (!first) out += ", ";
        first = false;
        append_repr(out, key);
        out += ": ";
        append_repr(out, item);
      }
      out += '}';
      return;
    }
    case Kind::view: {
      out += type_name(value) + "([";
      for (std::size_t i = 0; i < value.view().of.dict().entries.size(); ++i) {
        if (i) out += ", ";
        append_repr(out, value.view().at(i));
      }
      out += "])";
      return;
    }
    case Kind::range: {
      const Range& range = value.range();
      out += fmt::format("range({}, {}", range.start, range.stop);
      out += range.step == 1 ? ")" : fmt::format(", {})", range.step);
      return;
    }
    case Kind::iterator:
      out += fmt::format("<{} object>", type_name(value));
      return;
    case Kind::name_space: {
      const NamespaceDepth guard;
      out += "<Namespace {";
      bool first = true;
      for (const auto& [name, item] : value.name_space().attributes) {
        if (!first) out += ", ";
        first = false;
        append_pair(out, name, item);
      }
      out += "}>";
      return;
    }
    case Kind::function:
      out += value.function().representation();
      return;
  }
}

}  // namespace

std::string str(const Value& value) {
  if (value.is(Kind::string)) return value.text();
  if (value.is_undefined() || value.is(Kind::missing)) return "";
  return repr(value);
}

std::string repr(const Value& value) {
  std::string out;
  append_repr(out, value);
  return out;
}

std::string repr_of_text(std::string_view text) {
  expect_size(text.size());
  const bool has_single = text.find('\'') != text.npos, has_double = text.find('"') != text.npos;
  const char quote = has_single && !has_double ? '"' : '\'';
  std::string out(1, quote);
  for (char32_t c : decode(text)) {
    if (c == static_cast<char32_t>(quote) || c == '\\') {
      out += '\\';
      out += static_cast<char>(c);
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\r') {
      out += "\\r";
    } else if (c == '\t') {
      out += "\\t";
    } else if (is_printable(c)) {
      append_utf8(out, c);
    } else if (c < 0x100) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned>(c));
    } else if (c < 0x10000) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += fmt::format("\\U{:08x}", static_cast<unsigned>(c));
    }
  }
  return out + quote;
}

std::string repr_of_real(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[64];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific).ptr;
  const std::string_view text(buffer, static_cast<std::size_t>(end - buffer));
  const std::size_t e = text.find('e');
  int exponent = 0;
  std::from_chars(text.data() + e + (text[e + 1] == '+' ? 2 : 1), text.data() + text.size(), exponent);
  std::string digits, sign;
  for (char c : text.substr(0, e))
    if (c == '-')
      sign = "-";
    else if (c != '.')
      digits += c;
  if (exponent < -4 || exponent >= 16) {
    std::string out = sign + digits.substr(0, 1);
    if (digits.size() > 1) out += "." + digits.substr(1);
    return out + fmt::format("e{}{:02}", exponent < 0 ? '-' : '+', std::abs(exponent));
  }
  if (exponent < 0) return sign + "0." + std::string(static_cast<std::size_t>(-exponent - 1), '0') + digits;
  const auto whole = static_cast<std::size_t>(exponent) + 1;
  if (digits.size() <= whole) return sign + digits + std::string(whole - digits.size(), '0') + ".0";
  return sign + digits.substr(0, whole) + "." + digits.substr(whole);
}

std::size_t string_length(const Value& string) { return code_points(string.text()); }

}  // namespace tilewright::hub::jinja
