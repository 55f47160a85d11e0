// A value of the template language, with Python's identity, truth, equality, order and hash.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "hub/chat/budget.h"

namespace tilewright::hub::jinja {

enum class Kind : std::uint8_t {
  missing,  // an unset variable; never reaches an expression
  undefined,
  none,
  boolean,
  integer,
  real,
  string,
  list,
  tuple,
  dict,
  view,  // dict.keys(), .values(), .items()
  range,
  iterator,  // generators, map objects, reversed …: consumed by being read
  name_space,
  function,  // macros, bound methods, globals, the loop variable …
};

// Anything on the heap. `depth` counts nested containers, so that neither printing nor freeing recurses without end.
struct Object : Metered {
  Object(std::size_t bytes, std::uint32_t nesting) : Metered(bytes), depth(nesting) {}
  virtual ~Object() = default;
  const std::uint32_t depth;
};

class Value;
using Values = std::vector<Value>;
struct Dict;
struct View;
struct Range;
struct Iterator;
struct Namespace;
struct Function;

class Value {
 public:
  Value() = default;  // undefined, without a name
  static Value missing() { return Value(Kind::missing); }
  // `hint` is the message of the error that any use raises.
  static Value undefined(std::string hint);
  static Value none() { return Value(Kind::none); }
  static Value boolean(bool value);
  static Value integer(std::int64_t value);
  static Value real(double value);
  static Value string(std::string text, bool markup = false);
  static Value list(Values items);
  static Value tuple(Values items);
  static Value group(Value grouper, Values items);  // what groupby yields: a pair with names
  static Value dict(std::vector<std::pair<Value, Value>> entries);
  static Value of(Kind kind, std::shared_ptr<Object> object) {
    Value value(kind);
    value.object_ = std::move(object);
    return value;
  }

  Kind kind() const { return kind_; }
  bool is(Kind kind) const { return kind_ == kind; }
  bool is_undefined() const { return kind_ == Kind::undefined; }
  bool is_sequence() const { return kind_ == Kind::list || kind_ == Kind::tuple; }
  bool is_number() const { return kind_ == Kind::integer || kind_ == Kind::real || kind_ == Kind::boolean; }
  bool is_whole() const { return kind_ == Kind::integer || kind_ == Kind::boolean; }
  bool is_markup() const;
  bool is_group() const;

  bool as_boolean() const { return integer_ != 0; }
  std::int64_t as_integer() const { return integer_; }  // also of a boolean
  double as_real() const { return kind_ == Kind::real ? real_ : static_cast<double>(integer_); }
  const std::string& text() const;
  const std::string& hint() const;  // of undefined
  const Values& items() const;      // of list and tuple
  const Dict& dict() const;
  const View& view() const;
  const Range& range() const;
  Iterator& iterator() const;
  Namespace& name_space() const;
  Function& function() const;
  const Object* object() const { return object_.get(); }
  std::uint32_t depth() const { return object_ ? object_->depth : 0; }

 private:
  explicit Value(Kind kind) : kind_(kind) {}
  Kind kind_ = Kind::undefined;
  union {
    std::int64_t integer_ = 0;
    double real_;
  };
  std::shared_ptr<Object> object_;
};

// Insertion-ordered; keys as in Python (1, 1.0 and True are one key). Not changed after it was handed out.
struct Dict : Object {
  explicit Dict(std::vector<std::pair<Value, Value>> pairs);  // a later value replaces an earlier one of the same key
  const Value* find(const Value& key) const;
  const Value* find(std::string_view key) const;
  std::vector<std::pair<Value, Value>> entries;

 private:
  std::unordered_multimap<std::size_t, std::size_t> index_;  // only of larger ones
};

struct View : Object {
  enum class Part : std::uint8_t { keys, values, items };
  View(Value source, Part which) : Object(sizeof(View), source.depth() + 1), of(std::move(source)), part(which) {}
  Value of;
  Part part;
  Value at(std::size_t position) const;
};

struct Range : Object {
  Range(std::int64_t from, std::int64_t to, std::int64_t by);
  std::int64_t start, stop, step, length;
};

struct Iterator : Object {
  using Object::Object;
  virtual bool next(Value& out) = 0;
  virtual std::string_view type_name() const = 0;
};

struct Namespace : Object {
  Namespace() : Object(sizeof(Namespace), 1) {}
  std::vector<std::pair<std::string, Value>> attributes;
  Value* find(std::string_view name);
  void set(const std::string& name, Value value);
};

class Interpreter;
struct Arguments {
  Values positional;
  std::vector<std::pair<std::string, Value>> named;
};

struct Function : Object {
  using Object::Object;
  virtual Value call(Interpreter& interpreter, Arguments arguments) = 0;
  virtual Value attribute(std::string_view) { return Value::missing(); }  // missing: no such attribute
  virtual std::string representation() const = 0;
};

constexpr std::uint32_t deepest_nesting = 400;
// Throws Fault when containers nest deeper than that.
std::uint32_t checked_depth(std::uint32_t depth);

std::string type_name(const Value& value);  // as in Python: "str", "dict", "NoneType"
bool truth(const Value& value);
bool equal(const Value& a, const Value& b);
bool less(const Value& a, const Value& b, const char* operation = "<");  // Fault for kinds that have no order
bool at_most(const Value& a, const Value& b, const char* operation = "<=");
bool same_object(const Value& a, const Value& b);       // Python's `is`
std::size_t hash(const Value& key);                     // Fault: unhashable
std::optional<std::size_t> length(const Value& value);  // none: has no len()

// iter(value), or null where Python raises TypeError.
std::shared_ptr<Iterator> iterate(const Value& value);
std::shared_ptr<Iterator> iterate_or_fault(const Value& value);
Values to_vector(const Value& value);  // list(value)
// An iterator from a step function; `depth` is that of what the step holds.
Value generator(std::string type, std::uint32_t depth, std::function<bool(Value&)> step);

}  // namespace tilewright::hub::jinja
