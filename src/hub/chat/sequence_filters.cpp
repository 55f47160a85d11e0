// Filters on sequences and mappings.
#include <algorithm>

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

Value length_filter(Interpreter&, Arguments& given) {
  const Bound bound("len", given, {"/obj"}, 1);
  const auto n = length(bound[0]);
  if (!n) throw Fault{"object of type '" + type_name(bound[0]) + "' has no len()"};
  return Value::integer(static_cast<std::int64_t>(*n));
}

Value first(Interpreter&, Arguments& given) {
  const Bound bound("first", given, {"seq"}, 1);
  Value item;
  return iterate_or_fault(bound[0])->next(item) ? item : Value::undefined("No first item, sequence was empty.");
}

// reversed(value) as a vector; nothing where Python raises TypeError.
std::optional<Values> backwards(const Value& value) {
  if (!value.is(Kind::string) && !value.is_sequence() && !value.is(Kind::dict) && !value.is(Kind::range) &&
      !value.is(Kind::view) && !value.is_undefined())
    return std::nullopt;
  Values items = to_vector(value);
  if (value.is_markup())  // read by index, unlike iteration, so the parts stay Markup
    for (Value& item : items) item = Value::string(item.text(), true);
  std::reverse(items.begin(), items.end());
  return items;
}

Value last(Interpreter&, Arguments& given) {
  const Bound bound("last", given, {"seq"}, 1);
  const auto items = backwards(bound[0]);
  if (!items) throw Fault{"'" + type_name(bound[0]) + "' object is not reversible"};
  return items->empty() ? Value::undefined("No last item, sequence was empty.") : items->front();
}

Value reverse(Interpreter&, Arguments& given) {
  const Bound bound("reverse", given, {"value"}, 1);
  const Value& value = bound[0];
  if (value.is(Kind::string)) {
    std::u32string points = decode(value.text());
    std::reverse(points.begin(), points.end());
    return Value::string(encode(points), value.is_markup());
  }
  if (const auto items = backwards(value))
    return generator("list_reverseiterator", value.depth() + 1,
                     [values = *items, at = std::size_t{0}](Value& out) mutable {
                       if (at == values.size()) return false;
                       out = values[at++];
                       return true;
                     });
  if (!iterate(value)) throw Fault{"argument must be iterable"};
  Values items = to_vector(value);
  std::reverse(items.begin(), items.end());
  return Value::list(std::move(items));
}

Value list(Interpreter&, Arguments& given) {
  const Bound bound("list", given, {"value"}, 1);
  return Value::list(to_vector(bound[0]));
}

Value join(Interpreter&, Arguments& given) {
  const Bound bound("join", given, {"value", "d", "attribute"}, 1);
  const std::string between = bound.has(1) ? str(bound[1]) : "";
  const AttributePath path(bound[2]);
  std::string out;
  bool begun = false;
  const auto items = iterate_or_fault(bound[0]);
  for (Value item; items->next(item);) {
    if (begun) out += between;
    begun = true;
    out += str(path.of(item));
    if (out.size() > (1u << 16)) expect_size(out.size() / 64);
    if (out.size() > (128u << 20)) expect_size(out.size());
  }
  return Value::string(std::move(out));
}

Value items_filter(Interpreter&, Arguments& given) {
  const Bound bound("items", given, {"value"}, 1);
  // Like all generators, it complains only when it is read.
  return generator("generator", bound[0].depth() + 1, [value = bound[0], at = std::size_t{0}](Value& out) mutable {
    if (value.is_undefined()) return false;
    if (!value.is(Kind::dict)) throw Fault{"Can only get item pairs from a mapping."};
    if (at == value.dict().entries.size()) return false;
    const auto& [key, item] = value.dict().entries[at++];
    out = Value::tuple({key, item});
    return true;
  });
}

struct Keyed {
  Value key, item;
};

void sort_by_key(std::vector<Keyed>& items, bool descending) {
  spend(items.size() * 4);
  std::stable_sort(items.begin(), items.end(), [&](const Keyed& a, const Keyed& b) {
    return descending ? less(b.key, a.key) : less(a.key, b.key);
  });
}

