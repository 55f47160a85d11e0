#include "hub/chat/template.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace tilewright::hub {
namespace {

std::string error_of(const std::string& source, const OrderedJson& variables = OrderedJson::object(),
                     const RenderLimits& limits = {}) {
  try {
    ChatTemplate::parse(source, "chat.jinja").render(variables, limits);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

void expect_error(const std::string& source, const std::string& part,
                  const OrderedJson& variables = OrderedJson::object()) {
  EXPECT_NE(error_of(source, variables).find(part), std::string::npos) << source << "\n" << error_of(source, variables);
}

TEST(ChatTemplate, UnsupportedConstructsAreNamedWithTheirLine) {
  for (const char* tag : {"include 'x'", "import 'x' as y", "from 'x' import y", "extends 'x'", "block content",
                          "autoescape true", "trans", "do x"}) {
    const std::string source = std::string("one\n{# two #}\n\n{% ") + tag + " %}";
    expect_error(source, "unsupported tag");
    expect_error(source, "chat.jinja:4");
  }
  expect_error("{{ 1 }}\n{{ x|nosuch }}", "unsupported filter 'nosuch'");
  expect_error("{{ 1 }}\n{{ x is nosuch }}", "chat.jinja:2");
}

TEST(ChatTemplate, UnclosedThingsNameWhereTheyBegan) {
  expect_error("\n{% for x in y %}", "line 2");
  expect_error("{% if x %}{% for y in z %}{% endif %}", "endif");
  expect_error("{% macro f() %}", "macro");
  for (const char* source : {"{{ x", "{% if", "{# x", "{% raw %}x", "{{ 'x }}", "{{ (1 }}", "{{ [1, }}", "{% set x %}",
                             "{{ x | }}", "{{ 1 + }}", "{{ }}"})
    EXPECT_NE(error_of(source).find("chat.jinja:1"), std::string::npos) << source << error_of(source);
}

TEST(ChatTemplate, RaiseExceptionCarriesTheMessageAndTheLine) {
  expect_error("a\nb\n{{ raise_exception('roles must alternate') }}", "roles must alternate");
  expect_error("a\nb\n{{ raise_exception('roles must alternate') }}", "chat.jinja:3");
}

TEST(ChatTemplate, ErrorsInMacrosNameTheInnerLine) {
  expect_error("{% macro f(x) %}\n{{ x.y.z }}\n{% endmacro %}\n\n{{ f({}) }}", "chat.jinja:2");
}

TEST(ChatTemplate, InvalidUtf8IsRefused) {
  expect_error("abc\xff", "not valid UTF-8");
  expect_error("\xed\xa0\x80", "not valid UTF-8");
  expect_error("{{ '\\ud800' }}", "no character");
  OrderedJson variables;
  variables["x"] = "\xc3";
  expect_error("{{ x }}", "not valid UTF-8", variables);
}

TEST(ChatTemplate, DeepNestingIsRefused) {
  for (const int n : {100, 1000, 100000}) {
    std::string open, close;
    for (int i = 0; i < n; ++i) open += "(", close += ")";
    const std::string brackets = error_of("{{ " + open + "1" + close + " }}");
    if (n > 100) {
      EXPECT_NE(brackets.find("nested too deeply"), std::string::npos) << n;
    } else {
      EXPECT_EQ(brackets, "no error");
    }
  }
  std::string tags, sums = "1", calls, nots;
  for (int i = 0; i < 5000; ++i) tags += "{% if x %}", sums += " + 1", calls += ".x", nots += "not ";
  expect_error(tags, "nested too deeply");
  expect_error("{{ " + sums + " }}", "nested too deeply");
  expect_error("{{ x" + calls + " }}", "nested too deeply");
  expect_error("{{ " + nots + "x }}", "nested too deeply");
  expect_error("{{ " + std::string(5000, '-') + "1 }}", "nested too deeply");
  expect_error("{% set ns = namespace(l=[]) %}{% for i in range(1000) %}{% set ns.l = [ns.l] %}{% endfor %}",
               "nested deeper");
  expect_error("{% set ns = namespace(l=[]) %}{% for i in range(1000) %}{% set ns.l = ns.l|map('upper') %}{% endfor %}",
               "nested deeper");
  expect_error("{% set ns = namespace() %}{% set ns.x = ns %}{{ ns }}", "holds itself");
  OrderedJson deep = OrderedJson::array();
  for (int i = 0; i < 1000; ++i) deep = OrderedJson::array({deep});
  OrderedJson variables;
  variables["x"] = std::move(deep);
  expect_error("{{ x }}", "nested deeper", variables);
}

TEST(ChatTemplate, EndlessWorkIsStopped) {
  expect_error("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "200 levels");
  expect_error("{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}", "200 levels");
  const std::string turns = "{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}";
#ifdef TILEWRIGHT_SANITIZED  // the usual limit takes half a minute
  EXPECT_NE(error_of(turns, OrderedJson::object(), {.steps = 1'000'000}).find("step limit"), std::string::npos);
#else
  expect_error(turns, "step limit");
#endif
  expect_error("{{ range(1000000) }}", "range too big");
  expect_error("{{ 'a' * 10000000000 }}", "larger than 128 MiB");
  expect_error("{{ [1] * 10000000000 }}", "larger than 128 MiB");
  expect_error("{% set ns = namespace(s='a') %}{% for i in range(100) %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}",
               "larger than 128 MiB");
  expect_error(
      "{% set ns = namespace(l=[]) %}{% for i in range(1000) %}{% set ns.l = ns.l + ['a' * 10000000] %}{% endfor %}",
      "too much memory");
  expect_error("{{ 9223372036854775807 + 1 }}", "64 bits");
  expect_error("{{ 10 ** 30 }}", "64 bits");
  expect_error("{{ '%1000000d' % 1 }}", "unsupported");
  EXPECT_NE(error_of("{% for a in range(1000) %}xxxxxxxxxx{% endfor %}", OrderedJson::object(), {.output_bytes = 1000})
                .find("too long"),
            std::string::npos);
}

// Generators, scopes and namespaces that hold each other are freed (the leak checker of the asan preset looks).
TEST(ChatTemplate, CyclesAreFreed) {
  EXPECT_EQ(error_of("{% set ns = namespace() %}{% macro f() %}{{ ns }}{% endmacro %}{% set ns.f = f %}{% set ns.n = "
                     "ns %}{% set ns.m = ns.l|map('upper') %}"),
            "no error");
}

TEST(ChatTemplate, KeyOrderIsKept) {
  const auto variables = OrderedJson::parse(R"({"x": {"zeta": 1, "alpha": [true, null, 1.0], "mid": "é\"<"}})");
  EXPECT_EQ(ChatTemplate::parse("{{ x|tojson }}", "t").render(variables),
            R"({"zeta": 1, "alpha": [true, null, 1.0], "mid": "é\"<"})");
}

}  // namespace
}  // namespace tilewright::hub
