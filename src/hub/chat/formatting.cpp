// printf-style and brace-style formatting of strings, as Python's % operator and str.format do it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "hub/chat/attributes.h"
#include "hub/chat/operators.h"
#include "hub/chat/text.h"
#include "hub/chat/text_form.h"

namespace tilewright::hub::jinja {
namespace {

constexpr int widest = 100000;
constexpr int most_digits = 400;

struct Style {
  char32_t fill = ' ';
  char align = '\0';  // < > = ^
  char sign = '-';
  bool alternate = false;
  int width = 0;
  char grouping = '\0';
  int precision = -1;
  char type = '\0';
};

std::string printed(double value, char type, int precision, bool alternate) {
  char buffer[1024];
  const char spec[] = {
      '%', alternate ? '#' : '.', alternate ? '.' : '*', alternate ? '*' : type, alternate ? type : '\0', '\0'};
  const int n = std::snprintf(buffer, sizeof buffer, spec, std::min(precision, most_digits), value);
  return std::string(buffer, static_cast<std::size_t>(std::clamp(n, 0, static_cast<int>(sizeof buffer) - 1)));
}

// |value| in a float type, without sign.
std::string float_digits(double value, char type, int precision, bool alternate) {
  if (!std::isfinite(value)) {
    const std::string word = std::isnan(value) ? "nan" : "inf";
    return type == 'F' || type == 'E' || type == 'G' ? upper(word) : word;
  }
  return printed(std::fabs(value), type == 'F' ? 'f' : type, precision < 0 ? 6 : precision, alternate);
}

std::string integer_digits(std::int64_t value, char type) {
  const auto magnitude = value < 0 ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
  switch (type) {
    case 'x':
      return fmt::format("{:x}", magnitude);
    case 'X':
      return fmt::format("{:X}", magnitude);
    case 'o':
      return fmt::format("{:o}", magnitude);
    case 'b':
      return fmt::format("{:b}", magnitude);
    default:
      return fmt::format("{}", magnitude);
  }
}

std::string base_prefix(char type) {
  return type == 'x' ? "0x" : type == 'X' ? "0X" : type == 'o' ? "0o" : type == 'b' ? "0b" : "";
}

std::string grouped(const std::string& number, char separator, std::size_t every) {
  const std::size_t whole =
      number.find_first_not_of("0123456789abcdefABCDEF") == number.npos ? number.size() : number.find_first_of(".e%");
  const std::size_t end = whole == number.npos ? number.size() : whole;
  std::string out;
  for (std::size_t i = 0; i < end; ++i) {
    if (i && (end - i) % every == 0) out += separator;
    out += number[i];
  }
  return out + number.substr(end);
}

// prefix (sign, base) and digits, padded to the width.
std::string laid_out(const std::string& prefix, std::string digits, const Style& style, char otherwise) {
  const char align = style.align ? style.align : otherwise;
  const auto length = static_cast<int>(code_points(prefix) + code_points(digits));
  if (style.width > widest) throw Fault{"a field width beyond 100000 is unsupported"};
  std::string fill;
  const int pad = std::max(style.width - length, 0);
  const auto filled = [&](int n) {
    std::string out;
    for (int i = 0; i < n; ++i) append_utf8(out, style.fill);
    return out;
  };
  if (align == '=') return prefix + filled(pad) + digits;
  const int left = align == '>' ? pad : align == '^' ? pad / 2 : 0;
  return filled(left) + prefix + digits + filled(pad - left);
}

std::string sign_of(bool negative, char style) { return negative ? "-" : style == '+' ? "+" : style == ' ' ? " " : ""; }

int digits_at(const std::u32string& spec, std::size_t& at) {
  int value = 0;
  while (at < spec.size() && spec[at] >= '0' && spec[at] <= '9') {
    value = value * 10 + static_cast<int>(spec[at++] - '0');
    if (value > 10 * widest) throw Fault{"a number in a format is too large"};
  }
  return value;
}

Style parse_style(const std::string& text) {
  Style style;
  const std::u32string spec = decode(text);
  std::size_t at = 0;
  const auto is_align = [](char32_t c) { return c == '<' || c == '>' || c == '=' || c == '^'; };
  if (spec.size() > 1 && is_align(spec[1])) {
    style.fill = spec[0];
    style.align = static_cast<char>(spec[1]);
    at = 2;
  } else if (!spec.empty() && is_align(spec[0])) {
    style.align = static_cast<char>(spec[0]);
    at = 1;
  }
  if (at < spec.size() && (spec[at] == '+' || spec[at] == '-' || spec[at] == ' '))
    style.sign = static_cast<char>(spec[at++]);
  if (at < spec.size() && spec[at] == '#') style.alternate = true, ++at;
  if (at < spec.size() && spec[at] == '0' && !style.align) style.fill = '0', style.align = '=', ++at;
  style.width = digits_at(spec, at);
  if (at < spec.size() && (spec[at] == ',' || spec[at] == '_')) style.grouping = static_cast<char>(spec[at++]);
  if (at < spec.size() && spec[at] == '.') {
    if (++at == spec.size() || spec[at] < '0' || spec[at] > '9') throw Fault{"Format specifier missing precision"};
    style.precision = digits_at(spec, at);
  }
  if (at + 1 < spec.size() || (at < spec.size() && spec[at] > 0x7F)) throw Fault{"Invalid format specifier"};
  if (at < spec.size()) style.type = static_cast<char>(spec[at]);
  return style;
}

std::string format_real(double value, Style style) {
  const bool negative = std::signbit(value) && !std::isnan(value);
  std::string digits;
  const char type = style.type;
  if (type == '\0' && style.precision < 0) {
    digits = repr_of_real(std::fabs(value));
  } else if (type == '\0') {
    digits = std::isfinite(value) ? printed(std::fabs(value), 'g', std::max(style.precision, 1), style.alternate)
                                  : float_digits(value, 'g', 0, false);
    if (std::isfinite(value) && digits.find_first_of(".e") == digits.npos) digits += ".0";
  } else if (type == '%') {
    digits = float_digits(value * 100, 'f', style.precision, style.alternate) + "%";
  } else if (std::string_view("eEfFgGn").find(type) != std::string_view::npos) {
    digits = float_digits(value, type == 'n' ? 'g' : type, style.precision, style.alternate);
  } else {
    throw Fault{std::string("Unknown format code '") + type + "' for object of type 'float'"};
  }
  if (style.grouping) digits = grouped(digits, style.grouping, 3);
  return laid_out(sign_of(negative, style.sign), digits, style, '>');
}

std::string format_integer(std::int64_t value, const Style& style) {
  if (style.type && std::string_view("eEfFgG%").find(style.type) != std::string_view::npos)
    return format_real(static_cast<double>(value), style);
  if (style.precision >= 0) throw Fault{"Precision not allowed in integer format specifier"};
  if (style.type == 'c') {
    if (value < 0 || value > 0x10FFFF || (value >= 0xD800 && value < 0xE000))
      throw Fault{"%c arg not in range(0x110000)"};
    return laid_out("", encode(std::u32string(1, static_cast<char32_t>(value))), style, '<');
  }
  if (style.type && std::string_view("bdnoxX").find(style.type) == std::string_view::npos)
    throw Fault{std::string("Unknown format code '") + style.type + "' for object of type 'int'"};
  std::string digits = integer_digits(value, style.type);
  if (style.grouping)
    digits = grouped(digits, style.grouping, style.type && style.type != 'd' && style.type != 'n' ? 4 : 3);
  return laid_out(sign_of(value < 0, style.sign) + (style.alternate ? base_prefix(style.type) : ""), digits, style,
                  '>');
}

std::string format_text(const std::string& text, const Style& style) {
  if (style.type && style.type != 's')
    throw Fault{std::string("Unknown format code '") + style.type + "' for object of type 'str'"};
  if (style.align == '=' && style.fill != '0') throw Fault{"'=' alignment not allowed in string format specifier"};
  std::string shown = text;
  if (style.precision >= 0) shown = encode(decode(text).substr(0, static_cast<std::size_t>(style.precision)));
  Style copy = style;
  if (copy.align == '=') copy.align = '<';
  return laid_out("", shown, copy, '<');
}

// The parts of "{field.name[0]!r:spec}".
class FieldFormatter {
 public:
  explicit FieldFormatter(Arguments& given) : arguments_(given) {}