Value sort(Interpreter&, Arguments& given) {
  const Bound bound("sort", given, {"value", "reverse", "case_sensitive", "attribute"}, 1);
  const AttributePaths paths(bound[3]);
  const bool ignore_case = !bound.truth_or(2, false);
  std::vector<Keyed> items;
  for (const Value& item : to_vector(bound[0])) items.push_back({paths.key(item, ignore_case), item});
  sort_by_key(items, bound.truth_or(1, false));
  Values out;
  for (Keyed& item : items) out.push_back(std::move(item.item));
  return Value::list(std::move(out));
}

Value dict_sort(Interpreter&, Arguments& given) {
  const Bound bound("dictsort", given, {"value", "case_sensitive", "by", "reverse"}, 1);
  const std::string by = bound.has(2) ? str(bound[2]) : "key";
  if (by != "key" && by != "value") throw Fault{"You can only sort by either \"key\" or \"value\""};
  if (bound[0].is_undefined()) throw Fault{bound[0].hint()};
  if (!bound[0].is(Kind::dict)) throw Fault{"'" + type_name(bound[0]) + "' object has no attribute 'items'"};
  const bool exact = bound.truth_or(1, false);
  std::vector<Keyed> items;
  for (const auto& [key, value] : bound[0].dict().entries) {
    const Value& sorted_by = by == "key" ? key : value;
    items.push_back({exact ? sorted_by : without_case(sorted_by), Value::tuple({key, value})});
  }
  sort_by_key(items, bound.truth_or(3, false));
  Values out;
  for (Keyed& item : items) out.push_back(std::move(item.item));
  return Value::list(std::move(out));
}

Value unique(Interpreter&, Arguments& given) {
  const Bound bound("unique", given, {"value", "case_sensitive", "attribute"}, 1);
  const bool ignore_case = !bound.truth_or(1, false);
  struct State {
    AttributePath path;
    std::shared_ptr<Iterator> items;
    std::unordered_multimap<std::size_t, Value> seen;
  };
  auto state = std::make_shared<State>(State{AttributePath(bound[2]), nullptr, {}});
  return generator("generator", bound[0].depth() + 1, [state, value = bound[0], ignore_case](Value& out) {
    if (!state->items) state->items = iterate_or_fault(value);
    while (state->items->next(out)) {
      const Value found = state->path.of(out), key = ignore_case ? without_case(found) : found;
      const std::size_t code = hash(key);
      const auto [from, to] = state->seen.equal_range(code);
      if (std::any_of(from, to, [&](const auto& entry) { return equal(entry.second, key); })) continue;
      state->seen.emplace(code, key);
      return true;
    }
    return false;
  });
}

template <bool largest>
Value extreme(Interpreter&, Arguments& given) {
  const Bound bound(largest ? "max" : "min", given, {"value", "case_sensitive", "attribute"}, 1);
  const bool ignore_case = !bound.truth_or(1, false);
  const AttributePath path(bound[2]);
  Value best = Value::missing(), best_key;
  const auto items = iterate_or_fault(bound[0]);
  for (Value item; items->next(item);) {
    const Value found = path.of(item), key = ignore_case ? without_case(found) : found;
    if (!best.is(Kind::missing) && !(largest ? less(best_key, key, ">") : less(key, best_key))) continue;
    best = item;
    best_key = key;
  }
  return best.is(Kind::missing) ? Value::undefined("No aggregated item, sequence was empty.") : best;
}

Value sum(Interpreter&, Arguments& given) {
  const Bound bound("sum", given, {"iterable", "attribute", "start"}, 1);
  const AttributePath path(bound[1]);
  Value total = bound.has(2) ? bound[2] : Value::integer(0);
  if (total.is(Kind::string)) throw Fault{"sum() can't sum strings [use ''.join(seq) instead]"};
  const auto items = iterate_or_fault(bound[0]);
  for (Value item; items->next(item);) total = add(total, path.of(item));
  return total;
}

