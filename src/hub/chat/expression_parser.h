// The expression half of the parser: precedence climbs from conditional expressions down to literals, as in jinja2.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "hub/chat/lexer.h"
#include "hub/chat/syntax.h"

namespace tilewright::hub::jinja {

class ExpressionParser {
 public:
  ExpressionParser(std::vector<Token> tokens, const std::string& name) : tokens_(std::move(tokens)), name_(name) {}

 protected:
  const Token& current() const { return tokens_[at_]; }
  const Token& ahead() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
  const Token& take();
  bool is_operation(std::string_view text) const {
    return current().kind == TokenKind::operation && current().text == text;
  }
  bool is_name(std::string_view text) const { return current().kind == TokenKind::name && current().text == text; }
  bool skip_operation(std::string_view text);
  bool skip_name(std::string_view text);
  void expect_operation(const char* text);
  const Token& expect_name();
  void expect(TokenKind kind, const char* what);
  [[noreturn]] void error(const std::string& what, int line, const std::string& expected = "",
                          const std::string& found = "") const;
  static std::string describe(const Token& token);

  ExpressionPtr make(Operation operation, int line) const;
  ExpressionPtr make(Operation operation, int line, ExpressionPtr a, ExpressionPtr b = nullptr) const;
  // Recomputes the depth after items were added; an error beyond the limit.
  ExpressionPtr finish(ExpressionPtr node) const;

  ExpressionPtr expression();
  ExpressionPtr condition_free();  // an expression without `if … else` at its top
  struct TupleStyle {
    bool simplified = false, with_condition = true, explicit_parentheses = false, with_namespace = false;
    const char* end_word = nullptr;
  };
  ExpressionPtr tuple(const TupleStyle& style);
  ExpressionPtr primary(bool with_namespace = false);
  ExpressionPtr filters(ExpressionPtr value, bool start_inline = false);
  ExpressionPtr assign_target(bool with_namespace, const char* end_word = nullptr);
  ExpressionPtr name_target();

 private:
  ExpressionPtr logical_or();
  ExpressionPtr logical_and();
  ExpressionPtr logical_not();
  ExpressionPtr comparison();
  ExpressionPtr sum();
  ExpressionPtr concatenation();
  ExpressionPtr product();
  ExpressionPtr power();
  ExpressionPtr unary(bool with_filter = true);
  ExpressionPtr postfix(ExpressionPtr node);
  ExpressionPtr filter_or_test(ExpressionPtr node);
  ExpressionPtr test(ExpressionPtr node);
  ExpressionPtr subscript(ExpressionPtr node);
  ExpressionPtr subscript_argument(ExpressionPtr owner);
  ExpressionPtr call(ExpressionPtr callee);
  std::unique_ptr<CallArguments> call_arguments();
  ExpressionPtr list();
  ExpressionPtr dict();
  void check_assignable(const Expression& target) const;

  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  int nesting_ = 0;

 protected:
  const std::string& name_;
};

}  // namespace tilewright::hub::jinja