  std::string run(std::string_view format, int depth) {
    if (depth > 1) throw Fault{"Max string recursion exceeded"};
    std::string out;
    for (std::size_t i = 0; i < format.size(); ++i) {
      const char c = format[i];
      if (c != '{' && c != '}') {
        out += c;
      } else if (i + 1 < format.size() && format[i + 1] == c) {
        out += c;
        ++i;
      } else if (c == '}') {
        throw Fault{"Single '}' encountered in format string"};
      } else {
        std::size_t end = i + 1;
        for (int open = 1; end < format.size(); ++end) {
          if (format[end] == '{') ++open;
          if (format[end] == '}' && --open == 0) break;
        }
        if (end == format.size())
          throw Fault{i + 1 == format.size() ? "Single '{' encountered in format string"
                                             : "expected '}' before end of string"};
        out += field(format.substr(i + 1, end - i - 1), depth);
        i = end;
      }
      if (out.size() > (1u << 16)) expect_size(out.size());
    }
    return out;
  }

 private:
  std::string field(std::string_view text, int depth) {
    std::size_t name_end = 0;
    for (bool bracket = false; name_end < text.size(); ++name_end) {
      if (text[name_end] == '[') bracket = true;
      if (text[name_end] == ']') bracket = false;
      if (!bracket && (text[name_end] == ':' || text[name_end] == '!')) break;
    }
    Value value = lookup(text.substr(0, name_end));
    std::string_view rest = text.substr(name_end);
    char conversion = '\0';
    if (rest.starts_with('!')) {
      if (rest.size() < 2 || (rest.size() > 2 && rest[2] != ':'))
        throw Fault{"expected ':' after conversion specifier"};
      conversion = rest[1];
      rest.remove_prefix(2);
    }
    if (conversion == 'r' || conversion == 'a')
      value = Value::string(repr(value));
    else if (conversion == 's')
      value = Value::string(str(value));
    else if (conversion)
      throw Fault{std::string("Unknown conversion specifier ") + conversion};
    return format_value(value, rest.starts_with(':') ? run(rest.substr(1), depth + 1) : "");
  }

