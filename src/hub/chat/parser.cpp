#include "hub/chat/parser.h"

#include <algorithm>

#include "hub/chat/expression_parser.h"
#include "hub/chat/scopes.h"

namespace tilewright::hub::jinja {
namespace {

constexpr int deepest_statement = 60;

class Parser : ExpressionParser {
 public:
  Parser(std::string_view source, const std::string& name) : ExpressionParser(tokenize(source, name), name) {}

  Statements run() { return statements({}); }

 private:
  using Words = std::initializer_list<std::string_view>;
  using Node = std::unique_ptr<Statement>;

  struct Open {
    std::string tag;
    int line;
  };

  Node make_statement(Tag tag, int line) const {
    auto node = std::make_unique<Statement>();
    node->tag = tag;
    node->line = line;
    return node;
  }

  // Statements until one of the closing words stands after {%; the word is not taken.
  Statements statements(Words closing) {
    Statements out;
    Node text;
    const auto flush = [&] {
      if (text) out.push_back(std::move(text));
    };
    const auto output = [&]() -> Statement& {
      if (!text) text = make_statement(Tag::output, current().line);
      return *text;
    };
    while (current().kind != TokenKind::end) {
      const Token& token = take();
      if (token.kind == TokenKind::data) {
        auto node = make(Operation::constant, token.line);
        node->constant = Value::string(token.text);
        Statement& target = output();
        target.expressions.push_back(std::move(node));
      } else if (token.kind == TokenKind::variable_begin) {
        Statement& target = output();
        target.expressions.push_back(tuple({}));
        expect(TokenKind::variable_end, "}}");
      } else {
        flush();
        for (std::string_view word : closing)
          if (is_name(word)) return out;
        if (Node node = statement()) out.push_back(std::move(node));
        expect(TokenKind::block_end, "%}");
      }
    }
    if (!open_.empty())
      error("template ends inside {% " + open_.back().tag + " %}", current().line, closing_words(closing),
            "end of template, the tag opens in line " + std::to_string(open_.back().line));
    flush();
    return out;
  }

  static std::string closing_words(Words words) {
    std::string out;
    for (std::string_view word : words) out += (out.empty() ? "" : " or ") + std::string(word);
    return out;
  }

  // The body of a tag: the rest of its opening, statements, and the closing word, which is returned.
  std::string body(Statements& into, Words closing) {
    skip_operation(":");
    expect(TokenKind::block_end, "%}");
    into = statements(closing);
    return take().text;
  }

  Node statement() {
    if (current().kind != TokenKind::name) error("unexpected token", current().line, "a tag name", describe(current()));
    const Token& tag = take();
    open_.push_back({tag.text, tag.line});
    if (open_.size() > deepest_statement) error("tags are nested too deeply", tag.line, "at most 60 levels");
    Node node = tagged(tag.text, tag.line);
    open_.pop_back();
    return node;
  }

  Node tagged(const std::string& tag, int line) {
    if (tag == "for") return for_loop(line);
    if (tag == "if") return condition(line);
    if (tag == "set") return set(line);
    if (tag == "macro") return macro(line);
    if (tag == "call") return call_block(line);
    if (tag == "filter") return filter_block(line);
    if (tag == "with") return with(line);
    if (tag == "print") return print(line);
    if (tag == "generation") {
      auto node = make_statement(Tag::generation, line);
      outside_loop([&] { body(node->body, {"endgeneration"}); });
      return node;
    }
    if (tag == "break" || tag == "continue") {
      if (!loops_) error("{% " + tag + " %} outside of a loop", line);
      return make_statement(tag == "break" ? Tag::break_loop : Tag::continue_loop, line);
    }
    for (const char* known : {"include", "import", "from", "extends", "block", "autoescape"})
      if (tag == known)
        error("unsupported tag '" + tag + "'", line, "a template that stands alone", "{% " + tag + " %}");
    if (tag.starts_with("end") || tag == "else" || tag == "elif") error("tag '" + tag + "' closes nothing here", line);
    error("unsupported tag '" + tag + "'", line,
          "for, if, set, macro, call, filter, with, raw, generation, break or continue", "{% " + tag + " %}");
  }

  template <typename Inner>
  void outside_loop(Inner inner) {
    const int loops = std::exchange(loops_, 0);
    const int nested = std::exchange(loop_bodies_, loop_bodies_);
    inner();
    loops_ = loops;
    loop_bodies_ = nested;
  }

