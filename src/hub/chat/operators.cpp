#include "hub/chat/operators.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>

#include "hub/chat/text.h"
#include "hub/chat/text_form.h"

namespace tilewright::hub::jinja {
namespace {

constexpr const char* overflow = "integer result does not fit 64 bits";

[[noreturn]] void unsupported(const char* operation, const Value& a, const Value& b) {
  if (a.is_undefined()) throw Fault{a.hint()};
  if (b.is_undefined()) throw Fault{b.hint()};
  throw Fault{std::string("unsupported operand type(s) for ") + operation + ": '" + type_name(a) + "' and '" +
              type_name(b) + "'"};
}

bool reals(const Value& a, const Value& b) {
  return a.is_number() && b.is_number() && (a.is(Kind::real) || b.is(Kind::real));
}
bool wholes(const Value& a, const Value& b) { return a.is_whole() && b.is_whole(); }

Value repeat(const Value& value, std::int64_t times) {
  const auto n = static_cast<std::uint64_t>(std::max<std::int64_t>(times, 0));
  const std::uint64_t unit = value.is(Kind::string) ? value.text().size() : value.items().size() * sizeof(Value);
  if (unit && n > (std::uint64_t{1} << 40) / unit) throw Fault{"a value would be larger than 128 MiB"};
  expect_size(unit * n);
  if (value.is(Kind::string)) {
    std::string out;
    if (unit) {
      out.reserve(unit * n);
      for (std::uint64_t i = 0; i < n; ++i) out += value.text();
    }
    return Value::string(std::move(out), value.is_markup());
  }
  Values out;
  if (unit)
    for (std::uint64_t i = 0; i < n; ++i) out.insert(out.end(), value.items().begin(), value.items().end());
  return value.is(Kind::list) ? Value::list(std::move(out)) : Value::tuple(std::move(out));
}

bool repeatable(const Value& value) { return value.is(Kind::string) || value.is_sequence(); }

double float_floor_mod(double a, double b, double& quotient) {
  double rest = std::fmod(a, b);
  quotient = (a - rest) / b;
  if (rest != 0.0) {
    if ((b < 0) != (rest < 0)) {
      rest += b;
      quotient -= 1.0;
    }
  } else {
    rest = std::copysign(0.0, b);
  }
  if (quotient != 0.0) {
    const double whole = std::floor(quotient);
    quotient = quotient - whole > 0.5 ? whole + 1.0 : whole;
  } else {
    quotient = std::copysign(0.0, a / b);
  }
  return rest;
}

Value integer_power(std::int64_t base, std::int64_t exponent) {
  std::int64_t result = 1;
  while (exponent > 0) {
    if ((exponent & 1) && __builtin_mul_overflow(result, base, &result)) throw Fault{overflow};
    exponent >>= 1;
    if (exponent && __builtin_mul_overflow(base, base, &base)) throw Fault{overflow};
  }
  return Value::integer(result);
}

// Start, step and count of the positions that a slice takes from n items, by the rules of Python's slice.indices().
struct Cut {
  std::int64_t start, stop, step, count;
};

Cut cut(std::int64_t n, const Value& start_value, const Value& stop_value, const Value& step_value) {
  const auto bound = [](const Value& v) {
    if (v.is_undefined()) throw Fault{v.hint()};
    if (!v.is_whole()) throw Fault{"slice indices must be integers or None or have an __index__ method"};
    return v.as_integer();
  };
  std::int64_t step = step_value.is(Kind::none) ? 1 : bound(step_value);
  if (step == 0) throw Fault{"slice step cannot be zero"};
  step = std::max(step, -std::numeric_limits<std::int64_t>::max());
  const std::int64_t lowest = step < 0 ? -1 : 0, highest = step < 0 ? n - 1 : n;
  const auto clamp = [&](const Value& v, std::int64_t otherwise) {
    if (v.is(Kind::none)) return otherwise;
    std::int64_t at = bound(v);
    if (at < 0) {
      at += n;
      return std::max(at, lowest);
    }
    return std::min(at, highest);
  };
  const std::int64_t start = clamp(start_value, step < 0 ? highest : lowest),
                     stop = clamp(stop_value, step < 0 ? lowest : highest);
  std::int64_t count = 0;
  if (step > 0 && start < stop) count = (stop - start - 1) / step + 1;
  if (step < 0 && stop < start) count = (start - stop - 1) / -step + 1;
  return {start, stop, step, count};
}

}  // namespace

std::int64_t as_index(const Value& value) {
  if (value.is_undefined()) throw Fault{value.hint()};
  if (!value.is_whole()) throw Fault{"'" + type_name(value) + "' object cannot be interpreted as an integer"};
  return value.as_integer();
}

Value integer_from_real(double value) {
  if (std::isnan(value)) throw Fault{"cannot convert float NaN to integer"};
  if (std::isinf(value)) throw Fault{"cannot convert float infinity to integer"};
  const double whole = std::trunc(value);
  if (whole < -9223372036854775808.0 || whole >= 9223372036854775808.0) throw Fault{overflow};
  return Value::integer(static_cast<std::int64_t>(whole));
}

Value escape(const Value& value) {
  if (value.is_markup()) return value;
  const std::string text = str(value);
  std::string out;
  for (char c : text) switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '\'':
        out += "&#39;";
        break;
      case '"':
        out += "&#34;";
        break;
      default:
        out += c;
    }
  return Value::string(std::move(out), true);
}

