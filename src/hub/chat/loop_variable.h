// The variable `loop` of a for loop.
#pragma once

#include <functional>

#include "hub/chat/value.h"

namespace tilewright::hub::jinja {

struct LoopVariable : Function {
  // `again` renders the loop over another iterable one level deeper; empty unless the loop is recursive.
  LoopVariable(const Value& iterable, std::shared_ptr<Iterator> items, std::int64_t level,
               std::function<Value(const Value&, std::int64_t)> again);

  bool advance(Value& item);  // the next turn; false at the end

  Value call(Interpreter& interpreter, Arguments arguments) override;
  Value attribute(std::string_view name) override;
  std::string representation() const override;

 private:
  std::int64_t count();
  bool peek();

  std::shared_ptr<Iterator> items_;
  std::optional<std::size_t> length_;
  std::int64_t index0_ = -1, level_;
  Value after_ = Value::missing(), current_ = Value::missing(), before_ = Value::missing();
  std::shared_ptr<Value> last_changed_ = std::make_shared<Value>(Value::missing());
  std::function<Value(const Value&, std::int64_t)> again_;
};

}  // namespace tilewright::hub::jinja