  Value lookup(std::string_view name) {
    const std::size_t first = name.find_first_of(".[");
    const std::string head(name.substr(0, first));
    const bool number = std::all_of(head.begin(), head.end(), [](char c) { return c >= '0' && c <= '9'; });
    Value value = Value::missing();
    if (number) {
      if (head.size() > 6) throw Fault{"Too many decimal digits in format string"};
      if (head.empty() ? manual_ : automatic_ > 0)
        throw Fault{"cannot switch between automatic and manual field numbering"};
      if (!head.empty()) manual_ = true;
      const std::size_t at = head.empty() ? automatic_++ : std::stoul(head);
      if (at >= arguments_.positional.size())
        throw Fault{"Replacement index " + std::to_string(at) + " out of range for positional args tuple"};
      value = arguments_.positional[at];
    } else {
      for (const auto& [key, item] : arguments_.named)
        if (key == head) value = item;
      if (value.is(Kind::missing)) throw Fault{repr_of_text(head)};
    }
    std::string_view rest = first == name.npos ? "" : name.substr(first);
    while (!rest.empty()) {
      const bool attribute = rest[0] == '.';
      const std::size_t end = attribute ? std::min(rest.find_first_of(".[", 1), rest.size()) : rest.find(']');
      if (!attribute && rest[0] != '[') throw Fault{"Only '.' or '[' may follow ']' in format field specifier"};
      if (end == rest.npos) throw Fault{"Missing ']' in format string"};
      const std::string key(rest.substr(1, end - 1));
      if (key.empty()) throw Fault{"Empty attribute in format string"};
      const bool digits =
          key.size() < 7 && std::all_of(key.begin(), key.end(), [](char c) { return c >= '0' && c <= '9'; });
      value = attribute ? get_attribute(value, key)
                        : get_item(value, digits ? Value::integer(std::stol(key)) : Value::string(key));
      rest.remove_prefix(attribute ? end : end + 1);
    }
    return value;
  }

  Arguments& arguments_;
  std::size_t automatic_ = 0;
  bool manual_ = false;
};

class PercentFormatter {
 public:
  PercentFormatter(const Value& format, const Value& arguments)
      : text_(format.text()), markup_(format.is_markup()), arguments_(arguments) {
    mapping_ =
        !arguments.is(Kind::tuple) && !arguments.is(Kind::string) &&
        (arguments.is(Kind::dict) || arguments.is(Kind::list) || arguments.is(Kind::range) || arguments.is_undefined());
  }

  std::string run() {
    std::string out;
    for (at_ = 0; at_ < text_.size(); ++at_) {
      if (text_[at_] != '%')
        out += text_[at_];
      else
        out += directive();
      if (out.size() > (1u << 16)) expect_size(out.size() / 64);
    }
    const std::size_t given = arguments_.is(Kind::tuple) ? arguments_.items().size() : 1;
    if (taken_ < given && !mapping_) throw Fault{"not all arguments converted during string formatting"};
    return out;
  }

 private:
  char next() {
    if (++at_ >= text_.size()) throw Fault{"incomplete format"};
    return text_[at_];
  }

  Value take() {
    const bool tuple = arguments_.is(Kind::tuple);
    if (taken_ >= (tuple ? arguments_.items().size() : 1)) throw Fault{"not enough arguments for format string"};
    ++taken_;
    return tuple ? arguments_.items()[taken_ - 1] : arguments_;
  }

  int number(char& c) {
    if (c == '*') {
      const Value value = take();
      if (!value.is_whole()) throw Fault{"* wants int"};
      if (std::abs(static_cast<double>(value.as_integer())) > widest)
        throw Fault{"a field width beyond 100000 is unsupported"};
      c = next();
      return static_cast<int>(value.as_integer());
    }
    int value = 0;
    while (c >= '0' && c <= '9') {
      value = value * 10 + (c - '0');
      if (value > widest) throw Fault{"a field width beyond 100000 is unsupported"};
      c = next();
    }
    return value;
  }

