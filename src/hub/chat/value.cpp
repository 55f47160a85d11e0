#include "hub/chat/value.h"

#include <algorithm>
#include <cmath>

#include "hub/chat/text_form.h"

namespace tilewright::hub::jinja {
namespace {

struct StringObject : Object {
  StringObject(std::string value, bool safe)
      : Object(sizeof(StringObject) + value.size(), 0), text(std::move(value)), markup(safe) {}
  std::string text;
  bool markup;
};

struct UndefinedObject : Object {
  explicit UndefinedObject(std::string message)
      : Object(sizeof(UndefinedObject) + message.size(), 0), hint(std::move(message)) {}
  std::string hint;
};

std::uint32_t depth_over(const Values& items) {
  std::uint32_t depth = 0;
  for (const Value& item : items) depth = std::max(depth, item.depth());
  return checked_depth(depth + 1);
}

struct SequenceObject : Object {
  SequenceObject(Values values, bool named)
      : Object(sizeof(SequenceObject) + values.size() * sizeof(Value), depth_over(values)),
        items(std::move(values)),
        group(named) {}
  Values items;
  bool group;
};

std::uint32_t depth_over(const std::vector<std::pair<Value, Value>>& entries) {
  std::uint32_t depth = 0;
  for (const auto& [key, value] : entries) depth = std::max({depth, key.depth(), value.depth()});
  return checked_depth(depth + 1);
}

constexpr std::size_t small_dict = 12;

struct ItemsIterator : Iterator {
  ItemsIterator(Value source, const Values& source_items)
      : Iterator(sizeof(ItemsIterator), checked_depth(source.depth() + 1)),
        owner(std::move(source)),
        items(source_items) {}
  bool next(Value& out) override {
    if (at == items.size()) return false;
    out = items[at++];
    return true;
  }
  std::string_view type_name() const override { return "list_iterator"; }
  Value owner;
  const Values& items;
  std::size_t at = 0;
};

struct StepIterator : Iterator {
  StepIterator(std::string name, std::uint32_t nesting, std::function<bool(Value&)> take)
      : Iterator(sizeof(StepIterator), checked_depth(nesting + 1)), type(std::move(name)), step(std::move(take)) {}
  bool next(Value& out) override {
    spend(1);
    if (done) return false;
    done = !step(out);
    return !done;
  }
  std::string_view type_name() const override { return type; }
  std::string type;
  std::function<bool(Value&)> step;
  bool done = false;
};

std::size_t mix(std::size_t seed, std::size_t value) {
  return seed ^ (value + 0x9e3779b97f4a7c15ull + (seed << 6) + (seed >> 2));
}

// -1, 0, 1; 2 when a NaN is involved. long double holds every int64 and every double.
int compare_numbers(const Value& a, const Value& b) {
  const long double x = a.is(Kind::real) ? a.as_real() : static_cast<long double>(a.as_integer());
  const long double y = b.is(Kind::real) ? b.as_real() : static_cast<long double>(b.as_integer());
  if (std::isnan(x) || std::isnan(y)) return 2;
  return x < y ? -1 : x > y ? 1 : 0;
}

}  // namespace

std::uint32_t checked_depth(std::uint32_t depth) {
  if (depth > deepest_nesting) throw Fault{"values are nested deeper than 400 levels"};
  return depth;
}

Value Value::undefined(std::string hint) {
  return of(Kind::undefined, std::make_shared<UndefinedObject>(std::move(hint)));
}
Value Value::boolean(bool value) {
  Value out(Kind::boolean);
  out.integer_ = value ? 1 : 0;
  return out;
}
Value Value::integer(std::int64_t value) {
  Value out(Kind::integer);
  out.integer_ = value;
  return out;
}
Value Value::real(double value) {
  Value out(Kind::real);
  out.real_ = value;
  return out;
}
Value Value::string(std::string text, bool markup) {
  return of(Kind::string, std::make_shared<StringObject>(std::move(text), markup));
}
Value Value::list(Values items) { return of(Kind::list, std::make_shared<SequenceObject>(std::move(items), false)); }
Value Value::tuple(Values items) { return of(Kind::tuple, std::make_shared<SequenceObject>(std::move(items), false)); }
Value Value::group(Value grouper, Values items) {
  return of(Kind::tuple, std::make_shared<SequenceObject>(Values{std::move(grouper), list(std::move(items))}, true));
}
Value Value::dict(std::vector<std::pair<Value, Value>> entries) {
  return of(Kind::dict, std::make_shared<Dict>(std::move(entries)));
}

bool Value::is_markup() const { return is(Kind::string) && static_cast<const StringObject&>(*object_).markup; }
bool Value::is_group() const { return is(Kind::tuple) && static_cast<const SequenceObject&>(*object_).group; }
const std::string& Value::text() const { return static_cast<const StringObject&>(*object_).text; }
const std::string& Value::hint() const {
  static const std::string nameless = "the value is undefined";
  return object_ ? static_cast<const UndefinedObject&>(*object_).hint : nameless;
}
const Values& Value::items() const { return static_cast<const SequenceObject&>(*object_).items; }
const Dict& Value::dict() const { return static_cast<const Dict&>(*object_); }
const View& Value::view() const { return static_cast<const View&>(*object_); }
const Range& Value::range() const { return static_cast<const Range&>(*object_); }
Iterator& Value::iterator() const { return static_cast<Iterator&>(*object_); }
Namespace& Value::name_space() const { return static_cast<Namespace&>(*object_); }
Function& Value::function() const { return static_cast<Function&>(*object_); }

Dict::Dict(std::vector<std::pair<Value, Value>> pairs)
    : Object(sizeof(Dict) + pairs.size() * (2 * sizeof(Value) + (pairs.size() > small_dict ? 40 : 0)),
             depth_over(pairs)) {
  entries.reserve(pairs.size());
  const bool indexed = pairs.size() > small_dict;
  for (auto& pair : pairs) {
    const std::size_t code = hash(pair.first);
    Value* known = nullptr;
    if (indexed) {
      const auto [from, to] = index_.equal_range(code);
      for (auto it = from; it != to && !known; ++it)
        if (equal(entries[it->second].first, pair.first)) known = &entries[it->second].second;
    } else {
      for (auto& entry : entries)
        if (equal(entry.first, pair.first)) known = &entry.second;
    }
    if (known) {
      *known = std::move(pair.second);
      continue;
    }
    if (indexed) index_.emplace(code, entries.size());
    entries.push_back(std::move(pair));
  }
}

const Value* Dict::find(const Value& key) const {
  const std::size_t code = hash(key);
  if (!index_.empty()) {
    const auto [from, to] = index_.equal_range(code);
    for (auto it = from; it != to; ++it)
      if (equal(entries[it->second].first, key)) return &entries[it->second].second;
    return nullptr;
  }
  for (const auto& entry : entries)
    if (equal(entry.first, key)) return &entry.second;
  return nullptr;
}

const Value* Dict::find(std::string_view key) const {
  if (!index_.empty()) return find(Value::string(std::string(key)));
  for (const auto& [name, value] : entries)
    if (name.is(Kind::string) && name.text() == key) return &value;
  return nullptr;
}

Value View::at(std::size_t position) const {
  const auto& [key, value] = of.dict().entries[position];
  if (part == Part::keys) return key;
  if (part == Part::values) return value;
  return Value::tuple({key, value});
}

Range::Range(std::int64_t from, std::int64_t to, std::int64_t by)
    : Object(sizeof(Range), 1), start(from), stop(to), step(by), length(0) {
  if (by == 0) throw Fault{"range() arg 3 must not be zero"};
  const auto a = static_cast<__int128>(from), b = static_cast<__int128>(to), s = static_cast<__int128>(by);
  const __int128 count = s > 0 ? (b - a + s - 1) / s : (a - b - s - 1) / -s;
  if (count > 100000) throw Fault{"range too big: the sandbox blocks ranges of more than 100000 items"};
  length = count > 0 ? static_cast<std::int64_t>(count) : 0;
}

Value* Namespace::find(std::string_view name) {
  for (auto& [key, value] : attributes)
    if (key == name) return &value;
  return nullptr;
}

void Namespace::set(const std::string& name, Value value) {
  spend(1);
  if (Value* known = find(name))
    *known = std::move(value);
  else
    attributes.emplace_back(name, std::move(value)), grow(64 + name.size());
}

std::string type_name(const Value& value) {
  switch (value.kind()) {
    case Kind::missing:
    case Kind::undefined:
      return "Undefined";
    case Kind::none:
      return "NoneType";
    case Kind::boolean:
      return "bool";
    case Kind::integer:
      return "int";
    case Kind::real:
      return "float";
    case Kind::string:
      return value.is_markup() ? "Markup" : "str";
    case Kind::list:
      return "list";
    case Kind::tuple:
      return value.is_group() ? "_GroupTuple" : "tuple";
    case Kind::dict:
      return "dict";
    case Kind::view:
      return value.view().part == View::Part::keys     ? "dict_keys"
             : value.view().part == View::Part::values ? "dict_values"
                                                       : "dict_items";
    case Kind::range:
      return "range";
    case Kind::iterator:
      return std::string(value.iterator().type_name());
    case Kind::name_space:
      return "Namespace";
    case Kind::function:
      return "function";
  }
  return "object";
}

bool truth(const Value& value) {
  switch (value.kind()) {
    case Kind::missing:
    case Kind::undefined:
    case Kind::none:
      return false;
    case Kind::boolean:
    case Kind::integer:
      return value.as_integer() != 0;
    case Kind::real:
      return value.as_real() != 0.0;
    default: {
      const auto n = length(value);
      return !n || *n > 0;
    }
  }
}

bool equal(const Value& a, const Value& b) {
  spend(1);
  if (a.is_number() && b.is_number()) return compare_numbers(a, b) == 0;
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Kind::missing:
    case Kind::undefined:
    case Kind::none:
      return true;
    case Kind::string:
      return a.text() == b.text();
    case Kind::list:
    case Kind::tuple: {
      if (a.object() == b.object()) return true;
      const Values &x = a.items(), &y = b.items();
      if (x.size() != y.size()) return false;
      for (std::size_t i = 0; i < x.size(); ++i)
        if (!same_object(x[i], y[i]) && !equal(x[i], y[i])) return false;
      return true;
    }
    case Kind::dict: {
      if (a.object() == b.object()) return true;
      const Dict &x = a.dict(), &y = b.dict();
      if (x.entries.size() != y.entries.size()) return false;
      for (const auto& [key, value] : x.entries) {
        const Value* other = y.find(key);
        if (!other || (!same_object(*other, value) && !equal(*other, value))) return false;
      }
      return true;
    }
    case Kind::range: {
      const Range &x = a.range(), &y = b.range();
      return x.length == y.length && (x.length == 0 || (x.start == y.start && (x.length == 1 || x.step == y.step)));
    }
    case Kind::view: {
      if (a.view().part != b.view().part || a.view().part == View::Part::values) return a.object() == b.object();
      const Values x = to_vector(a), y = to_vector(b);
      return x.size() == y.size() && std::all_of(x.begin(), x.end(), [&](const Value& item) {
               return std::any_of(y.begin(), y.end(), [&](const Value& other) { return equal(item, other); });
             });
    }
    default:
      return a.object() == b.object();
  }
}

