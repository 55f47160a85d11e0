// The expression half of the interpreter.
#include "hub/chat/attributes.h"
#include "hub/chat/interpreter.h"
#include "hub/chat/operators.h"
#include "hub/chat/text_form.h"

namespace tilewright::hub::jinja {
Value Interpreter::evaluate(const Expression& node, const ScopePtr& scope) {
  spend(1);
  check_stack();
  line_ = node.line;
  switch (node.operation) {
    case Operation::constant:
      return node.constant;
    case Operation::name:
    case Operation::namespace_item:
      return evaluate_name(node, scope);
    case Operation::tuple:
    case Operation::list:
    case Operation::dict:
    case Operation::concatenate:
      return evaluate_container(node, scope);
    case Operation::attribute:
    case Operation::subscript:
    case Operation::slice:
      return evaluate_access(node, scope);
    case Operation::call:
      return evaluate_call(node, scope);
    case Operation::filter:
    case Operation::test:
      return evaluate_filter(node, scope);
    case Operation::logical_not:
      return Value::boolean(!truth(evaluate(*node.items[0], scope)));
    case Operation::logical_and: {
      Value left = evaluate(*node.items[0], scope);
      return truth(left) ? evaluate(*node.items[1], scope) : left;
    }
    case Operation::logical_or: {
      Value left = evaluate(*node.items[0], scope);
      return truth(left) ? left : evaluate(*node.items[1], scope);
    }
    case Operation::compare:
      return evaluate_compare(node, scope);
    case Operation::conditional:
      return evaluate_conditional(node, scope);
    default:
      return evaluate_binary(node, scope);
  }
}

Value Interpreter::evaluate_name(const Expression& node, const ScopePtr& scope) {
  const Value& value = at(scope, node.place);
  return value.is(Kind::missing) ? Value::undefined(repr_of_text(node.text) + " is undefined") : value;
}

Value Interpreter::evaluate_conditional(const Expression& node, const ScopePtr& scope) {
  if (truth(evaluate(*node.items[1], scope))) return evaluate(*node.items[0], scope);
  if (node.items[2]) return evaluate(*node.items[2], scope);
  return Value::undefined("the inline if-expression evaluated to false and no else section was defined");
}

Value Interpreter::evaluate_binary(const Expression& node, const ScopePtr& scope) {
  const Value a = evaluate(*node.items[0], scope);
  const Value b = node.items.size() > 1 ? evaluate(*node.items[1], scope) : Value();
  line_ = node.line;
  switch (node.operation) {
    case Operation::negate:
      return negate(a);
    case Operation::plus:
      return plus(a);
    case Operation::add:
      return add(a, b);
    case Operation::subtract:
      return subtract(a, b);
    case Operation::multiply:
      return multiply(a, b);
    case Operation::divide:
      return divide(a, b);
    case Operation::floor_divide:
      return floor_divide(a, b);
    case Operation::modulo:
      return modulo(a, b);
    default:
      return power(a, b);
  }
}

Value Interpreter::evaluate_container(const Expression& node, const ScopePtr& scope) {
  if (node.operation == Operation::concatenate) {
    Values parts;
    for (const auto& item : node.items) parts.push_back(evaluate(*item, scope));
    line_ = node.line;
    std::string text;
    for (const Value& part : parts) {
      if (part.is(Kind::string))
        text += part.text();
      else
        text += str(part);
      if (text.size() > 4096) expect_size(text.size());
    }
    return Value::string(std::move(text));
  }
  if (node.operation == Operation::dict) {
    std::vector<std::pair<Value, Value>> entries;
    for (std::size_t i = 0; i + 1 < node.items.size(); i += 2) {
      Value key = evaluate(*node.items[i], scope);
      entries.emplace_back(std::move(key), evaluate(*node.items[i + 1], scope));
    }
    line_ = node.line;
    return Value::dict(std::move(entries));
  }
  Values items;
  for (const auto& item : node.items) items.push_back(evaluate(*item, scope));
  line_ = node.line;
  return node.operation == Operation::list ? Value::list(std::move(items)) : Value::tuple(std::move(items));
}

Value Interpreter::evaluate_compare(const Expression& node, const ScopePtr& scope) {
  Value left = evaluate(*node.items[0], scope);
  bool holds = true;
  for (std::size_t i = 0; i < node.relations.size(); ++i) {
    Value right = evaluate(*node.items[i + 1], scope);
    line_ = node.line;
    switch (node.relations[i]) {
      case Relation::equal:
        holds = equal(left, right);
        break;
      case Relation::not_equal:
        holds = !equal(left, right);
        break;
      case Relation::less:
        holds = less(left, right, "<");
        break;
      case Relation::greater:
        holds = less(right, left, ">");
        break;
      case Relation::less_equal:
        holds = at_most(left, right, "<=");
        break;
      case Relation::greater_equal:
        holds = at_most(right, left, ">=");
        break;
      case Relation::in:
        holds = contains(right, left);
        break;
      case Relation::not_in:
        holds = !contains(right, left);
        break;
    }
    if (!holds) return Value::boolean(false);
    left = std::move(right);
  }
  return Value::boolean(true);
}

Value Interpreter::evaluate_access(const Expression& node, const ScopePtr& scope) {
  const Value owner = evaluate(*node.items[0], scope);
  if (node.operation == Operation::attribute) {
    line_ = node.line;
    return get_attribute(owner, node.text);
  }
  if (node.operation == Operation::subscript) {
    const Value index = evaluate(*node.items[1], scope);
    line_ = node.line;
    return get_item(owner, index);
  }
  Value bounds[3] = {Value::none(), Value::none(), Value::none()};
  for (std::size_t i = 0; i < 3; ++i)
    if (node.items[i + 1]) bounds[i] = evaluate(*node.items[i + 1], scope);
  line_ = node.line;
  return slice(owner, bounds[0], bounds[1], bounds[2]);
}

Arguments Interpreter::arguments(const CallArguments* node, const ScopePtr& scope, const Expression* first) {
  Arguments out;
  if (first) out.positional.push_back(evaluate(*first, scope));
  if (!node) return out;
  for (const auto& item : node->positional) out.positional.push_back(evaluate(*item, scope));
  for (const auto& [name, item] : node->named) out.named.emplace_back(name, evaluate(*item, scope));
  if (node->star) {
    const Values more = to_vector(evaluate(*node->star, scope));
    out.positional.insert(out.positional.end(), more.begin(), more.end());
  }
  if (node->star_star) {
    const Value more = evaluate(*node->star_star, scope);
    if (!more.is(Kind::dict)) throw Fault{"argument after ** must be a mapping, not " + type_name(more)};
    for (const auto& [key, value] : more.dict().entries) {
      if (!key.is(Kind::string)) throw Fault{"keywords must be strings"};
      for (const auto& [name, _] : out.named)
        if (name == key.text()) throw Fault{"got multiple values for keyword argument '" + name + "'"};
      out.named.emplace_back(key.text(), value);
    }
  }
  return out;
}

Value Interpreter::evaluate_call(const Expression& node, const ScopePtr& scope, const Value* caller) {
  const Value callee = evaluate(*node.items[0], scope);
  Arguments given = arguments(node.arguments.get(), scope, nullptr);
  if (caller) {
    for (const auto& [name, _] : given.named)
      if (name == "caller") throw Fault{"got multiple values for keyword argument 'caller'"};
    given.named.emplace_back("caller", *caller);
  }
  line_ = node.line;
  return call(callee, std::move(given));
}

Value Interpreter::evaluate_filter(const Expression& node, const ScopePtr& scope) {
  Arguments given;
  if (node.items[0]) {
    given = arguments(node.arguments.get(), scope, node.items[0].get());
  } else {
    given = arguments(node.arguments.get(), scope, nullptr);
    given.positional.insert(given.positional.begin(), Value::string(block_body_ ? *block_body_ : ""));
  }
  line_ = node.line;
  if (node.operation == Operation::filter) return apply_filter(node.text, std::move(given));
  return Value::boolean(apply_test(node.text, std::move(given)));
}

}  // namespace tilewright::hub::jinja