Value group_by(Interpreter&, Arguments& given) {
  const Bound bound("groupby", given, {"value", "attribute", "default", "case_sensitive"}, 2);
  const AttributePath path(bound[1]);
  const Value otherwise = bound.none(2) ? Value::missing() : bound[2];
  const bool exact = bound.truth_or(3, false);
  std::vector<Keyed> items;
  for (const Value& item : to_vector(bound[0])) {
    const Value key = path.of(item, otherwise);
    items.push_back({exact ? key : without_case(key), item});
  }
  sort_by_key(items, false);
  Values groups;
  for (std::size_t i = 0; i < items.size();) {
    std::size_t end = i + 1;
    Values members{items[i].item};
    while (end < items.size() && equal(items[i].key, items[end].key)) members.push_back(items[end++].item);
    groups.push_back(Value::group(exact ? items[i].key : path.of(members[0], otherwise), members));
    i = end;
  }
  return Value::list(std::move(groups));
}

Value batch(Interpreter&, Arguments& given) {
  const Bound bound("batch", given, {"value", "linecount", "fill_with"}, 2);
  struct State {
    std::shared_ptr<Iterator> items;
    Values pending;
    bool ended = false;
  };
  const Value fill = bound.none(2) ? Value::missing() : bound[2];
  return generator("generator", checked_depth(std::max(bound[0].depth(), fill.depth()) + 2),
                   [state = std::make_shared<State>(), value = bound[0], count = bound[1], fill](Value& out) {
                     if (!state->items) state->items = iterate_or_fault(value);
                     if (state->ended) return false;
                     const auto full = [&] {
                       return equal(Value::integer(static_cast<std::int64_t>(state->pending.size())), count);
                     };
                     for (Value item; state->items->next(item);) {
                       const bool ready = full();
                       if (ready) out = Value::list(std::exchange(state->pending, {}));
                       state->pending.push_back(item);
                       if (ready) return true;
                     }
                     state->ended = true;
                     if (state->pending.empty()) return false;
                     if (!fill.is(Kind::missing)) {
                       const std::int64_t wanted = as_index(count);
                       if (wanted > 1'000'000) throw Fault{"batches of more than 1000000 items are unsupported"};
                       while (static_cast<std::int64_t>(state->pending.size()) < wanted) state->pending.push_back(fill);
                     }
                     out = Value::list(std::exchange(state->pending, {}));
                     return true;
                   });
}

Value slice_filter(Interpreter&, Arguments& given) {
  const Bound bound("slice", given, {"value", "slices", "fill_with"}, 2);
  const Value fill = bound.none(2) ? Value::missing() : bound[2];
  struct State {
    Values items;
    std::int64_t count = -1, next = 0, offset = 0;
  };
  return generator("generator", checked_depth(std::max(bound[0].depth(), fill.depth()) + 2),
                   [state = std::make_shared<State>(), value = bound[0], slices = bound[1], fill](Value& out) {
                     if (state->count < 0) {
                       state->items = to_vector(value);
                       state->count = std::max<std::int64_t>(as_index(slices), 0);
                       if (as_index(slices) == 0) throw Fault{"integer division or modulo by zero"};
                     }
                     if (state->next == state->count) return false;
                     const auto size = static_cast<std::int64_t>(state->items.size());
                     const std::int64_t each = size / state->count, extra = size % state->count;
                     const std::int64_t begin = state->offset + state->next * each;
                     if (state->next < extra) ++state->offset;
                     const std::int64_t end = state->offset + (state->next + 1) * each;
                     Values part(state->items.begin() + begin, state->items.begin() + end);
                     if (!fill.is(Kind::missing) && state->next >= extra) part.push_back(fill);
                     ++state->next;
                     out = Value::list(std::move(part));
                     return true;
                   });
}

constexpr NamedFilter sequence_table[] = {
    {"count", length_filter}, {"length", length_filter},
    {"first", first},         {"last", last},
    {"reverse", reverse},     {"list", list},
    {"join", join},           {"items", items_filter},
    {"sort", sort},           {"dictsort", dict_sort},
    {"unique", unique},       {"min", extreme<false>},
    {"max", extreme<true>},   {"sum", sum},
    {"groupby", group_by},    {"batch", batch},
    {"slice", slice_filter},
};

}  // namespace

FilterTable sequence_filters() { return {std::begin(sequence_table), std::end(sequence_table)}; }

}  // namespace tilewright::hub::jinja