Value add(const Value& a, const Value& b) {
  if (wholes(a, b)) {
    std::int64_t out;
    if (__builtin_add_overflow(a.as_integer(), b.as_integer(), &out)) throw Fault{overflow};
    return Value::integer(out);
  }
  if (reals(a, b)) return Value::real(a.as_real() + b.as_real());
  if (a.is(Kind::string) && b.is(Kind::string)) {
    expect_size(a.text().size() + b.text().size());
    if (a.is_markup() || b.is_markup()) return Value::string(escape(a).text() + escape(b).text(), true);
    return Value::string(a.text() + b.text());
  }
  if (a.kind() == b.kind() && a.is_sequence()) {
    expect_size((a.items().size() + b.items().size()) * sizeof(Value));
    Values out = a.items();
    out.insert(out.end(), b.items().begin(), b.items().end());
    return a.is(Kind::list) ? Value::list(std::move(out)) : Value::tuple(std::move(out));
  }
  unsupported("+", a, b);
}

Value subtract(const Value& a, const Value& b) {
  if (wholes(a, b)) {
    std::int64_t out;
    if (__builtin_sub_overflow(a.as_integer(), b.as_integer(), &out)) throw Fault{overflow};
    return Value::integer(out);
  }
  if (reals(a, b)) return Value::real(a.as_real() - b.as_real());
  unsupported("-", a, b);
}

Value multiply(const Value& a, const Value& b) {
  if (wholes(a, b)) {
    std::int64_t out;
    if (__builtin_mul_overflow(a.as_integer(), b.as_integer(), &out)) throw Fault{overflow};
    return Value::integer(out);
  }
  if (reals(a, b)) return Value::real(a.as_real() * b.as_real());
  if (repeatable(a) && b.is_whole()) return repeat(a, b.as_integer());
  if (repeatable(b) && a.is_whole()) return repeat(b, a.as_integer());
  unsupported("*", a, b);
}

Value divide(const Value& a, const Value& b) {
  if (!a.is_number() || !b.is_number()) unsupported("/", a, b);
  if (b.as_real() == 0.0)
    throw Fault{a.is(Kind::real) || b.is(Kind::real) ? "float division by zero" : "division by zero"};
  if (wholes(a, b))
    return Value::real(
        static_cast<double>(static_cast<long double>(a.as_integer()) / static_cast<long double>(b.as_integer())));
  return Value::real(a.as_real() / b.as_real());
}

Value floor_divide(const Value& a, const Value& b) {
  if (!a.is_number() || !b.is_number()) unsupported("//", a, b);
  if (b.as_real() == 0.0)
    throw Fault{wholes(a, b) ? "integer division or modulo by zero" : "float floor division by zero"};
  if (wholes(a, b)) {
    const std::int64_t x = a.as_integer(), y = b.as_integer();
    if (y == -1) return negate(a);
    const std::int64_t q = x / y;
    return Value::integer(x % y != 0 && (x % y < 0) != (y < 0) ? q - 1 : q);
  }
  double quotient;
  float_floor_mod(a.as_real(), b.as_real(), quotient);
  return Value::real(quotient);
}

