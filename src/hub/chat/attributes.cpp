#include "hub/chat/attributes.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "hub/chat/arguments.h"
#include "hub/chat/interpreter.h"
#include "hub/chat/operators.h"
#include "hub/chat/text_form.h"

namespace tilewright::hub::jinja {
namespace {

struct NamedFunction : Function {
  NamedFunction(std::string label, Callback function, std::uint32_t nesting)
      : Function(sizeof(NamedFunction), checked_depth(nesting + 1)),
        name(std::move(label)),
        callback(std::move(function)) {}
  Value call(Interpreter& interpreter, Arguments arguments) override { return callback(interpreter, arguments); }
  std::string representation() const override { return "<built-in method " + name + ">"; }
  std::string name;
  Callback callback;
};

template <std::size_t N>
bool one_of(const std::string& name, const std::array<const char*, N>& names) {
  return std::any_of(names.begin(), names.end(), [&](const char* candidate) { return name == candidate; });
}

Value unsafe(const Value& object, const std::string& name) {
  return Value::undefined("access to attribute " + repr_of_text(name) + " of " + repr_of_text(type_name(object)) +
                          " object is unsafe");
}

bool is_dunder_of_all(const std::string& name) {
  static constexpr std::array<const char*, 20> names = {
      "__class__",  "__doc__",    "__init__",    "__new__",          "__repr__",   "__str__",         "__hash__",
      "__eq__",     "__ne__",     "__lt__",      "__le__",           "__gt__",     "__ge__",          "__dir__",
      "__format__", "__reduce__", "__setattr__", "__getattribute__", "__sizeof__", "__subclasshook__"};
  return name.starts_with("__") && one_of(name, names);
}

Value find_in(const Value& object, const Value& needle, std::int64_t from, std::int64_t to) {
  const Values items = to_vector(object);
  const auto n = static_cast<std::int64_t>(items.size());
  if (from < 0) from = std::max<std::int64_t>(from + n, 0);
  if (to < 0) to = std::max<std::int64_t>(to + n, 0);
  for (std::int64_t i = from; i < std::min(to, n); ++i)
    if (same_object(items[static_cast<std::size_t>(i)], needle) || equal(items[static_cast<std::size_t>(i)], needle))
      return Value::integer(i);
  throw Fault{repr(needle) + " is not in " + type_name(object)};
}

Value sequence_method(const Value& object, const std::string& name) {
  if (name == "count")
    return make_function(
        name,
        [object](Interpreter&, Arguments& given) {
          const Bound bound("count", given, {"/value"}, 1);
          std::int64_t n = 0;
          for (const Value& item : to_vector(object)) n += same_object(item, bound[0]) || equal(item, bound[0]) ? 1 : 0;
          return Value::integer(n);
        },
        object.depth());
  if (name == "index")
    return make_function(
        name,
        [object](Interpreter&, Arguments& given) {
          const Bound bound("index", given, {"/value", "/start", "/stop"}, 1);
          return find_in(object, bound[0], bound.integer_or(1, 0), bound.integer_or(2, std::int64_t{1} << 60));
        },
        object.depth());
  if (object.is(Kind::list)) {
    if (one_of<8>(name, {"append", "clear", "pop", "reverse", "insert", "sort", "extend", "remove"}))
      return unsafe(object, name);
    if (name == "copy")
      return make_function(
          name,
          [object](Interpreter&, Arguments& given) {
            const Bound bound("copy", given, {}, 0);
            return Value::list(object.items());
          },
          object.depth());
  }
  if (object.is_group() && name == "grouper") return object.items()[0];
  if (object.is_group() && name == "list") return object.items()[1];
  return Value::missing();
}

Value dict_method(const Value& object, const std::string& name) {
  for (const auto& [word, part] : {std::pair{"keys", View::Part::keys}, std::pair{"values", View::Part::values},
                                   std::pair{"items", View::Part::items}})
    if (name == word)
      return make_function(
          name,
          [object, which = part, word = word](Interpreter&, Arguments& given) {
            const Bound bound(word, given, {}, 0);
            return Value::of(Kind::view, std::make_shared<View>(object, which));
          },
          object.depth());
  if (name == "get")
    return make_function(
        name,
        [object](Interpreter&, Arguments& given) {
          const Bound bound("get", given, {"/key", "/default"}, 1);
          const Value* found = object.dict().find(bound[0]);
          return found ? *found : bound.has(1) ? bound[1] : Value::none();
        },
        object.depth());
  if (name == "copy")
    return make_function(
        name,
        [object](Interpreter&, Arguments& given) {
          const Bound bound("copy", given, {}, 0);
          return Value::dict(object.dict().entries);
        },
        object.depth());
  if (one_of<5>(name, {"clear", "pop", "popitem", "setdefault", "update"})) return unsafe(object, name);
  return Value::missing();
}

Value number_method(const Value& object, const std::string& name) {
  const bool whole = object.is_whole();
  if (name == "real") return whole ? Value::integer(object.as_integer()) : object;
  if (name == "imag") return whole ? Value::integer(0) : Value::real(0.0);
  if (whole && name == "numerator") return Value::integer(object.as_integer());
  if (whole && name == "denominator") return Value::integer(1);
  if (name == "conjugate" || (!whole && name == "is_integer") || (whole && name == "bit_length"))
    return make_function(name, [object, name](Interpreter&, Arguments& given) {
      const Bound bound(name.c_str(), given, {}, 0);
      if (name == "conjugate") return object;
      if (name == "is_integer")
        return Value::boolean(std::isfinite(object.as_real()) && std::floor(object.as_real()) == object.as_real());
      const std::int64_t n = object.as_integer();
      const auto magnitude = n < 0 ? 0 - static_cast<std::uint64_t>(n) : static_cast<std::uint64_t>(n);
      return Value::integer(magnitude ? 64 - __builtin_clzll(magnitude) : 0);
    });
  return Value::missing();
}

std::string described(const Value& object) {
  if (object.is(Kind::none)) return "None";
  const bool own = object.is(Kind::name_space);
  return (own ? "jinja2.utils." : "") + type_name(object) + " object";
}

}  // namespace

Value make_function(std::string name, Callback callback, std::uint32_t depth) {
  return Value::of(Kind::function, std::make_shared<NamedFunction>(std::move(name), std::move(callback), depth));
}

Value find_attribute(const Value& object, const std::string& name) {
  if (object.is_undefined()) throw Fault{object.hint()};
  if (is_dunder_of_all(name)) return unsafe(object, name);
  switch (object.kind()) {
    case Kind::string:
      return string_method(object, name);
    case Kind::list:
    case Kind::tuple:
      return sequence_method(object, name);
    case Kind::range:
      if (name == "start") return Value::integer(object.range().start);
      if (name == "stop") return Value::integer(object.range().stop);
      if (name == "step") return Value::integer(object.range().step);
      return sequence_method(object, name);
    case Kind::dict:
      return dict_method(object, name);
    case Kind::boolean:
    case Kind::integer:
    case Kind::real:
      return number_method(object, name);
    case Kind::view:
      return name == "mapping" ? object.view().of : Value::missing();
    case Kind::name_space: {
      const Value* found = object.name_space().find(name);
      return found ? *found : Value::missing();
    }
    case Kind::function:
      return object.function().attribute(name);
    default:
      return Value::missing();
  }
}

Value get_attribute(const Value& object, const std::string& name) {
  Value found = find_attribute(object, name);
  if (!found.is(Kind::missing)) return found;
  if (object.is(Kind::dict))
    if (const Value* item = object.dict().find(std::string_view(name))) return *item;
  return Value::undefined(repr_of_text(described(object)) + " has no attribute " + repr_of_text(name));
}

Value get_item(const Value& object, const Value& index) {
  Value found = subscript(object, index);
  if (!found.is(Kind::missing)) return found;
  if (index.is(Kind::string)) {
    found = find_attribute(object, index.text());
    if (!found.is(Kind::missing)) return found;
    return Value::undefined(repr_of_text(described(object)) + " has no attribute " + repr(index));
  }
  return Value::undefined(described(object) + " has no element " + repr(index));
}

}  // namespace tilewright::hub::jinja
