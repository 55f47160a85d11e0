#include "hub/chat/scopes.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "hub/chat/filters.h"
#include "hub/chat/lexer.h"

namespace tilewright::hub::jinja {
namespace {

using Load = ScopePlan::Load;

struct Symbol {
  Load load;
  int slot = -1;
};

// What one scope knows of names while it is analysed, and its slots afterwards.
struct Symbols {
  explicit Symbols(const Symbols* outer) : parent(outer) {}
  const Symbols* parent;
  std::map<std::string, Symbol> names;
  std::set<std::string> stores;

  bool knows(const std::string& name) const { return names.count(name) || (parent && parent->knows(name)); }

  void load(const std::string& name) {
    if (!knows(name)) names[name] = {Load::context};
  }
  void store(const std::string& name) {
    stores.insert(name);
    if (!names.count(name)) names[name] = {parent && parent->knows(name) ? Load::outer : Load::unset};
  }
  void declare(const std::string& name) {
    stores.insert(name);
    names[name] = {Load::parameter};
  }
  void merge(const std::vector<Symbols>& branches) {
    std::set<std::string> stored;
    for (const Symbols& branch : branches)
      for (const std::string& name : branch.stores)
        if (!stores.count(name)) stored.insert(name);
    for (const Symbols& branch : branches) {
      for (const auto& [name, symbol] : branch.names) names[name] = symbol;
      stores.insert(branch.stores.begin(), branch.stores.end());
    }
    for (const std::string& name : stored) names[name] = {parent && parent->knows(name) ? Load::outer : Load::context};
  }

  Place place(const std::string& name) const {
    Place place{0, -1};
    for (const Symbols* scope = this; scope; scope = scope->parent, ++place.hops)
      if (const auto it = scope->names.find(name); it != scope->names.end()) {
        place.slot = it->second.slot;
        return place;
      }
    return {};
  }

  ScopePlan finish() {
    ScopePlan plan;
    for (auto& [name, symbol] : names) {
      symbol.slot = static_cast<int>(plan.slots.size());
      plan.slots.push_back({name, symbol.load, symbol.load == Load::outer ? parent->place(name) : Place{}});
    }
    return plan;
  }
};

void each_item(const Expression& node, const std::function<void(const Expression&)>& visit) {
  for (const auto& item : node.items)
    if (item) visit(*item);
  if (!node.arguments) return;
  for (const auto& item : node.arguments->positional) visit(*item);
  for (const auto& [_, item] : node.arguments->named) visit(*item);
  if (node.arguments->star) visit(*node.arguments->star);
  if (node.arguments->star_star) visit(*node.arguments->star_star);
}

// Every name in jinja2's order of fields; `stored` tells an assignment target or parameter from a use.
using NameVisitor = std::function<void(const std::string&, bool stored)>;

void each_name(const Expression& node, bool stored, const NameVisitor& visit) {
  if (node.operation == Operation::name) visit(node.text, stored);
  each_item(node, [&](const Expression& item) { each_name(item, stored, visit); });
}

void each_name(const Statements& body, const NameVisitor& visit);

void each_name(const Statement& node, const NameVisitor& visit) {
  const auto targets = [&] {
    for (const auto& target : node.targets) each_name(*target, true, visit);
  };
  const auto value = [&] {
    if (node.value) each_name(*node.value, false, visit);
  };
  if (node.tag == Tag::call) value();
  targets();
  for (const auto& item : node.expressions) each_name(*item, false, visit);
  if (node.tag != Tag::call && node.tag != Tag::filter) value();
  each_name(node.body, visit);
  for (const auto& branch : node.branches) each_name(*branch, visit);
  each_name(node.otherwise, visit);
  if (node.tag == Tag::filter) value();
  if (node.test) each_name(*node.test, false, visit);
}

void each_name(const Statements& body, const NameVisitor& visit) {
  for (const auto& node : body) each_name(*node, visit);
}

// Which of the names the body uses before it stores them itself.
std::set<std::string> undeclared(const Statements& body, std::set<std::string> names) {
  std::set<std::string> found;
  each_name(body, [&](const std::string& name, bool stored) {
    if (!stored && names.count(name))
      found.insert(name);
    else if (stored)
      names.erase(name);
  });
  return found;
}

// ---- what a scope loads and stores; nested scopes are entered for the expressions that run in this one only

void analyse(const Expression& node, Symbols& symbols) {
  if (node.operation == Operation::name || node.operation == Operation::namespace_item) symbols.load(node.text);
  each_item(node, [&](const Expression& item) { analyse(item, symbols); });
}

void analyse_target(const Expression& node, Symbols& symbols, bool parameter) {
  if (node.operation == Operation::name) {
    parameter ? symbols.declare(node.text) : symbols.store(node.text);
  } else if (node.operation == Operation::namespace_item) {
    symbols.load(node.text);
  }
  for (const auto& item : node.items) analyse_target(*item, symbols, parameter);
}

void analyse(const Statements& body, Symbols& symbols);

void analyse(const Statement& node, Symbols& symbols) {
  switch (node.tag) {
    case Tag::output:
    case Tag::with:
      for (const auto& item : node.expressions) analyse(*item, symbols);
      return;
    case Tag::for_loop:
    case Tag::call:
    case Tag::filter:
      analyse(*node.value, symbols);
      return;
    case Tag::set:
      analyse(*node.value, symbols);
      analyse_target(*node.targets[0], symbols, false);
      return;
    case Tag::set_block:
      analyse_target(*node.targets[0], symbols, false);
      return;
    case Tag::macro:
      symbols.store(node.name);
      return;
    case Tag::condition: {
      analyse(*node.value, symbols);
      std::vector<Symbols> branches(3, symbols);
      analyse(node.body, branches[0]);
      analyse(node.branches, branches[1]);
      analyse(node.otherwise, branches[2]);
      symbols.merge(branches);
      return;
    }
    default:
      return;
  }
}

void analyse(const Statements& body, Symbols& symbols) {
  for (const auto& node : body) analyse(*node, symbols);
}

ExpressionPtr copy_target(const Expression& node) {
  auto copy = std::make_unique<Expression>();
  copy->operation = node.operation;
  copy->line = node.line;
  copy->text = node.text;
  for (const auto& item : node.items) copy->items.push_back(copy_target(*item));
  return copy;
}

// ---- binding

class Binder {
 public:
  explicit Binder(const std::string& name) : name_(name) {}