Value modulo(const Value& a, const Value& b) {
  if (a.is(Kind::string)) return Value::string(percent_format(a, b), a.is_markup());
  if (!a.is_number() || !b.is_number()) unsupported("%", a, b);
  if (b.as_real() == 0.0) throw Fault{wholes(a, b) ? "integer division or modulo by zero" : "float modulo"};
  if (wholes(a, b)) {
    const std::int64_t x = a.as_integer(), y = b.as_integer();
    if (y == -1) return Value::integer(0);
    const std::int64_t rest = x % y;
    return Value::integer(rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest);
  }
  double quotient;
  return Value::real(float_floor_mod(a.as_real(), b.as_real(), quotient));
}

Value power(const Value& a, const Value& b) {
  if (!a.is_number() || !b.is_number()) unsupported("** or pow()", a, b);
  if (wholes(a, b) && b.as_integer() >= 0) return integer_power(a.as_integer(), b.as_integer());
  const double x = a.as_real(), y = b.as_real();
  if (x == 0.0 && y < 0.0) throw Fault{"0.0 cannot be raised to a negative power"};
  if (x < 0.0 && std::isfinite(x) && std::isfinite(y) && std::floor(y) != y)
    throw Fault{"complex numbers are not supported"};
  const double out = std::pow(x, y);
  if (std::isinf(out) && std::isfinite(x) && std::isfinite(y)) throw Fault{"Numerical result out of range"};
  return Value::real(out);
}

Value negate(const Value& a) {
  if (a.is(Kind::real)) return Value::real(-a.as_real());
  if (a.is_whole()) return subtract(Value::integer(0), a);
  if (a.is_undefined()) throw Fault{a.hint()};
  throw Fault{"bad operand type for unary -: '" + type_name(a) + "'"};
}

Value plus(const Value& a) {
  if (a.is(Kind::real)) return a;
  if (a.is_whole()) return Value::integer(a.as_integer());
  if (a.is_undefined()) throw Fault{a.hint()};
  throw Fault{"bad operand type for unary +: '" + type_name(a) + "'"};
}

bool contains(const Value& container, const Value& item) {
  switch (container.kind()) {
    case Kind::string:
      if (!item.is(Kind::string)) throw Fault{"'in <string>' requires string as left operand, not " + type_name(item)};
      spend(1 + container.text().size() / 64);
      return container.text().find(item.text()) != std::string::npos;
    case Kind::dict:
      return container.dict().find(item) != nullptr;
    case Kind::range: {
      const Range& range = container.range();
      if (!item.is_number()) return false;
      for (std::int64_t i = 0; i < range.length; ++i)
        if (equal(Value::integer(range.start + i * range.step), item)) return true;
      return false;
    }
    case Kind::view:
      if (container.view().part == View::Part::keys) return container.view().of.dict().find(item) != nullptr;
      [[fallthrough]];
    default: {
      auto it = iterate(container);
      if (!it) throw Fault{"argument of type '" + type_name(container) + "' is not iterable"};
      for (Value candidate; it->next(candidate);)
        if (same_object(candidate, item) || equal(candidate, item)) return true;
      return false;
    }
  }
}

