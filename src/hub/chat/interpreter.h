// Runs a bound syntax tree over variables. One interpreter renders once, on one thread.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "hub/chat/syntax.h"

namespace tilewright::hub::jinja {

// The run-time form of a ScopePlan.
struct Scope : Metered {
  Scope(std::size_t count, std::shared_ptr<Scope> outer)
      : Metered(sizeof(Scope) + count * sizeof(Value)), slots(count, Value::missing()), parent(std::move(outer)) {}
  Values slots;
  std::shared_ptr<Scope> parent;
};
using ScopePtr = std::shared_ptr<Scope>;

class Interpreter {
 public:
  // All are kept by reference or value for the time of run(). `name` stands in errors.
  Interpreter(const Syntax& syntax, const std::string& name, std::unordered_map<std::string, Value> variables,
              const Budget& budget);
  ~Interpreter();

  // Throws Error with template name and line for everything that Python raises, and when the budget is used up.
  std::string run();

  // For filters, methods and macros. They throw Fault.
  Value call(const Value& callee, Arguments arguments);
  Value apply_filter(const std::string& name, Arguments arguments);
  bool apply_test(const std::string& name, Arguments arguments);
  Value call_macro(const Statement& node, const ScopePtr& outer, Arguments arguments);
  std::string run_loop_again(const Statement& node, const ScopePtr& scope, const Value& iterable, std::int64_t depth);
  // Namespaces may form cycles; registered ones are emptied at the end.
  void keep(std::shared_ptr<Namespace> space) { namespaces_.push_back(std::move(space)); }

 private:
  enum class Flow : std::uint8_t { next, break_loop, continue_loop };
  struct Depth;

  ScopePtr enter(const ScopePlan& plan, const ScopePtr& parent);
  Value& at(const ScopePtr& scope, Place place) const;
  void write(const std::string& text);
  template <typename Inner>
  std::string capture(Inner inner, Flow* flow = nullptr);
  void check_stack() const;

  Flow execute(const Statements& body, const ScopePtr& scope);
  Flow execute(const Statement& node, const ScopePtr& scope);
  Flow execute_condition(const Statement& node, const ScopePtr& scope);
  Flow execute_block(const Statement& node, const ScopePtr& scope);
  Flow loop(const Statement& node, const ScopePtr& scope, const Value& iterable, std::int64_t depth);
  void assign(const Expression& target, const Value& value, const ScopePtr& scope);
  void check_namespaces(const Expression& target, const ScopePtr& scope);
  Value make_macro(const Statement& node, const ScopePtr& scope);

  Value evaluate(const Expression& node, const ScopePtr& scope);
  Value evaluate_name(const Expression& node, const ScopePtr& scope);
  Value evaluate_binary(const Expression& node, const ScopePtr& scope);
  Value evaluate_container(const Expression& node, const ScopePtr& scope);
  Value evaluate_compare(const Expression& node, const ScopePtr& scope);
  Value evaluate_access(const Expression& node, const ScopePtr& scope);
  Value evaluate_conditional(const Expression& node, const ScopePtr& scope);
  Value evaluate_call(const Expression& node, const ScopePtr& scope, const Value* caller = nullptr);
  Value evaluate_filter(const Expression& node, const ScopePtr& scope);
  Arguments arguments(const CallArguments* node, const ScopePtr& scope, const Expression* first);

  const Syntax& syntax_;
  const std::string& name_;
  std::unordered_map<std::string, Value> variables_;
  Budget budget_;
  std::string output_;
  std::string* out_ = &output_;
  const std::string* block_body_ = nullptr;  // what a filter chain without a value applies to
  int line_ = 1;
  int call_depth_ = 0;
  const char* stack_base_ = nullptr;
  std::vector<std::weak_ptr<Scope>> captured_;
  std::vector<std::shared_ptr<Namespace>> namespaces_;
};

}  // namespace tilewright::hub::jinja