  void run(Syntax& syntax) {
    Symbols root(nullptr);
    analyse(syntax.body, root);
    syntax.root = root.finish();
    bind(syntax.body, root);
  }

 private:
  void bind(Expression& node, const Symbols& symbols, bool lazy = false) {
    if (node.operation == Operation::name || node.operation == Operation::namespace_item)
      node.place = symbols.place(node.text);
    const bool filter = node.operation == Operation::filter;
    if ((filter || node.operation == Operation::test) && !lazy_ && !lazy &&
        !(filter ? is_filter(node.text) : is_test(node.text)))
      fail_at(name_, node.line, std::string("unsupported ") + (filter ? "filter" : "test") + " '" + node.text + "'");
    const bool inner = lazy || node.operation == Operation::conditional;
    for (auto& item : node.items)
      if (item) bind(*item, symbols, inner);
    if (!node.arguments) return;
    for (auto& item : node.arguments->positional) bind(*item, symbols, lazy);
    for (auto& [_, item] : node.arguments->named) bind(*item, symbols, lazy);
    if (node.arguments->star) bind(*node.arguments->star, symbols, lazy);
    if (node.arguments->star_star) bind(*node.arguments->star_star, symbols, lazy);
  }

  void bind(Statements& body, const Symbols& symbols) {
    for (auto& node : body) bind(*node, symbols);
  }

  // Inside an if, an unknown filter or test is an error only when it is reached; new scopes end that.
  template <typename Inner>
  void with_lazy(bool lazy, Inner inner) {
    const bool before = std::exchange(lazy_, lazy);
    inner();
    lazy_ = before;
  }

