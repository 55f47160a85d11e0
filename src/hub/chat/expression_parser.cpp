#include "hub/chat/expression_parser.h"

#include <algorithm>

namespace tilewright::hub::jinja {
namespace {
constexpr int deepest_expression = 200;  // Python's own parser stops there too
constexpr int deepest_recursion = 120;
}  // namespace

const Token& ExpressionParser::take() {
  const Token& token = tokens_[at_];
  if (at_ + 1 < tokens_.size()) ++at_;
  return token;
}

bool ExpressionParser::skip_operation(std::string_view text) { return is_operation(text) && (take(), true); }
bool ExpressionParser::skip_name(std::string_view text) { return is_name(text) && (take(), true); }

void ExpressionParser::error(const std::string& what, int line, const std::string& expected,
                             const std::string& found) const {
  fail_at(name_, line, what, expected, found);
}

std::string ExpressionParser::describe(const Token& token) {
  switch (token.kind) {
    case TokenKind::data:
      return "text";
    case TokenKind::variable_begin:
      return "{{";
    case TokenKind::variable_end:
      return "}}";
    case TokenKind::block_begin:
      return "{%";
    case TokenKind::block_end:
      return "%}";
    case TokenKind::string:
      return "a string";
    case TokenKind::end:
      return "end of template";
    default:
      return token.text;
  }
}

void ExpressionParser::expect_operation(const char* text) {
  if (!skip_operation(text)) error("unexpected token", current().line, text, describe(current()));
}

const Token& ExpressionParser::expect_name() {
  if (current().kind != TokenKind::name) error("unexpected token", current().line, "a name", describe(current()));
  return take();
}

void ExpressionParser::expect(TokenKind kind, const char* what) {
  if (current().kind != kind) error("unexpected token", current().line, what, describe(current()));
  take();
}

ExpressionPtr ExpressionParser::make(Operation operation, int line) const {
  auto node = std::make_unique<Expression>();
  node->operation = operation;
  node->line = line;
  return node;
}

ExpressionPtr ExpressionParser::make(Operation operation, int line, ExpressionPtr a, ExpressionPtr b) const {
  auto node = make(operation, line);
  node->items.push_back(std::move(a));
  if (b) node->items.push_back(std::move(b));
  return finish(std::move(node));
}

ExpressionPtr ExpressionParser::finish(ExpressionPtr node) const {
  const auto look = [&](const ExpressionPtr& item) {
    if (item) node->depth = std::max(node->depth, item->depth + 1);
  };
  for (const auto& item : node->items) look(item);
  if (node->arguments) {
    for (const auto& item : node->arguments->positional) look(item);
    for (const auto& [_, item] : node->arguments->named) look(item);
    look(node->arguments->star);
    look(node->arguments->star_star);
  }
  if (node->depth > deepest_expression) error("expression is nested too deeply", node->line, "at most 200 levels");
  return node;
}

ExpressionPtr ExpressionParser::expression() {
  if (++nesting_ > deepest_recursion) error("expression is nested too deeply", current().line, "at most 120 brackets");
  int line = current().line;
  ExpressionPtr left = logical_or();
  while (skip_name("if")) {
    auto node = make(Operation::conditional, line);
    node->items.push_back(std::move(left));
    node->items.push_back(logical_or());
    node->items.push_back(skip_name("else") ? expression() : nullptr);
    left = finish(std::move(node));
    line = current().line;
  }
  --nesting_;
  return left;
}

ExpressionPtr ExpressionParser::condition_free() { return logical_or(); }

ExpressionPtr ExpressionParser::logical_or() {
  ExpressionPtr left = logical_and();
  for (int line = left->line; skip_name("or"); line = current().line)
    left = make(Operation::logical_or, line, std::move(left), logical_and());
  return left;
}

ExpressionPtr ExpressionParser::logical_and() {
  ExpressionPtr left = logical_not();
  for (int line = left->line; skip_name("and"); line = current().line)
    left = make(Operation::logical_and, line, std::move(left), logical_not());
  return left;
}

ExpressionPtr ExpressionParser::logical_not() {
  if (!is_name("not")) return comparison();
  if (++nesting_ > deepest_recursion) error("expression is nested too deeply", current().line);
  const int line = take().line;
  auto node = make(Operation::logical_not, line, logical_not());
  --nesting_;
  return node;
}

ExpressionPtr ExpressionParser::comparison() {
  const int line = current().line;
  ExpressionPtr first = sum();
  ExpressionPtr node;
  const auto relation = [&](Relation kind) {
    if (!node) node = make(Operation::compare, line, std::move(first));
    node->relations.push_back(kind);
    node->items.push_back(sum());
  };
  while (true) {
    if (skip_operation("=="))
      relation(Relation::equal);
    else if (skip_operation("!="))
      relation(Relation::not_equal);
    else if (skip_operation("<"))
      relation(Relation::less);
    else if (skip_operation("<="))
      relation(Relation::less_equal);
    else if (skip_operation(">"))
      relation(Relation::greater);
    else if (skip_operation(">="))
      relation(Relation::greater_equal);
    else if (skip_name("in"))
      relation(Relation::in);
    else if (is_name("not") && ahead().kind == TokenKind::name && ahead().text == "in") {
      take();
      take();
      relation(Relation::not_in);
    } else
      break;
  }
  return node ? finish(std::move(node)) : std::move(first);
}

ExpressionPtr ExpressionParser::sum() {
  ExpressionPtr left = concatenation();
  while (is_operation("+") || is_operation("-")) {
    const Token& token = take();
    left = make(token.text == "+" ? Operation::add : Operation::subtract, token.line, std::move(left), concatenation());
  }
  return left;
}

ExpressionPtr ExpressionParser::concatenation() {
  ExpressionPtr first = product();
  if (!is_operation("~")) return first;
  auto node = make(Operation::concatenate, current().line, std::move(first));
  while (skip_operation("~")) node->items.push_back(product());
  return finish(std::move(node));
}

ExpressionPtr ExpressionParser::product() {
  ExpressionPtr left = power();
  while (is_operation("*") || is_operation("/") || is_operation("//") || is_operation("%")) {
    const Token& token = take();
    const Operation operation = token.text == "*"   ? Operation::multiply
                                : token.text == "/" ? Operation::divide
                                : token.text == "%" ? Operation::modulo
                                                    : Operation::floor_divide;
    left = make(operation, token.line, std::move(left), power());
  }
  return left;
}

// Left-associative, unlike Python's: jinja2 writes the brackets itself.
ExpressionPtr ExpressionParser::power() {
  ExpressionPtr left = unary();
  while (is_operation("**")) {
    const int line = take().line;
    left = make(Operation::power, line, std::move(left), unary());
  }
  return left;
}

ExpressionPtr ExpressionParser::unary(bool with_filter) {
  ExpressionPtr node;
  if (is_operation("-") || is_operation("+")) {
    if (++nesting_ > deepest_recursion) error("expression is nested too deeply", current().line);
    const Token& token = take();
    node = make(token.text == "-" ? Operation::negate : Operation::plus, token.line, unary(false));
    --nesting_;
  } else {
    node = primary();
  }
  node = postfix(std::move(node));
  return with_filter ? filter_or_test(std::move(node)) : std::move(node);
}

ExpressionPtr ExpressionParser::primary(bool with_namespace) {
  const Token& token = current();
  if (token.kind == TokenKind::name) {
    take();
    const bool yes = token.text == "true" || token.text == "True";
    if (yes || token.text == "false" || token.text == "False") {
      auto node = make(Operation::constant, token.line);
      node->constant = Value::boolean(yes);
      return node;
    }
    if (token.text == "none" || token.text == "None") {
      auto node = make(Operation::constant, token.line);
      node->constant = Value::none();
      return node;
    }
    const bool item = with_namespace && skip_operation(".");
    auto node = make(item ? Operation::namespace_item : Operation::name, token.line);
    node->text = token.text;
    if (item) node->attribute = expect_name().text;
    return node;
  }
  if (token.kind == TokenKind::string) {
    auto node = make(Operation::constant, token.line);
    std::string text;
    while (current().kind == TokenKind::string) text += take().text;
    node->constant = Value::string(std::move(text));
    return node;
  }
  if (token.kind == TokenKind::integer || token.kind == TokenKind::real) {
    auto node = make(Operation::constant, token.line);
    node->constant = token.kind == TokenKind::integer ? Value::integer(token.integer) : Value::real(token.real);
    take();
    return node;
  }
  if (is_operation("(")) {
    take();
    auto node = tuple({.explicit_parentheses = true});
    expect_operation(")");
    return node;
  }
  if (is_operation("[")) return list();
  if (is_operation("{")) return dict();
  error("unexpected token", token.line, "an expression", describe(token));
}

ExpressionPtr ExpressionParser::tuple(const TupleStyle& style) {
  const int line = current().line;
  Expressions items;
  bool is_tuple = false;
  while (true) {
    if (!items.empty()) expect_operation(",");
    const TokenKind kind = current().kind;
    if (kind == TokenKind::variable_end || kind == TokenKind::block_end || is_operation(")") ||
        (style.end_word && is_name(style.end_word)))
      break;
    items.push_back(style.simplified       ? primary(style.with_namespace)
                    : style.with_condition ? expression()
                                           : condition_free());
    if (!is_operation(",")) break;
    is_tuple = true;
  }
  if (!is_tuple) {
    if (!items.empty()) return std::move(items[0]);
    if (!style.explicit_parentheses) error("unexpected token", current().line, "an expression", describe(current()));
  }
  auto node = make(Operation::tuple, line);
  node->items = std::move(items);
  return finish(std::move(node));
}

ExpressionPtr ExpressionParser::list() {
  auto node = make(Operation::list, take().line);
  while (!is_operation("]")) {
    if (!node->items.empty()) expect_operation(",");
    if (is_operation("]")) break;
    node->items.push_back(expression());
  }
  take();
  return finish(std::move(node));
}

ExpressionPtr ExpressionParser::dict() {
  auto node = make(Operation::dict, take().line);
  while (!is_operation("}")) {
    if (!node->items.empty()) expect_operation(",");
    if (is_operation("}")) break;
    node->items.push_back(expression());
    expect_operation(":");
    node->items.push_back(expression());
  }
  take();
  return finish(std::move(node));
}

ExpressionPtr ExpressionParser::postfix(ExpressionPtr node) {
  while (true) {
    if (is_operation(".") || is_operation("["))
      node = subscript(std::move(node));
    else if (is_operation("("))
      node = call(std::move(node));
    else
      return node;
  }
}

ExpressionPtr ExpressionParser::filter_or_test(ExpressionPtr node) {
  while (true) {
    if (is_operation("|"))
      node = filters(std::move(node));
    else if (is_name("is"))
      node = test(std::move(node));
    else if (is_operation("("))
      node = call(std::move(node));
    else
      return node;
  }
}

ExpressionPtr ExpressionParser::subscript(ExpressionPtr owner) {
  const Token& token = take();
  if (token.text == ".") {
    const Token& key = take();
    if (key.kind == TokenKind::name) {
      auto node = make(Operation::attribute, token.line, std::move(owner));
      node->text = key.text;
      return node;
    }
    if (key.kind != TokenKind::integer)
      error("unexpected token after '.'", key.line, "a name or a number", describe(key));
    auto index = make(Operation::constant, key.line);
    index->constant = Value::integer(key.integer);
    return make(Operation::subscript, token.line, std::move(owner), std::move(index));
  }
  auto node = subscript_argument(std::move(owner));
  if (is_operation(",")) {
    // a[1, 2] looks up the tuple (1, 2); slices inside such a tuple have no use and are refused
    if (node->operation == Operation::slice) error("slices inside a tuple index are unsupported", token.line);
    auto index = make(Operation::tuple, token.line);
    index->items.push_back(std::move(node->items[1]));
    while (skip_operation(",")) {
      if (is_operation(":")) error("slices inside a tuple index are unsupported", token.line);
      index->items.push_back(expression());
    }
    node->items[1] = finish(std::move(index));
    node = finish(std::move(node));
  }
  expect_operation("]");
  return node;
}

ExpressionPtr ExpressionParser::subscript_argument(ExpressionPtr owner) {
  const int line = current().line;
  ExpressionPtr start;
  if (is_operation("]"))
    return make(Operation::subscript, line, std::move(owner), make(Operation::tuple, line));  // a[] is a[()]
  if (!is_operation(":")) {
    start = expression();
    if (!is_operation(":")) return make(Operation::subscript, line, std::move(owner), std::move(start));
  }
  take();
  const auto bound = [&]() -> ExpressionPtr {
    return is_operation(":") || is_operation("]") || is_operation(",") ? nullptr : expression();
  };
  auto node = make(Operation::slice, line, std::move(owner));
  node->items.push_back(std::move(start));
  node->items.push_back(bound());
  node->items.push_back(skip_operation(":") ? bound() : nullptr);
  return finish(std::move(node));
}

ExpressionPtr ExpressionParser::call(ExpressionPtr callee) {
  auto node = make(Operation::call, current().line, std::move(callee));
  node->arguments = call_arguments();
  return finish(std::move(node));
}

std::unique_ptr<CallArguments> ExpressionParser::call_arguments() {
  auto out = std::make_unique<CallArguments>();
  const int line = take().line;
  const auto ensure = [&](bool ok) {
    if (!ok) error("invalid order of arguments in a call", line);
  };
  bool comma = false;
  while (!is_operation(")")) {
    if (comma) {
      expect_operation(",");
      if (is_operation(")")) break;
    }
    comma = true;
    if (skip_operation("*")) {
      ensure(!out->star && !out->star_star);
      out->star = expression();
    } else if (skip_operation("**")) {
      ensure(!out->star_star);
      out->star_star = expression();
    } else if (current().kind == TokenKind::name && ahead().kind == TokenKind::operation && ahead().text == "=") {
      ensure(!out->star_star);
      const std::string key = take().text;
      take();
      for (const auto& [name, _] : out->named)
        if (name == key) error("keyword argument repeated: " + key, line);
      out->named.emplace_back(key, expression());
    } else {
      ensure(!out->star && !out->star_star && out->named.empty());
      out->positional.push_back(expression());
    }
  }
  take();
  return out;
}

ExpressionPtr ExpressionParser::filters(ExpressionPtr value, bool start_inline) {
  while (start_inline || is_operation("|")) {
    if (!start_inline) take();
    start_inline = false;
    const Token& token = expect_name();
    auto node = make(Operation::filter, token.line, std::move(value));
    node->text = token.text;
    while (skip_operation(".")) node->text += "." + expect_name().text;
    if (is_operation("(")) node->arguments = call_arguments();
    value = finish(std::move(node));
  }
  return value;
}

ExpressionPtr ExpressionParser::test(ExpressionPtr value) {
  const int line = take().line;
  const bool negated = skip_name("not");
  auto node = make(Operation::test, line, std::move(value));
  node->text = expect_name().text;
  while (skip_operation(".")) node->text += "." + expect_name().text;
  const TokenKind kind = current().kind;
  if (is_operation("(")) {
    node->arguments = call_arguments();
  } else if ((kind == TokenKind::name || kind == TokenKind::string || kind == TokenKind::integer ||
              kind == TokenKind::real || is_operation("[") || is_operation("{")) &&
             !is_name("else") && !is_name("or") && !is_name("and")) {
    if (is_name("is")) error("tests cannot be chained with is", current().line);
    node->arguments = std::make_unique<CallArguments>();
    node->arguments->positional.push_back(postfix(primary()));
  }
  node = finish(std::move(node));
  return negated ? make(Operation::logical_not, line, std::move(node)) : std::move(node);
}

void ExpressionParser::check_assignable(const Expression& target) const {
  if (target.operation == Operation::name || target.operation == Operation::namespace_item) return;
  if (target.operation != Operation::tuple)
    error("cannot assign to this expression", target.line, "a name or a tuple of names");
  for (const auto& item : target.items) check_assignable(*item);
}

ExpressionPtr ExpressionParser::assign_target(bool with_namespace, const char* end_word) {
  auto target = tuple({.simplified = true, .with_namespace = with_namespace, .end_word = end_word});
  check_assignable(*target);
  return target;
}

ExpressionPtr ExpressionParser::name_target() {
  const Token& token = expect_name();
  for (const char* literal : {"true", "false", "none", "True", "False", "None"})
    if (token.text == literal) error("cannot assign to a literal", token.line, "a name", token.text);
  auto node = make(Operation::name, token.line);
  node->text = token.text;
  return node;
}

}  // namespace tilewright::hub::jinja
