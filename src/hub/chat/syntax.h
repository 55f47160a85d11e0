// The syntax tree of a template, with names already bound to places (see scopes.h).
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "hub/chat/value.h"

namespace tilewright::hub::jinja {

struct Expression;
using ExpressionPtr = std::unique_ptr<Expression>;
using Expressions = std::vector<ExpressionPtr>;

enum class Operation : std::uint8_t {
  constant,
  name,
  namespace_item,  // name.attribute as an assignment target
  tuple,
  list,
  dict,       // items: key, value, key, value …
  attribute,  // items[0].text
  subscript,  // items[0][items[1]]
  slice,      // items[0][items[1]:items[2]:items[3]], absent ones null
  call,       // items[0](arguments)
  filter,     // items[0]|text(arguments); items[0] null: the body of a filter or set block
  test,       // items[0] is text(arguments)
  negate,
  plus,
  logical_not,
  logical_and,
  logical_or,
  add,
  subtract,
  multiply,
  divide,
  floor_divide,
  modulo,
  power,
  concatenate,
  compare,      // items[0] relations[0] items[1] relations[1] items[2] …
  conditional,  // items[0] if items[1] else items[2]; items[2] may be null
};

enum class Relation : std::uint8_t { equal, not_equal, less, less_equal, greater, greater_equal, in, not_in };

// Where a name lives: `hops` scopes outward, slot `slot` there.
struct Place {
  int hops = -1;
  int slot = -1;
};

struct CallArguments {
  Expressions positional;
  std::vector<std::pair<std::string, ExpressionPtr>> named;
  ExpressionPtr star, star_star;
};

struct Expression {
  Operation operation;
  int line;
  int depth = 1;
  std::string text;       // name, attribute, filter, test
  std::string attribute;  // of namespace_item
  Value constant;
  Expressions items;
  std::vector<Relation> relations;
  std::unique_ptr<CallArguments> arguments;
  Place place;
};

// What a scope does when it is entered: its slots in order.
struct ScopePlan {
  enum class Load : std::uint8_t { parameter, context, outer, unset };
  struct Slot {
    std::string name;
    Load load;
    Place outer;
  };
  std::vector<Slot> slots;
};

struct Statement;
using Statements = std::vector<std::unique_ptr<Statement>>;

enum class Tag : std::uint8_t {
  output,
  for_loop,
  condition,
  macro,
  call,
  filter,
  set,
  set_block,
  with,
  generation,
  break_loop,
  continue_loop
};

struct Statement {
  Tag tag;
  int line;
  std::string name;         // macro
  Expressions expressions;  // output: what is written; with: values; macro, call: defaults of the last parameters
  Expressions targets;      // for, set, set_block: one; with, macro, call: parameters
  ExpressionPtr
      value;  // for: iterable; condition: test; set: value; set_block, filter: filter chain or null; call: the call
  ExpressionPtr test;      // for: the filter condition
  bool recursive = false;  // for
  bool extended = false;   // for: the loop variable is used
  Statements body, otherwise;
  std::vector<std::unique_ptr<Statement>> branches;  // condition: the elif parts, each a condition
  ScopePlan body_scope, test_scope, else_scope;
  Place place;  // macro: where its value is stored
  int caller_slot = -1, kwargs_slot = -1, varargs_slot = -1, loop_slot = -1;
  bool explicit_caller = false;
};

struct Syntax {
  Statements body;
  ScopePlan root;
};

}  // namespace tilewright::hub::jinja
