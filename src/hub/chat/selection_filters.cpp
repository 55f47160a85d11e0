// Filters that look attributes up or apply other filters and tests: default, attr, map, select and its relatives.
#include "hub/chat/arguments.h"
#include "hub/chat/attribute_path.h"
#include "hub/chat/attributes.h"
#include "hub/chat/filters.h"
#include "hub/chat/interpreter.h"
#include "hub/chat/operators.h"
#include "hub/chat/text.h"
#include "hub/chat/text_form.h"

namespace tilewright::hub::jinja {
namespace {

Value default_filter(Interpreter&, Arguments& given) {
  const Bound bound("default", given, {"value", "default_value", "boolean"}, 1);
  const bool replace = bound[0].is_undefined() || (bound.truth_or(2, false) && !truth(bound[0]));
  return !replace ? bound[0] : bound.has(1) ? bound[1] : Value::string("");
}

Value attribute(Interpreter&, Arguments& given) {
  const Bound bound("attr", given, {"obj", "name"}, 2);
  const std::string& name = bound.text(1);
  Value found = find_attribute(bound[0], name);
  return found.is(Kind::missing)
             ? Value::undefined("'" + type_name(bound[0]) + " object' has no attribute " + repr_of_text(name))
             : found;
}

std::uint32_t depth_of(const Arguments& given) {
  std::uint32_t depth = 0;
  for (const Value& value : given.positional) depth = std::max(depth, value.depth());
  for (const auto& [_, value] : given.named) depth = std::max(depth, value.depth());
  return depth + 1;
}

Value map_filter(Interpreter& interpreter, Arguments& given) {
  if (given.positional.empty()) throw Fault{"map() missing required argument 'value'"};
  // As in jinja2, everything, complaints included, happens when the result is read.
  struct State {
    bool begun = false;
    std::shared_ptr<Iterator> items;
    std::optional<AttributePath> path;
    Value otherwise = Value::missing();
    std::string filter;
    Arguments rest;
  };
  return generator("generator", checked_depth(depth_of(given)),
                   [&interpreter, given, state = std::make_shared<State>()](Value& out) {
                     if (!std::exchange(state->begun, true)) {
                       const Value& value = given.positional[0];
                       if (!truth(value)) return false;
                       const auto named = [&](std::string_view name) -> const Value* {
                         for (const auto& [key, item] : given.named)
                           if (key == name) return &item;
                         return nullptr;
                       };
                       if (given.positional.size() == 1 && named("attribute")) {
                         for (const auto& [key, item] : given.named)
                           if (key != "attribute" && key != "default")
                             throw Fault{"Unexpected keyword argument " + repr_of_text(key)};
                         state->path.emplace(*named("attribute"));
                         if (const Value* otherwise = named("default"); otherwise && !otherwise->is(Kind::none))
                           state->otherwise = *otherwise;
                       } else {
                         if (given.positional.size() < 2) throw Fault{"map requires a filter argument"};
                         state->filter = str(given.positional[1]);
                         state->rest.positional.assign(given.positional.begin() + 2, given.positional.end());
                         state->rest.named = given.named;
                       }
                       state->items = iterate_or_fault(value);
                     }
                     Value item;
                     if (!state->items || !state->items->next(item)) return false;
                     if (state->path) {
                       out = state->path->of(item, state->otherwise);
                     } else {
                       Arguments call = state->rest;
                       call.positional.insert(call.positional.begin(), item);
                       out = interpreter.apply_filter(state->filter, std::move(call));
                     }
                     return true;
                   });
}

template <bool keep, bool by_attribute>
Value select(Interpreter& interpreter, Arguments& given) {
  if (given.positional.empty()) throw Fault{"select() missing required argument 'value'"};
  struct State {
    bool begun = false;
    std::shared_ptr<Iterator> items;
    std::optional<AttributePath> path;
    std::optional<std::string> test;
    Arguments rest;
  };
  return generator("generator", checked_depth(depth_of(given)),
                   [&interpreter, given, state = std::make_shared<State>()](Value& out) {
                     if (!std::exchange(state->begun, true)) {
                       if (!truth(given.positional[0])) return false;
                       std::size_t next = 1;
                       if (by_attribute) {
                         if (given.positional.size() < 2) throw Fault{"Missing parameter for attribute name"};
                         state->path.emplace(given.positional[next++]);
                       }
                       if (next < given.positional.size()) {
                         state->test = str(given.positional[next++]);
                         state->rest.positional.assign(given.positional.begin() + static_cast<std::ptrdiff_t>(next),
                                                       given.positional.end());
                         state->rest.named = given.named;
                       }
                       state->items = iterate_or_fault(given.positional[0]);
                     }
                     if (!state->items) return false;
                     while (state->items->next(out)) {
                       const Value subject = state->path ? state->path->of(out) : out;
                       bool holds;
                       if (state->test) {
                         Arguments call = state->rest;
                         call.positional.insert(call.positional.begin(), subject);
                         holds = interpreter.apply_test(*state->test, std::move(call));
                       } else {
                         holds = truth(subject);
                       }
                       if (holds == keep) return true;
                     }
                     return false;
                   });
}

constexpr NamedFilter selection_table[] = {
    {"default", default_filter},
    {"d", default_filter},
    {"attr", attribute},
    {"map", map_filter},
    {"select", select<true, false>},
    {"reject", select<false, false>},
    {"selectattr", select<true, true>},
    {"rejectattr", select<false, true>},
};

}  // namespace

FilterTable selection_filters() { return {std::begin(selection_table), std::end(selection_table)}; }

AttributePath::AttributePath(const Value& attribute) {
  if (attribute.is(Kind::missing) || attribute.is(Kind::none)) return;
  if (!attribute.is(Kind::string)) {
    parts_.push_back(attribute);
    return;
  }
  const std::string& text = attribute.text();
  for (std::size_t begin = 0;;) {
    const std::size_t end = std::min(text.find('.', begin), text.size());
    const std::string part = text.substr(begin, end - begin);
    const bool digits = !part.empty() && part.size() < 19 && part.find_first_not_of("0123456789") == part.npos;
    parts_.push_back(digits ? Value::integer(std::stoll(part)) : Value::string(part));
    if (end == text.size()) break;
    begin = end + 1;
  }
}

Value AttributePath::of(Value item, const Value& otherwise) const {
  for (const Value& part : parts_) {
    item = get_item(item, part);
    if (!otherwise.is(Kind::missing) && item.is_undefined()) item = otherwise;
  }
  return item;
}

AttributePaths::AttributePaths(const Value& attribute) {
  if (!attribute.is(Kind::string)) {
    paths_.emplace_back(attribute);
    return;
  }
  const std::string& text = attribute.text();
  for (std::size_t begin = 0;;) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    paths_.emplace_back(Value::string(text.substr(begin, end - begin)));
    if (end == text.size()) break;
    begin = end + 1;
  }
}

Value AttributePaths::key(const Value& item, bool ignore_case) const {
  Values keys;
  for (const AttributePath& path : paths_) {
    const Value found = path.of(item);
    keys.push_back(ignore_case ? without_case(found) : found);
  }
  return Value::list(std::move(keys));
}

Value without_case(const Value& value) {
  return value.is(Kind::string) ? Value::string(lower(value.text()), value.is_markup()) : value;
}

}  // namespace tilewright::hub::jinja