  void bind(Statement& node, const Symbols& symbols) {
    switch (node.tag) {
      case Tag::output:
        for (auto& item : node.expressions) bind(*item, symbols);
        return;
      case Tag::set:
        bind(*node.value, symbols);
        bind(*node.targets[0], symbols);
        return;
      case Tag::set_block: {
        bind(*node.targets[0], symbols);
        Symbols inner(&symbols);
        analyse(node.body, inner);
        if (node.value) analyse(*node.value, inner);
        node.body_scope = inner.finish();
        with_lazy(false, [&] {
          bind(node.body, inner);
          if (node.value) bind(*node.value, inner);
        });
        return;
      }
      case Tag::filter: {
        Symbols inner(&symbols);
        analyse(node.body, inner);
        analyse(*node.value, inner);
        node.body_scope = inner.finish();
        with_lazy(false, [&] {
          bind(node.body, inner);
          bind(*node.value, inner);
        });
        return;
      }
      case Tag::with: {
        for (auto& item : node.expressions) bind(*item, symbols);
        Symbols inner(&symbols);
        for (const auto& target : node.targets) analyse_target(*target, inner, true);
        analyse(node.body, inner);
        node.body_scope = inner.finish();
        for (auto& target : node.targets) bind(*target, inner);
        with_lazy(false, [&] { bind(node.body, inner); });
        return;
      }
      case Tag::generation: {
        Symbols inner(&symbols);
        analyse(node.body, inner);
        node.body_scope = inner.finish();
        with_lazy(false, [&] { bind(node.body, inner); });
        return;
      }
      case Tag::condition:
        with_lazy(true, [&] {
          bind(*node.value, symbols);
          bind(node.body, symbols);
          bind(node.branches, symbols);
          bind(node.otherwise, symbols);
        });
        return;
      case Tag::for_loop:
        bind_loop(node, symbols);
        return;
      case Tag::macro:
        node.place = symbols.place(node.name);
        bind_macro(node, symbols);
        return;
      case Tag::call:
        bind(*node.value, symbols);
        bind_macro(node, symbols);
        return;
      default:
        return;
    }
  }

  void bind_loop(Statement& node, const Symbols& symbols) {
    bind(*node.value, symbols);
    node.extended = node.recursive || undeclared(node.body, {"loop"}).count("loop");
    Symbols inner(&symbols), otherwise(&symbols), filter(&symbols);
    if (node.extended) inner.declare("loop");
    analyse_target(*node.targets[0], inner, true);
    analyse(node.body, inner);
    node.body_scope = inner.finish();
    if (node.extended) node.loop_slot = inner.place("loop").slot;
    analyse(node.otherwise, otherwise);
    node.else_scope = otherwise.finish();
    if (node.test) {
      analyse_target(*node.targets[0], filter, true);
      analyse(*node.test, filter);
      node.test_scope = filter.finish();
    }
    with_lazy(false, [&] {
      bind(*node.targets[0], inner);
      bind(node.body, inner);
      bind(node.otherwise, otherwise);
      if (node.test) {
        node.targets.push_back(copy_target(*node.targets[0]));  // the same names live elsewhere in the test's scope
        bind(*node.targets[1], filter);
        bind(*node.test, filter);
      }
    });
  }

  void bind_macro(Statement& node, const Symbols& symbols) {
    Symbols inner(&symbols);
    for (const auto& target : node.targets) inner.declare(target->text);
    const std::set<std::string> special = undeclared(node.body, {"caller", "kwargs", "varargs"});
    const auto parameter = [&](const char* word) {
      return std::any_of(node.targets.begin(), node.targets.end(),
                         [&](const auto& target) { return target->text == word; });
    };
    const auto declare = [&](const char* word) {
      if (!special.count(word) || parameter(word)) return false;
      inner.declare(word);
      return true;
    };
    if (special.count("caller") && parameter("caller")) {
      const auto at = std::find_if(node.targets.begin(), node.targets.end(),
                                   [](const auto& target) { return target->text == "caller"; });
      const auto behind = static_cast<std::size_t>(node.targets.end() - at);
      if (behind > node.expressions.size())
        fail_at(name_, node.line, "the parameter 'caller' must be omitted or be given a default");
    }
    node.explicit_caller = parameter("caller");
    const bool caller = declare("caller"), kwargs = declare("kwargs"), varargs = declare("varargs");
    for (const auto& item : node.expressions) analyse(*item, inner);
    analyse(node.body, inner);
    node.body_scope = inner.finish();
    if (caller) node.caller_slot = inner.place("caller").slot;
    if (kwargs) node.kwargs_slot = inner.place("kwargs").slot;
    if (varargs) node.varargs_slot = inner.place("varargs").slot;
    for (auto& target : node.targets) bind(*target, inner);
    with_lazy(false, [&] {
      for (auto& item : node.expressions) bind(*item, inner);
      bind(node.body, inner);
    });
  }

  const std::string& name_;
  bool lazy_ = false;
};

}  // namespace

void bind_names(Syntax& syntax, const std::string& name) { Binder(name).run(syntax); }

}  // namespace tilewright::hub::jinja