bool less(const Value& a, const Value& b, const char* operation) {
  spend(1);
  if (a.is_number() && b.is_number()) return compare_numbers(a, b) == -1;
  if (a.is_undefined()) throw Fault{a.hint()};
  if (b.is_undefined()) throw Fault{b.hint()};
  if (a.is(Kind::string) && b.is(Kind::string)) return a.text() < b.text();  // UTF-8 keeps the order of code points
  if (a.kind() == b.kind() && a.is_sequence()) {
    const Values &x = a.items(), &y = b.items();
    for (std::size_t i = 0; i < std::min(x.size(), y.size()); ++i)
      if (!same_object(x[i], y[i]) && !equal(x[i], y[i])) return less(x[i], y[i], operation);
    return x.size() < y.size();
  }
  throw Fault{std::string("'") + operation + "' not supported between instances of '" + type_name(a) + "' and '" +
              type_name(b) + "'"};
}

bool at_most(const Value& a, const Value& b, const char* operation) {
  if (a.is_number() && b.is_number()) return less(a, b) || equal(a, b);
  return !less(b, a, operation);
}

bool same_object(const Value& a, const Value& b) {
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Kind::none:
    case Kind::missing:
      return true;
    case Kind::boolean:
    case Kind::integer:
      return a.as_integer() == b.as_integer();
    case Kind::real:
      return false;
    default:
      return a.object() == b.object();
  }
}

