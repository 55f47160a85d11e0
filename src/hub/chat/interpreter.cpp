#include "hub/chat/interpreter.h"

#include "hub/chat/attributes.h"
#include "hub/chat/filters.h"
#include "hub/chat/globals.h"
#include "hub/chat/lexer.h"
#include "hub/chat/loop_variable.h"
#include "hub/chat/operators.h"
#include "hub/chat/text_form.h"

namespace tilewright::hub::jinja {
namespace {

struct Macro : Function {
  Macro(const Statement& statement, ScopePtr outer)
      : Function(sizeof(Macro), 1), node(statement), scope(std::move(outer)) {}
  Value call(Interpreter& interpreter, Arguments arguments) override {
    return interpreter.call_macro(node, scope, std::move(arguments));
  }
  Value attribute(std::string_view name) override {
    if (name == "name") return node.tag == Tag::macro ? Value::string(node.name) : Value::none();
    if (name == "catch_kwargs") return Value::boolean(node.kwargs_slot >= 0);
    if (name == "catch_varargs") return Value::boolean(node.varargs_slot >= 0);
    if (name == "caller") return Value::boolean(node.caller_slot >= 0);
    if (name != "arguments") return Value::missing();
    Values names;
    for (const auto& target : node.targets) names.push_back(Value::string(target->text));
    return Value::tuple(std::move(names));
  }
  std::string representation() const override {
    return node.tag == Tag::macro ? "<Macro " + repr_of_text(node.name) + ">" : "<Macro anonymous>";
  }
  const Statement& node;
  ScopePtr scope;
};

}  // namespace

struct Interpreter::Depth {
  explicit Depth(Interpreter& owner) : interpreter(owner) {
    if (++interpreter.call_depth_ > interpreter.budget_.call_depth) {
      --interpreter.call_depth_;
      throw Fault{"macros or recursive loops call each other more than 200 levels deep"};
    }
  }
  ~Depth() { --interpreter.call_depth_; }
  Interpreter& interpreter;
};

Interpreter::Interpreter(const Syntax& syntax, const std::string& name,
                         std::unordered_map<std::string, Value> variables, const Budget& budget)
    : syntax_(syntax), name_(name), variables_(std::move(variables)), budget_(budget) {}

Interpreter::~Interpreter() {
  // Scopes and namespaces may hold each other; all are kept alive while each is emptied.
  std::vector<ScopePtr> scopes;
  for (auto& scope : captured_)
    if (auto alive = scope.lock()) scopes.push_back(std::move(alive));
  for (auto& scope : scopes) scope->slots.clear();
  for (auto& space : namespaces_) space->attributes.clear();
}

std::string Interpreter::run() {
  struct Installed {
    explicit Installed(Budget* budget) : before(std::exchange(current_budget, budget)) {}
    ~Installed() { current_budget = before; }
    Budget* before;
  } const installed(&budget_);
  stack_base_ = static_cast<const char*>(__builtin_frame_address(0));
  try {
    execute(syntax_.body, enter(syntax_.root, nullptr));
  } catch (const Fault& fault) {
    fail_at(name_, line_, fault.message);
  }
  return std::move(output_);
}

void Interpreter::check_stack() const {
  const auto used = stack_base_ - static_cast<const char*>(__builtin_frame_address(0));
  if (static_cast<std::size_t>(used < 0 ? -used : used) > budget_.stack_bytes)
    throw Fault{"the template is nested too deeply"};
}

ScopePtr Interpreter::enter(const ScopePlan& plan, const ScopePtr& parent) {
  auto scope = std::make_shared<Scope>(plan.slots.size(), parent);
  for (std::size_t i = 0; i < plan.slots.size(); ++i) {
    const auto& slot = plan.slots[i];
    if (slot.load == ScopePlan::Load::outer) {
      scope->slots[i] = at(parent, slot.outer);
    } else if (slot.load == ScopePlan::Load::context) {
      const auto it = variables_.find(slot.name);
      scope->slots[i] = it != variables_.end() ? it->second : find_global(slot.name);
    }
  }
  return scope;
}

Value& Interpreter::at(const ScopePtr& scope, Place place) const {
  Scope* target = scope.get();
  for (int i = 0; i < place.hops; ++i) target = target->parent.get();
  return target->slots[static_cast<std::size_t>(place.slot)];
}

void Interpreter::write(const std::string& text) {
  spend(text.size() / 64);
  if (out_->size() + text.size() > budget_.output_bytes) throw Fault{"the rendered text is too long"};
  *out_ += text;
}

template <typename Inner>
std::string Interpreter::capture(Inner inner, Flow* flow) {
  std::string text;
  std::string* before = std::exchange(out_, &text);
  struct Restore {
    std::string*& out;
    std::string* before;
    ~Restore() { out = before; }
  } const restore{out_, before};
  const Flow end = inner();
  if (flow) *flow = end;
  return text;
}

Interpreter::Flow Interpreter::execute(const Statements& body, const ScopePtr& scope) {
  check_stack();
  for (const auto& node : body)
    if (const Flow flow = execute(*node, scope); flow != Flow::next) return flow;
  return Flow::next;
}

Interpreter::Flow Interpreter::execute(const Statement& node, const ScopePtr& scope) {
  spend(1);
  line_ = node.line;
  switch (node.tag) {
    case Tag::output:
      for (const auto& item : node.expressions) {
        if (item->operation == Operation::constant && item->constant.is(Kind::string))
          write(item->constant.text());
        else
          write(str(evaluate(*item, scope)));
      }
      return Flow::next;
    case Tag::condition:
      return execute_condition(node, scope);
    case Tag::for_loop: {
      const Value iterable = evaluate(*node.value, scope);
      line_ = node.line;
      if (!node.recursive) return loop(node, scope, iterable, 0);
      write(run_loop_again(node, scope, iterable, 0));
      return Flow::next;
    }
    case Tag::set: {
      check_namespaces(*node.targets[0], scope);
      const Value value = evaluate(*node.value, scope);
      line_ = node.line;
      assign(*node.targets[0], value, scope);
      return Flow::next;
    }
    case Tag::macro:
      at(scope, node.place) = make_macro(node, scope);
      return Flow::next;
    case Tag::break_loop:
      return Flow::break_loop;
    case Tag::continue_loop:
      return Flow::continue_loop;
    default:
      return execute_block(node, scope);
  }
}

Interpreter::Flow Interpreter::execute_condition(const Statement& node, const ScopePtr& scope) {
  if (truth(evaluate(*node.value, scope))) return execute(node.body, scope);
  for (const auto& branch : node.branches)
    if (truth(evaluate(*branch->value, scope))) return execute(branch->body, scope);
  return execute(node.otherwise, scope);
}

Interpreter::Flow Interpreter::execute_block(const Statement& node, const ScopePtr& scope) {
  switch (node.tag) {
    case Tag::with: {
      const ScopePtr inner = enter(node.body_scope, scope);
      for (std::size_t i = 0; i < node.targets.size(); ++i)
        assign(*node.targets[i], evaluate(*node.expressions[i], scope), inner);
      return execute(node.body, inner);
    }
    case Tag::generation: {
      const ScopePtr inner = enter(node.body_scope, scope);
      write(capture([&] { return execute(node.body, inner); }));
      return Flow::next;
    }
    case Tag::call: {
      const Value caller = make_macro(node, scope);
      write(str(evaluate_call(*node.value, scope, &caller)));
      return Flow::next;
    }
    default:
      break;  // filter and set blocks
  }
  const ScopePtr inner = enter(node.body_scope, scope);
  Flow flow = Flow::next;
  const std::string text = capture([&] { return execute(node.body, inner); }, &flow);
  if (flow != Flow::next) return flow;
  line_ = node.line;
  Value value;
  if (node.value) {
    const std::string* before = std::exchange(block_body_, &text);
    value = evaluate(*node.value, inner);
    block_body_ = before;
  } else {
    value = Value::string(text);
  }
  if (node.tag == Tag::filter)
    write(str(value));
  else {
    if (node.targets[0]->operation == Operation::namespace_item) check_namespaces(*node.targets[0], scope);
    assign(*node.targets[0], value, scope);
  }
  return Flow::next;
}

std::string Interpreter::run_loop_again(const Statement& node, const ScopePtr& scope, const Value& iterable,
                                        std::int64_t depth) {
  const Depth guard(*this);
  check_stack();
  return capture([&] { return loop(node, scope, iterable, depth); });
}

Interpreter::Flow Interpreter::loop(const Statement& node, const ScopePtr& scope, const Value& iterable,
                                    std::int64_t depth) {
  std::shared_ptr<Iterator> items = iterate_or_fault(iterable);
  Value source = iterable;
  if (node.test) {
    struct Filtered : Iterator {
      Filtered(Interpreter& owner, const Statement& loop_node, ScopePtr outer, std::shared_ptr<Iterator> all)
          : Iterator(sizeof(Filtered), checked_depth(all->depth + 1)),
            interpreter(owner),
            node(loop_node),
            scope(std::move(outer)),
            from(std::move(all)) {}
      bool next(Value& out) override {
        while (from->next(out)) {
          const ScopePtr inner = interpreter.enter(node.test_scope, scope);
          if (node.targets[1]->operation == Operation::tuple && iterate(out)) out = Value::tuple(to_vector(out));
          interpreter.assign(*node.targets[1], out, inner);
          if (truth(interpreter.evaluate(*node.test, inner))) return true;
        }
        return false;
      }
      std::string_view type_name() const override { return "generator"; }
      Interpreter& interpreter;
      const Statement& node;
      ScopePtr scope;
      std::shared_ptr<Iterator> from;
    };
    items = std::make_shared<Filtered>(*this, node, scope, std::move(items));
    source = Value::missing();  // the length is known only by reading to the end
  }
  std::shared_ptr<LoopVariable> variable;
  if (node.extended) {
    std::function<Value(const Value&, std::int64_t)> again;
    if (node.recursive)
      again = [this, &node, scope](const Value& inner, std::int64_t level) {
        return Value::string(run_loop_again(node, scope, inner, level));
      };
    variable = std::make_shared<LoopVariable>(source, items, depth, std::move(again));
  }
  bool completed = false;  // jinja2 runs the else part unless some turn reached the end of the body
  Value item;
  while (variable ? variable->advance(item) : items->next(item)) {
    spend(1);
    const ScopePtr inner = enter(node.body_scope, scope);
    line_ = node.line;
    assign(*node.targets[0], item, inner);
    if (variable) inner->slots[static_cast<std::size_t>(node.loop_slot)] = Value::of(Kind::function, variable);
    const Flow flow = execute(node.body, inner);
    if (flow == Flow::break_loop) break;
    if (flow == Flow::next) completed = true;
  }
  if (completed || node.otherwise.empty()) return Flow::next;
  return execute(node.otherwise, enter(node.else_scope, scope));
}

void Interpreter::check_namespaces(const Expression& target, const ScopePtr& scope) {
  if (target.operation == Operation::namespace_item && !at(scope, target.place).is(Kind::name_space))
    throw Fault{"cannot assign attribute on non-namespace object"};
  for (const auto& item : target.items) check_namespaces(*item, scope);
}

void Interpreter::assign(const Expression& target, const Value& value, const ScopePtr& scope) {
  if (target.operation == Operation::name) {
    at(scope, target.place) = value;
  } else if (target.operation == Operation::namespace_item) {
    const Value space = at(scope, target.place);
    if (!space.is(Kind::name_space)) throw Fault{"cannot assign attribute on non-namespace object"};
    if (target.attribute.starts_with('_'))
      throw Fault{"a namespace cannot hold names that start with '_': " + target.attribute};
    space.name_space().set(target.attribute, value);
  } else {
    const auto items = iterate(value);
    if (!items) throw Fault{"cannot unpack non-iterable " + type_name(value) + " object"};
    Values parts;
    for (Value part; parts.size() <= target.items.size() && items->next(part);) parts.push_back(part);
    if (parts.size() > target.items.size())
      throw Fault{"too many values to unpack (expected " + std::to_string(target.items.size()) + ")"};
    if (parts.size() < target.items.size())
      throw Fault{"not enough values to unpack (expected " + std::to_string(target.items.size()) + ", got " +
                  std::to_string(parts.size()) + ")"};
    for (std::size_t i = 0; i < parts.size(); ++i) assign(*target.items[i], parts[i], scope);
  }
}

Value Interpreter::make_macro(const Statement& node, const ScopePtr& scope) {
  captured_.push_back(scope);
  return Value::of(Kind::function, std::make_shared<Macro>(node, scope));
}

Value Interpreter::call_macro(const Statement& node, const ScopePtr& outer, Arguments arguments) {
  const Depth guard(*this);
  check_stack();
  const ScopePtr scope = enter(node.body_scope, outer);
  const auto slot = [&](int index) -> Value& { return scope->slots[static_cast<std::size_t>(index)]; };
  const std::size_t parameters = node.targets.size();
  const auto take_named = [&](const std::string& name) {
    for (auto it = arguments.named.begin(); it != arguments.named.end(); ++it)
      if (it->first == name) {
        Value value = std::move(it->second);
        arguments.named.erase(it);
        return value;
      }
    return Value::missing();
  };
  Values given;
  for (std::size_t i = 0; i < std::min(parameters, arguments.positional.size()); ++i)
    given.push_back(arguments.positional[i]);
  bool found_caller = given.size() == parameters && node.explicit_caller;
  while (given.size() < parameters) {
    const std::string& name = node.targets[given.size()]->text;
    if (name == "caller") found_caller = true;
    given.push_back(take_named(name));
  }
  if (node.caller_slot >= 0 && !found_caller) {
    const Value caller = take_named("caller");
    slot(node.caller_slot) =
        caller.is(Kind::missing) || caller.is(Kind::none) ? Value::undefined("No caller defined") : caller;
  }
  const std::string who = "macro " + repr_of_text(node.name);
  if (node.kwargs_slot >= 0) {
    std::vector<std::pair<Value, Value>> rest;
    for (auto& [name, value] : arguments.named) rest.emplace_back(Value::string(name), std::move(value));
    slot(node.kwargs_slot) = Value::dict(std::move(rest));
  } else if (!arguments.named.empty()) {
    throw Fault{who + " takes no keyword argument " + repr_of_text(arguments.named[0].first)};
  }
  if (node.varargs_slot >= 0) {
    slot(node.varargs_slot) = Value::tuple(
        arguments.positional.size() > parameters
            ? Values(arguments.positional.begin() + static_cast<std::ptrdiff_t>(parameters), arguments.positional.end())
            : Values{});
  } else if (arguments.positional.size() > parameters) {
    throw Fault{who + " takes not more than " + std::to_string(parameters) + " argument(s)"};
  }
  for (std::size_t i = 0; i < parameters; ++i) at(scope, node.targets[i]->place) = given[i];
  const std::size_t without_default = parameters - node.expressions.size();
  for (std::size_t i = 0; i < parameters; ++i) {
    Value& value = at(scope, node.targets[i]->place);
    if (!value.is(Kind::missing)) continue;
    if (i < without_default)
      value = Value::undefined("parameter " + repr_of_text(node.targets[i]->text) + " was not provided");
    else
      value = evaluate(*node.expressions[i - without_default], scope);
  }
  return Value::string(capture([&] { return execute(node.body, scope); }));
}

Value Interpreter::call(const Value& callee, Arguments arguments) {
  if (callee.is_undefined()) throw Fault{callee.hint()};
  if (!callee.is(Kind::function)) throw Fault{"'" + type_name(callee) + "' object is not callable"};
  const Value alive = callee;
  return alive.function().call(*this, std::move(arguments));
}

Value Interpreter::apply_filter(const std::string& name, Arguments arguments) {
  const Filter filter = find_filter(name);
  if (!filter) throw Fault{"no filter named " + repr_of_text(name)};
  return filter(*this, arguments);
}

bool Interpreter::apply_test(const std::string& name, Arguments arguments) {
  const Test test = find_test(name);
  if (!test) throw Fault{"no test named " + repr_of_text(name)};
  return test(*this, arguments);
}

}  // namespace tilewright::hub::jinja
