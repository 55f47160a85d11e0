#include "hub/chat/globals.h"

#include <chrono>
#include <ctime>

#include "hub/chat/arguments.h"
#include "hub/chat/attributes.h"
#include "hub/chat/interpreter.h"
#include "hub/chat/operators.h"
#include "hub/chat/text_form.h"

namespace tilewright::hub::jinja {
namespace {

std::vector<std::pair<Value, Value>> dict_entries(const char* who, Arguments& given) {
  std::vector<std::pair<Value, Value>> entries;
  if (given.positional.size() > 1) throw Fault{std::string(who) + " expected at most 1 argument"};
  if (!given.positional.empty()) {
    const Value& source = given.positional[0];
    if (source.is(Kind::dict)) {
      entries = source.dict().entries;
    } else {
      const auto items = iterate_or_fault(source);
      for (Value item; items->next(item);) {
        const Values pair = to_vector(item);
        if (pair.size() != 2) throw Fault{"dictionary update sequence element has a length other than 2"};
        entries.emplace_back(pair[0], pair[1]);
      }
    }
  }
  for (auto& [name, value] : given.named) entries.emplace_back(Value::string(name), value);
  return entries;
}

Value make_range(Interpreter&, Arguments& given) {
  const Bound bound("range", given, {"/start", "/stop", "/step"}, 1);
  const std::int64_t first = as_index(bound[0]);
  const bool one = !bound.has(1);
  return Value::of(Kind::range,
                   std::make_shared<Range>(one ? 0 : first, one ? first : as_index(bound[1]), bound.integer_or(2, 1)));
}

Value make_namespace(Interpreter& interpreter, Arguments& given) {
  const Value entries = Value::dict(dict_entries("namespace", given));
  auto space = std::make_shared<Namespace>();
  interpreter.keep(space);
  for (const auto& [key, value] : entries.dict().entries) {
    if (!key.is(Kind::string)) throw Fault{"namespace keys must be strings"};
    if (key.text().starts_with('_')) throw Fault{"a namespace cannot hold names that start with '_': " + key.text()};
    space->set(key.text(), value);
  }
  return Value::of(Kind::name_space, space);
}

struct DictGlobal : Function {
  DictGlobal() : Function(sizeof(DictGlobal), 0) {}
  Value call(Interpreter&, Arguments given) override { return Value::dict(dict_entries("dict", given)); }
  Value attribute(std::string_view name) override {
    if (name != "fromkeys") return Value::missing();
    return make_function("fromkeys", [](Interpreter&, Arguments& given) {
      const Bound bound("fromkeys", given, {"/iterable", "/value"}, 1);
      std::vector<std::pair<Value, Value>> entries;
      for (const Value& key : to_vector(bound[0])) entries.emplace_back(key, bound.has(1) ? bound[1] : Value::none());
      return Value::dict(std::move(entries));
    });
  }
  std::string representation() const override { return "<dict>"; }
};

struct Cycler : Function {
  explicit Cycler(Values values)
      : Function(sizeof(Cycler), checked_depth(Value::tuple(values).depth() + 1)), items(std::move(values)) {}
  Value call(Interpreter&, Arguments) override { throw Fault{"'Cycler' object is not callable"}; }
  Value attribute(std::string_view name) override {
    if (name == "current") return items[*position];
    if (name == "items") return Value::tuple(items);
    if (name == "pos") return Value::integer(static_cast<std::int64_t>(*position));
    if (name != "next" && name != "reset") return Value::missing();
    return make_function(
        std::string(name),
        [values = items, at = position, next = name == "next"](Interpreter&, Arguments& given) {
          const Bound bound("cycler method", given, {}, 0);
          if (!next) {
            *at = 0;
            return Value::none();
          }
          const Value value = values[*at];
          *at = (*at + 1) % values.size();
          return value;
        },
        depth);
  }
  std::string representation() const override { return "<Cycler>"; }
  Values items;
  std::shared_ptr<std::size_t> position = std::make_shared<std::size_t>(0);
};

struct Joiner : Function {
  explicit Joiner(Value text) : Function(sizeof(Joiner), checked_depth(text.depth() + 1)), separator(std::move(text)) {}
  Value call(Interpreter&, Arguments given) override {
    const Bound bound("joiner", given, {}, 0);
    return std::exchange(used, true) ? separator : Value::string("");
  }
  Value attribute(std::string_view name) override {
    return name == "sep" ? separator : name == "used" ? Value::boolean(used) : Value::missing();
  }
  std::string representation() const override { return "<Joiner>"; }
  Value separator;
  bool used = false;
};

Value strftime_now(Interpreter&, Arguments& given) {
  const Bound bound("strftime_now", given, {"format"}, 1);
  const auto now = std::chrono::system_clock::now();
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  std::tm parts{};
  localtime_r(&seconds, &parts);
  std::string format = bound.text(0);
  if (format.size() > 4000) throw Fault{"strftime_now: the format is too long"};
  // Python fills these three itself: a naive time has no zone.
  const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(now.time_since_epoch()).count() % 1'000'000;
  std::string prepared;
  for (std::size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%' || i + 1 == format.size()) {
      prepared += format[i];
      continue;
    }
    const char c = format[++i];
    if (c == 'f') {
      std::string digits = std::to_string(micros);
      prepared += std::string(6 - digits.size(), '0') + digits;
    } else if (c != 'z' && c != 'Z') {
      prepared += '%';
      prepared += c;
    }
  }
  if (prepared.empty()) return Value::string("");
  std::string out(prepared.size() * 64 + 64, '\0');
  out.resize(std::strftime(out.data(), out.size(), prepared.c_str(), &parts));
  return Value::string(std::move(out));
}

Value raise_exception(Interpreter&, Arguments& given) {
  const Bound bound("raise_exception", given, {"message"}, 1);
  throw Fault{"the template refuses: " + str(bound[0])};
}

}  // namespace

Value find_global(std::string_view name) {
  if (name == "range") return make_function("range", make_range);
  if (name == "namespace") return make_function("namespace", make_namespace);
  if (name == "dict") return Value::of(Kind::function, std::make_shared<DictGlobal>());
  if (name == "raise_exception") return make_function("raise_exception", raise_exception);
  if (name == "strftime_now") return make_function("strftime_now", strftime_now);
  if (name == "cycler")
    return make_function("cycler", [](Interpreter&, Arguments& given) {
      if (given.positional.empty() || !given.named.empty()) throw Fault{"at least one item has to be provided"};
      return Value::of(Kind::function, std::make_shared<Cycler>(given.positional));
    });
  if (name == "joiner")
    return make_function("joiner", [](Interpreter&, Arguments& given) {
      const Bound bound("joiner", given, {"sep"}, 0);
      return Value::of(Kind::function, std::make_shared<Joiner>(bound.has(0) ? bound[0] : Value::string(", ")));
    });
  if (name == "lipsum")
    return make_function("lipsum",
                         [](Interpreter&, Arguments&) -> Value { throw Fault{"the global 'lipsum' is unsupported"}; });
  return Value::missing();
}

}  // namespace tilewright::hub::jinja