std::size_t hash(const Value& key) {
  spend(1);
  switch (key.kind()) {
    case Kind::boolean:
    case Kind::integer:
      return std::hash<double>{}(static_cast<double>(key.as_integer()));
    case Kind::real:
      return std::hash<double>{}(key.as_real());
    case Kind::string:
      return std::hash<std::string>{}(key.text());
    case Kind::tuple: {
      std::size_t code = 7;
      for (const Value& item : key.items()) code = mix(code, hash(item));
      return code;
    }
    case Kind::list:
    case Kind::dict:
      throw Fault{"unhashable type: '" + type_name(key) + "'"};
    case Kind::view:
      if (key.view().part != View::Part::values) throw Fault{"unhashable type: '" + type_name(key) + "'"};
      return std::hash<const void*>{}(key.object());
    case Kind::range:
      return mix(static_cast<std::size_t>(key.range().length),
                 static_cast<std::size_t>(key.range().length ? key.range().start : 0));
    case Kind::undefined:
    case Kind::none:
    case Kind::missing:
      return static_cast<std::size_t>(key.kind());
    default:
      return std::hash<const void*>{}(key.object());
  }
}

std::optional<std::size_t> length(const Value& value) {
  switch (value.kind()) {
    case Kind::undefined:
      return 0;
    case Kind::string:
      return string_length(value);
    case Kind::list:
    case Kind::tuple:
      return value.items().size();
    case Kind::dict:
      return value.dict().entries.size();
    case Kind::view:
      return value.view().of.dict().entries.size();
    case Kind::range:
      return static_cast<std::size_t>(value.range().length);
    default:
      return std::nullopt;
  }
}