  void check_loop_name(const Expression& target) const {
    if (target.operation == Operation::name && target.text == "loop" && loop_bodies_ > 0)
      error("cannot assign to the special variable 'loop' inside a for loop", target.line);
    for (const auto& item : target.items) check_loop_name(*item);
  }

  Node for_loop(int line) {
    auto node = make_statement(Tag::for_loop, line);
    ++loop_bodies_;
    node->targets.push_back(assign_target(false, "in"));
    check_loop_name(*node->targets[0]);
    if (!skip_name("in")) error("unexpected token", current().line, "in", describe(current()));
    node->value = tuple({.with_condition = false, .end_word = "recursive"});
    if (skip_name("if")) node->test = expression();
    node->recursive = skip_name("recursive");
    ++loops_;
    const std::string word = body(node->body, {"endfor", "else"});
    --loops_;
    if (word == "else") body(node->otherwise, {"endfor"});
    --loop_bodies_;
    return node;
  }

  Node condition(int line) {
    auto root = make_statement(Tag::condition, line);
    Statement* node = root.get();
    while (true) {
      node->value = tuple({.with_condition = false});
      const std::string word = body(node->body, {"elif", "else", "endif"});
      if (word == "elif") {
        root->branches.push_back(make_statement(Tag::condition, current().line));
        node = root->branches.back().get();
        continue;
      }
      if (word == "else") body(root->otherwise, {"endif"});
      return root;
    }
  }

  Node set(int line) {
    auto target = assign_target(true);
    check_loop_name(*target);
    const bool plain = skip_operation("=");
    auto node = make_statement(plain ? Tag::set : Tag::set_block, line);
    node->targets.push_back(std::move(target));
    if (plain) {
      node->value = tuple({});
    } else {
      node->value = filters(nullptr);
      body(node->body, {"endset"});
    }
    return node;
  }

  void signature(Statement& node) {
    expect_operation("(");
    while (!is_operation(")")) {
      if (!node.targets.empty()) expect_operation(",");
      node.targets.push_back(name_target());
      const Expression& parameter = *node.targets.back();
      for (std::size_t i = 0; i + 1 < node.targets.size(); ++i)
        if (node.targets[i]->text == parameter.text)
          error("duplicate parameter '" + parameter.text + "'", parameter.line);
      if (skip_operation("="))
        node.expressions.push_back(expression());
      else if (!node.expressions.empty())
        error("a parameter without default follows one with a default", parameter.line);
    }
    take();
  }

  Node macro(int line) {
    auto node = make_statement(Tag::macro, line);
    auto target = name_target();
    check_loop_name(*target);
    node->name = target->text;
    signature(*node);
    outside_loop([&] { body(node->body, {"endmacro"}); });
    return node;
  }

  Node call_block(int line) {
    auto node = make_statement(Tag::call, line);
    if (is_operation("(")) signature(*node);
    node->value = expression();
    if (node->value->operation != Operation::call)
      error("{% call %} needs a call", line, "a macro call", "another expression");
    outside_loop([&] { body(node->body, {"endcall"}); });
    return node;
  }

  Node filter_block(int line) {
    auto node = make_statement(Tag::filter, line);
    node->value = filters(nullptr, true);
    body(node->body, {"endfilter"});
    return node;
  }

  Node with(int line) {
    auto node = make_statement(Tag::with, line);
    while (current().kind != TokenKind::block_end && !is_operation(":")) {
      if (!node->targets.empty()) expect_operation(",");
      node->targets.push_back(assign_target(false));
      expect_operation("=");
      node->expressions.push_back(expression());
    }
    body(node->body, {"endwith"});
    return node;
  }

  Node print(int line) {
    auto node = make_statement(Tag::output, line);
    while (current().kind != TokenKind::block_end) {
      if (!node->expressions.empty()) expect_operation(",");
      node->expressions.push_back(expression());
    }
    return node;
  }

  std::vector<Open> open_;
  int loops_ = 0;        // loops that a break here would leave
  int loop_bodies_ = 0;  // for tags around, macros between them or not
};

}  // namespace

Syntax parse(std::string_view source, const std::string& name) {
  Syntax syntax{Parser(source, name).run(), {}};
  bind_names(syntax, name);
  return syntax;
}

}  // namespace tilewright::hub::jinja
