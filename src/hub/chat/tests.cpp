// jinja2's tests: what may follow `is`.
#include <unordered_map>

#include "hub/chat/arguments.h"
#include "hub/chat/filters.h"
#include "hub/chat/operators.h"
#include "hub/chat/text.h"
#include "hub/chat/text_form.h"

namespace tilewright::hub::jinja {
namespace {

template <bool (*check)(const Value&)>
bool unary(Interpreter&, Arguments& given) {
  const Bound bound("test", given, {"value"}, 1);
  return check(bound[0]);
}

template <bool (*check)(const Value&, const Value&)>
bool binary(Interpreter&, Arguments& given) {
  const Bound bound("test", given, {"/a", "/b"}, 2);
  return check(bound[0], bound[1]);
}

bool defined(const Value& v) { return !v.is_undefined(); }
bool undefined(const Value& v) { return v.is_undefined(); }
bool none(const Value& v) { return v.is(Kind::none); }
bool boolean(const Value& v) { return v.is(Kind::boolean); }
bool is_true(const Value& v) { return v.is(Kind::boolean) && v.as_boolean(); }
bool is_false(const Value& v) { return v.is(Kind::boolean) && !v.as_boolean(); }
bool integer(const Value& v) { return v.is(Kind::integer); }
bool real(const Value& v) { return v.is(Kind::real); }
bool number(const Value& v) { return v.is_number(); }
bool string(const Value& v) { return v.is(Kind::string); }
bool mapping(const Value& v) { return v.is(Kind::dict); }
bool iterable(const Value& v) { return iterate(v) != nullptr; }
bool callable(const Value& v) { return v.is(Kind::function) || v.is_undefined(); }
bool sequence(const Value& v) {
  return v.is(Kind::string) || v.is_sequence() || v.is(Kind::dict) || v.is(Kind::range) || v.is_undefined();
}
bool lower_case(const Value& v) { return is_cased_all(str(v), true); }
bool upper_case(const Value& v) { return is_cased_all(str(v), false); }
bool escaped(const Value& v) { return v.is_markup(); }
bool odd(const Value& v) { return equal(modulo(v, Value::integer(2)), Value::integer(1)); }
bool even(const Value& v) { return equal(modulo(v, Value::integer(2)), Value::integer(0)); }
// Python looks the value up in a dict, so that an unhashable one is an error.
bool known_filter(const Value& v) { return hash(v), v.is(Kind::string) && is_filter(v.text()); }
bool known_test(const Value& v) { return hash(v), v.is(Kind::string) && is_test(v.text()); }

bool divisible(const Value& a, const Value& b) { return equal(modulo(a, b), Value::integer(0)); }
bool same(const Value& a, const Value& b) { return same_object(a, b); }
bool is_in(const Value& a, const Value& b) { return contains(b, a); }
bool eq(const Value& a, const Value& b) { return equal(a, b); }
bool ne(const Value& a, const Value& b) { return !equal(a, b); }
bool lt(const Value& a, const Value& b) { return less(a, b); }
bool gt(const Value& a, const Value& b) { return less(b, a, ">"); }
bool le(const Value& a, const Value& b) { return at_most(a, b); }
bool ge(const Value& a, const Value& b) { return at_most(b, a, ">="); }

}  // namespace

Test find_test(std::string_view name) {
  static const std::unordered_map<std::string_view, Test> table = {
      {"defined", unary<defined>},
      {"undefined", unary<undefined>},
      {"none", unary<none>},
      {"boolean", unary<boolean>},
      {"true", unary<is_true>},
      {"false", unary<is_false>},
      {"integer", unary<integer>},
      {"float", unary<real>},
      {"number", unary<number>},
      {"string", unary<string>},
      {"mapping", unary<mapping>},
      {"iterable", unary<iterable>},
      {"callable", unary<callable>},
      {"sequence", unary<sequence>},
      {"lower", unary<lower_case>},
      {"upper", unary<upper_case>},
      {"escaped", unary<escaped>},
      {"odd", unary<odd>},
      {"even", unary<even>},
      {"filter", unary<known_filter>},
      {"test", unary<known_test>},
      {"divisibleby", binary<divisible>},
      {"sameas", binary<same>},
      {"in", binary<is_in>},
      {"==", binary<eq>},
      {"eq", binary<eq>},
      {"equalto", binary<eq>},
      {"!=", binary<ne>},
      {"ne", binary<ne>},
      {"<", binary<lt>},
      {"lt", binary<lt>},
      {"lessthan", binary<lt>},
      {">", binary<gt>},
      {"gt", binary<gt>},
      {"greaterthan", binary<gt>},
      {"<=", binary<le>},
      {"le", binary<le>},
      {">=", binary<ge>},
      {"ge", binary<ge>},
  };
  const auto it = table.find(name);
  return it == table.end() ? nullptr : it->second;
}

}  // namespace tilewright::hub::jinja