  std::string directive() {
    char c = next();
    Value value = Value::missing();
    if (c == '(') {
      const std::size_t begin = at_ + 1;
      for (int open = 1; open > 0;) {
        c = next();
        open += c == '(' ? 1 : c == ')' ? -1 : 0;
      }
      if (!mapping_) throw Fault{"format requires a mapping"};
      const std::string key = text_.substr(begin, at_ - begin);
      if (arguments_.is_undefined()) throw Fault{arguments_.hint()};
      value = subscript(arguments_, Value::string(key));
      if (value.is(Kind::missing)) throw Fault{repr_of_text(key)};
      taken_ = 1;
      c = next();
    }
    Style style;
    bool left = false, zero = false;
    for (;; c = next()) {
      if (c == '-')
        left = true;
      else if (c == '0')
        zero = true;
      else if (c == '#')
        style.alternate = true;
      else if (c == '+')
        style.sign = '+';
      else if (c == ' ')
        style.sign = style.sign == '+' ? '+' : ' ';
      else
        break;
    }
    style.width = number(c);
    if (style.width < 0) style.width = -style.width, left = true;
    if (c == '.') {
      c = next();
      style.precision = std::max(number(c), 0);
    }
    while (c == 'h' || c == 'l' || c == 'L') c = next();
    if (c == '%') return "%";
    if (value.is(Kind::missing)) value = take();
    style.align = left ? '<' : '>';
    return converted(value, c, style, zero && !left);
  }

  std::string converted(const Value& value, char type, Style style, bool zero) {
    if (type == 's' || type == 'r' || type == 'a') {
      std::string text = type == 's' ? str(value) : repr(value);
      if (markup_) text = escape(type == 's' ? value : Value::string(text)).text();
      if (style.precision >= 0) text = encode(decode(text).substr(0, static_cast<std::size_t>(style.precision)));
      return laid_out("", text, style, '>');
    }
    if (type == 'c') {
      if (value.is(Kind::string)) {
        if (code_points(value.text()) != 1) throw Fault{"%c requires int or char"};
        return laid_out("", value.text(), style, '>');
      }
      Style plain = style;
      plain.type = 'c';
      plain.precision = -1;
      return format_integer(as_index(value), plain);
    }
    if (value.is_undefined()) throw Fault{value.hint()};
    if (zero) style.fill = '0', style.align = '=';
    if (std::string_view("eEfFgG").find(type) != std::string_view::npos) {
      if (!value.is_number()) throw Fault{"must be real number, not " + type_name(value)};
      const double x = value.as_real();
      return laid_out(sign_of(std::signbit(x) && !std::isnan(x), style.sign),
                      float_digits(x, type, style.precision, style.alternate), style, '>');
    }
    if (std::string_view("diuoxX").find(type) == std::string_view::npos)
      throw Fault{std::string("unsupported format character '") + type + "'"};
    if (!value.is_number() || (value.is(Kind::real) && std::string_view("oxX").find(type) != std::string_view::npos))
      throw Fault{std::string("%") + type + " format: a real number is required, not " + type_name(value)};
    const std::int64_t n = value.is(Kind::real) ? integer_from_real(value.as_real()).as_integer() : value.as_integer();
    std::string digits = integer_digits(n, type);
    if (static_cast<int>(digits.size()) < style.precision) {
      if (style.precision > widest) throw Fault{"a precision beyond 100000 is unsupported"};
      digits.insert(0, static_cast<std::size_t>(style.precision) - digits.size(), '0');
    }
    return laid_out(sign_of(n < 0, style.sign) + (style.alternate ? base_prefix(type) : ""), digits, style, '>');
  }

  const std::string& text_;
  bool markup_;
  const Value& arguments_;
  bool mapping_;
  std::size_t at_ = 0, taken_ = 0;
};

}  // namespace

std::string percent_format(const Value& format, const Value& arguments) {
  return PercentFormatter(format, arguments).run();
}

std::string format_fields(const Value& format, Arguments& arguments) {
  return FieldFormatter(arguments).run(format.text(), 0);
}

std::string format_value(const Value& value, const std::string& spec) {
  if (spec.empty()) return str(value);
  if (value.is_undefined()) throw Fault{"unsupported format string passed to Undefined.__format__"};
  const Style style = parse_style(spec);
  switch (value.kind()) {
    case Kind::string:
      return format_text(value.text(), style);
    case Kind::boolean:
    case Kind::integer:
      return format_integer(value.as_integer(), style);
    case Kind::real:
      return format_real(value.as_real(), style);
    default:
      throw Fault{"unsupported format string passed to " + type_name(value) + ".__format__"};
  }
}

}  // namespace tilewright::hub::jinja