std::shared_ptr<Iterator> iterate(const Value& value) {
  switch (value.kind()) {
    case Kind::undefined:
      return std::make_shared<StepIterator>("generator", 0, [](Value&) { return false; });
    case Kind::list:
    case Kind::tuple:
      return std::make_shared<ItemsIterator>(value, value.items());
    case Kind::string:
      return std::make_shared<StepIterator>("str_iterator", 0, [value, at = std::size_t{0}](Value& out) mutable {
        const std::string& text = value.text();
        if (at == text.size()) return false;
        std::size_t end = at + 1;
        while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) ++end;
        out = Value::string(text.substr(at, end - at));  // iterating Markup gives plain text
        at = end;
        return true;
      });
    case Kind::dict:
      return std::make_shared<StepIterator>("dict_keyiterator", value.depth(),
                                            [value, at = std::size_t{0}](Value& out) mutable {
                                              if (at == value.dict().entries.size()) return false;
                                              out = value.dict().entries[at++].first;
                                              return true;
                                            });
    case Kind::view:
      return std::make_shared<StepIterator>("dict_itemiterator", value.depth(),
                                            [value, at = std::size_t{0}](Value& out) mutable {
                                              if (at == value.view().of.dict().entries.size()) return false;
                                              out = value.view().at(at++);
                                              return true;
                                            });
    case Kind::range:
      return std::make_shared<StepIterator>("range_iterator", 0, [value, at = std::int64_t{0}](Value& out) mutable {
        if (at == value.range().length) return false;
        out = Value::integer(value.range().start + value.range().step * at++);
        return true;
      });
    case Kind::iterator: {
      // The shared object itself: reading it here consumes it everywhere.
      struct Shared : Iterator {
        explicit Shared(Value v) : Iterator(sizeof(Shared), v.depth()), source(std::move(v)) {}
        bool next(Value& out) override { return source.iterator().next(out); }
        std::string_view type_name() const override { return source.iterator().type_name(); }
        Value source;
      };
      return std::make_shared<Shared>(value);
    }
    default:
      return nullptr;
  }
}

std::shared_ptr<Iterator> iterate_or_fault(const Value& value) {
  auto it = iterate(value);
  if (!it) throw Fault{"'" + type_name(value) + "' object is not iterable"};
  return it;
}

Values to_vector(const Value& value) {
  if (value.is_sequence()) {
    expect_size(value.items().size() * sizeof(Value));
    return value.items();
  }
  Values out;
  const auto it = iterate_or_fault(value);
  for (Value item; it->next(item);) {
    if (out.size() % 4096 == 0) expect_size((out.size() + 1) * sizeof(Value));
    out.push_back(std::move(item));
  }
  return out;
}

Value generator(std::string type, std::uint32_t depth, std::function<bool(Value&)> step) {
  return Value::of(Kind::iterator, std::make_shared<StepIterator>(std::move(type), depth, std::move(step)));
}

}  // namespace tilewright::hub::jinja
