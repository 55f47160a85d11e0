#include "hub/chat/loop_variable.h"

#include <fmt/format.h>

#include "hub/chat/arguments.h"
#include "hub/chat/attributes.h"

namespace tilewright::hub::jinja {
namespace {

// What length() falls back to: the rest of an iterator, read ahead.
struct ReadAhead : Iterator {
  explicit ReadAhead(Values read)
      : Iterator(sizeof(ReadAhead) + read.size() * sizeof(Value), 1), items(std::move(read)) {}
  bool next(Value& out) override {
    if (at == items.size()) return false;
    out = items[at++];
    return true;
  }
  std::string_view type_name() const override { return "list_iterator"; }
  Values items;
  std::size_t at = 0;
};

}  // namespace

LoopVariable::LoopVariable(const Value& iterable, std::shared_ptr<Iterator> items, std::int64_t level,
                           std::function<Value(const Value&, std::int64_t)> again)
    : Function(sizeof(LoopVariable), checked_depth(iterable.depth() + 2)),
      items_(std::move(items)),
      length_(iterable.is(Kind::missing) ? std::nullopt : length(iterable)),
      level_(level),
      again_(std::move(again)) {}

bool LoopVariable::peek() {
  if (after_.is(Kind::missing) && !items_->next(after_)) after_ = Value::missing();
  return !after_.is(Kind::missing);
}

bool LoopVariable::advance(Value& item) {
  spend(1);
  if (!peek()) return false;
  item = std::exchange(after_, Value::missing());
  ++index0_;
  before_ = std::exchange(current_, item);
  return true;
}

std::int64_t LoopVariable::count() {
  if (!length_) {
    Values rest;
    for (Value item; items_->next(item);) rest.push_back(item);
    length_ = rest.size() + static_cast<std::size_t>(index0_ + 1) + (after_.is(Kind::missing) ? 0 : 1);
    items_ = std::make_shared<ReadAhead>(std::move(rest));
  }
  return static_cast<std::int64_t>(*length_);
}

Value LoopVariable::call(Interpreter&, Arguments arguments) {
  const Bound bound("loop", arguments, {"iterable"}, 1);
  if (!again_) throw Fault{"the loop must have the 'recursive' marker to be called recursively"};
  return again_(bound[0], level_ + 1);
}

Value LoopVariable::attribute(std::string_view name) {
  if (name == "index0") return Value::integer(index0_);
  if (name == "index") return Value::integer(index0_ + 1);
  if (name == "first") return Value::boolean(index0_ == 0);
  if (name == "last") return Value::boolean(!peek());
  if (name == "length") return Value::integer(count());
  if (name == "revindex") return Value::integer(count() - index0_);
  if (name == "revindex0") return Value::integer(count() - index0_ - 1);
  if (name == "depth") return Value::integer(level_ + 1);
  if (name == "depth0") return Value::integer(level_);
  if (name == "previtem") return index0_ == 0 ? Value::undefined("there is no previous item") : before_;
  if (name == "nextitem") return peek() ? after_ : Value::undefined("there is no next item");
  if (name == "cycle")
    return make_function("cycle", [at = index0_](Interpreter&, Arguments& arguments) {
      if (arguments.positional.empty()) throw Fault{"no items for cycling given"};
      return arguments.positional[static_cast<std::size_t>(at) % arguments.positional.size()];
    });
  if (name == "changed")
    return make_function("changed", [last = last_changed_](Interpreter&, Arguments& arguments) {
      const Value now = Value::tuple(arguments.positional);
      if (!last->is(Kind::missing) && equal(*last, now)) return Value::boolean(false);
      *last = now;
      return Value::boolean(true);
    });
  return Value::missing();
}

std::string LoopVariable::representation() const {
  return fmt::format("<LoopContext {}/{}>", index0_ + 1, length_ ? *length_ : 0);
}

}  // namespace tilewright::hub::jinja
