// Filters on numbers.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "hub/chat/arguments.h"
#include "hub/chat/filters.h"
#include "hub/chat/operators.h"
#include "hub/chat/text.h"
#include "hub/chat/text_form.h"

namespace tilewright::hub::jinja {
namespace {

Value absolute(Interpreter&, Arguments& given) {
  const Bound bound("abs", given, {"/x"}, 1);
  const Value& value = bound[0];
  if (value.is(Kind::real)) return Value::real(std::fabs(value.as_real()));
  if (!value.is_whole())
    throw Fault{value.is_undefined() ? value.hint() : "bad operand type for abs(): '" + type_name(value) + "'"};
  return value.as_integer() < 0 ? negate(value) : Value::integer(value.as_integer());
}

// Digits with single underscores between them, white space around; nothing where Python raises ValueError.
std::optional<std::string> cleaned(const std::string& text) {
  const std::string trimmed = strip(text, Side::both);
  std::string out;
  for (std::size_t i = 0; i < trimmed.size(); ++i) {
    if (trimmed[i] != '_') {
      out += trimmed[i];
      continue;
    }
    const auto digit = [&](std::size_t k) {
      return k < trimmed.size() && std::isalnum(static_cast<unsigned char>(trimmed[k]));
    };
    if (i == 0 || !digit(i - 1) || !digit(i + 1)) return std::nullopt;
  }
  return out;
}

std::optional<Value> parse_integer(const std::string& text, std::int64_t base) {
  auto number = cleaned(text);
  if (!number || number->empty()) return std::nullopt;
  std::string_view rest = *number;
  const bool negative = rest[0] == '-';
  if (rest[0] == '-' || rest[0] == '+') rest.remove_prefix(1);
  const auto prefix = [&](char mark) { return rest.size() > 2 && rest[0] == '0' && (rest[1] | 0x20) == mark; };
  if ((base == 16 || base == 0) && prefix('x'))
    rest.remove_prefix(2), base = 16;
  else if ((base == 8 || base == 0) && prefix('o'))
    rest.remove_prefix(2), base = 8;
  else if ((base == 2 || base == 0) && prefix('b'))
    rest.remove_prefix(2), base = 2;
  else if (base == 0) {
    if (rest.size() > 1 && rest[0] == '0' && rest.find_first_not_of('0') != rest.npos) return std::nullopt;
    base = 10;
  }
  if (base < 2 || base > 36 || rest.empty() || rest[0] == '-' || rest[0] == '+') return std::nullopt;
  std::uint64_t magnitude = 0;
  const auto [end, code] = std::from_chars(rest.data(), rest.data() + rest.size(), magnitude, static_cast<int>(base));
  if (end != rest.data() + rest.size() || code == std::errc::invalid_argument) return std::nullopt;
  if (code == std::errc::result_out_of_range || magnitude > (std::uint64_t{1} << 63) - (negative ? 0 : 1))
    throw Fault{"integer does not fit 64 bits: " + text.substr(0, 40)};
  return Value::integer(negative ? static_cast<std::int64_t>(0 - magnitude) : static_cast<std::int64_t>(magnitude));
}

std::optional<double> parse_real(const std::string& text) {
  const auto number = cleaned(text);
  if (!number || number->empty()) return std::nullopt;
  std::string word = lower(*number);
  if (word[0] == '+' || word[0] == '-') word.erase(0, 1);
  const bool named = word == "inf" || word == "infinity" || word == "nan";
  if (!named && (word.empty() || word.find_first_not_of("0123456789.e+-") != word.npos)) return std::nullopt;
  char* end = nullptr;
  const double value = std::strtod(number->c_str(), &end);
  if (end != number->c_str() + number->size()) return std::nullopt;
  return value;
}

std::optional<double> to_real(const Value& value) {
  if (value.is_undefined()) throw Fault{value.hint()};
  if (value.is_number()) return value.as_real();
  if (value.is(Kind::string)) return parse_real(value.text());
  return std::nullopt;
}

Value to_integer(Interpreter&, Arguments& given) {
  const Bound bound("int", given, {"value", "default", "base"}, 1);
  const Value &value = bound[0], otherwise = bound.has(1) ? bound[1] : Value::integer(0);
  if (value.is_whole()) return Value::integer(value.as_integer());
  if (value.is(Kind::string)) {
    const std::int64_t base = bound.integer_or(2, 10);
    if (auto parsed = parse_integer(value.text(), base)) return *parsed;
  }
  const auto real = to_real(value);
  if (!real) return otherwise;
  if (!std::isfinite(*real)) {
    if (value.is(Kind::real) && std::isinf(*real)) throw Fault{"cannot convert float infinity to integer"};
    return otherwise;
  }
  return integer_from_real(*real);
}

Value to_float(Interpreter&, Arguments& given) {
  const Bound bound("float", given, {"value", "default"}, 1);
  const auto real = to_real(bound[0]);
  return real ? Value::real(*real) : bound.has(1) ? bound[1] : Value::real(0.0);
}

Value rounded(Interpreter&, Arguments& given) {
  const Bound bound("round", given, {"value", "precision", "method"}, 1);
  const std::string method = bound.has(2) ? str(bound[2]) : "common";
  if (method != "common" && method != "ceil" && method != "floor") throw Fault{"method must be common, ceil or floor"};
  if (method == "common") {
    if (bound.has(1) && bound[1].is(Kind::none)) {  // round(x, None) is round(x): an integer
      const Value whole = round_number(bound[0], 0);
      return whole.is(Kind::real) ? integer_from_real(std::nearbyint(whole.as_real())) : whole;
    }
    return round_number(bound[0], bound.integer_or(1, 0));
  }
  const Value unit = power(Value::integer(10), bound.has(1) ? bound[1] : Value::integer(0));
  const Value scaled = multiply(bound[0], unit);
  if (!scaled.is_number()) throw Fault{"must be real number, not " + type_name(scaled)};
  const Value whole = scaled.is_whole() ? scaled
                                        : integer_from_real(method == "ceil" ? std::ceil(scaled.as_real())
                                                                             : std::floor(scaled.as_real()));
  return divide(whole, unit);
}

Value file_size(Interpreter&, Arguments& given) {
  const Bound bound("filesizeformat", given, {"value", "binary"}, 1);
  const auto parsed = to_real(bound[0]);
  if (!parsed) throw Fault{"could not convert to float"};
  const bool binary = bound.truth_or(1, false);
  const double base = binary ? 1024 : 1000, bytes = *parsed;
  if (bytes == 1) return Value::string("1 Byte");
  if (bytes < base) return Value::string(std::to_string(integer_from_real(bytes).as_integer()) + " Bytes");
  static constexpr const char* decimal[] = {"kB", "MB", "GB", "TB", "PB", "EB", "ZB", "YB"};
  static constexpr const char* binary_names[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "ZiB", "YiB"};
  double unit = base;
  std::size_t i = 0;
  do {
    unit *= base;
    ++i;
  } while (i < 8 && bytes >= unit);
  return Value::string(percent_format(Value::string("%.1f "), Value::real(base * bytes / unit)) +
                       (binary ? binary_names : decimal)[i - 1]);
}

constexpr NamedFilter number_table[] = {
    {"abs", absolute}, {"int", to_integer}, {"float", to_float}, {"round", rounded}, {"filesizeformat", file_size},
};

}  // namespace

FilterTable number_filters() { return {std::begin(number_table), std::end(number_table)}; }

}  // namespace tilewright::hub::jinja