Value slice(const Value& value, const Value& start, const Value& stop, const Value& step) {
  if (value.is_undefined()) throw Fault{value.hint()};
  if (value.is(Kind::dict)) throw Fault{"unhashable type: 'slice'"};
  if (!value.is(Kind::string) && !value.is_sequence() && !value.is(Kind::range))
    throw Fault{"'" + type_name(value) + "' object is not subscriptable"};
  const auto n = static_cast<std::int64_t>(*length(value));
  const Cut part = cut(n, start, stop, step);
  if (value.is(Kind::range)) {
    const Range& range = value.range();
    const std::int64_t by =
        range.step * std::clamp<std::int64_t>(part.step, -1'000'000, 1'000'000);  // beyond any length
    return Value::of(Kind::range, std::make_shared<Range>(range.start + range.step * part.start,
                                                          range.start + range.step * part.stop, by));
  }
  if (value.is(Kind::string)) {
    expect_size(value.text().size());
    if (part.step == 1 && is_ascii(value.text()))
      return Value::string(value.text().substr(static_cast<std::size_t>(part.count ? part.start : 0),
                                               static_cast<std::size_t>(part.count)),
                           value.is_markup());
    const std::u32string points = decode(value.text());
    std::string out;
    for (std::int64_t i = 0; i < part.count; ++i)
      append_utf8(out, points[static_cast<std::size_t>(part.start + i * part.step)]);
    return Value::string(std::move(out), value.is_markup());
  }
  Values out;
  expect_size(static_cast<std::uint64_t>(part.count) * sizeof(Value));
  for (std::int64_t i = 0; i < part.count; ++i)
    out.push_back(value.items()[static_cast<std::size_t>(part.start + i * part.step)]);
  return value.is(Kind::list) ? Value::list(std::move(out)) : Value::tuple(std::move(out));
}

Value subscript(const Value& value, const Value& index) {
  if (value.is(Kind::dict)) {
    if (index.is(Kind::list) || index.is(Kind::dict)) return Value::missing();
    const Value* found = value.dict().find(index);
    return found ? *found : Value::missing();
  }
  if (value.is_undefined()) throw Fault{value.hint()};
  if (!value.is(Kind::string) && !value.is_sequence() && !value.is(Kind::range)) return Value::missing();
  if (!index.is_whole()) return Value::missing();
  const auto n = static_cast<std::int64_t>(*length(value));
  std::int64_t at = index.as_integer();
  if (at < 0) at += n;
#ifndef TILEWRIGHT_PLANTED_FAULT  // fuzz/chat_template.cmake shows that the fuzz target notices when this check is gone
  if (at < 0 || at >= n) return Value::missing();
#endif
  if (value.is(Kind::range)) return Value::integer(value.range().start + at * value.range().step);
  if (value.is(Kind::string)) {
    spend(1 + value.text().size() / 64);
    std::size_t byte = 0;
    const std::string& text = value.text();
    const auto step = [&] {
      ++byte;
      while (byte < text.size() && (static_cast<unsigned char>(text[byte]) & 0xC0) == 0x80) ++byte;
    };
    for (std::int64_t i = 0; i < at; ++i) step();
    const std::size_t begin = byte;
    step();
    return Value::string(text.substr(begin, byte - begin), value.is_markup());
  }
  return value.items()[static_cast<std::size_t>(at)];
}

Value round_number(const Value& value, std::int64_t digits) {
  if (value.is_undefined()) throw Fault{value.hint()};
  if (!value.is_number()) throw Fault{"type " + type_name(value) + " doesn't define __round__ method"};
  if (value.is_whole()) {
    if (digits >= 0) return Value::integer(value.as_integer());
    if (digits < -18) return Value::integer(0);
    std::int64_t unit = 1;
    for (std::int64_t i = 0; i < -digits; ++i) unit *= 10;
    const Value rest_value = modulo(value, Value::integer(unit));
    const std::int64_t rest = rest_value.as_integer(), half = unit / 2;
    const Value below = subtract(value, rest_value);
    const bool odd = ((below.as_integer() / unit) & 1) != 0;
    return rest > half || (rest == half && odd) ? add(below, Value::integer(unit)) : below;
  }
  const double x = value.as_real();
  if (!std::isfinite(x) || digits > 323) return value;
  if (digits < -308) return Value::real(std::copysign(0.0, x));
  if (digits < 0) {
    const double unit = std::pow(10.0, static_cast<double>(-digits));
    return Value::real(std::nearbyint(x / unit) * unit);
  }
  // Correctly rounded through the exact decimal expansion, which printf has.
  char buffer[800];
  std::snprintf(buffer, sizeof buffer, "%.*f", static_cast<int>(digits), x);
  return Value::real(std::strtod(buffer, nullptr));
}

}  // namespace tilewright::hub::jinja
