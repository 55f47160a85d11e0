#include "hub/chat/template.h"

#include <limits>

#include "base/error.h"
#include "hub/chat/interpreter.h"
#include "hub/chat/lexer.h"
#include "hub/chat/parser.h"
#include "hub/chat/text.h"

namespace tilewright::hub {
namespace {

jinja::Value to_value(const OrderedJson& json, const std::string& name, std::uint32_t depth) {
  using jinja::Value;
  const auto refuse = [&](const std::string& what) {
    fail({.what = what, .where = "the variables of " + name, .expected = "", .found = "", .fix = ""});
  };
  if (depth > jinja::deepest_nesting) refuse("values are nested deeper than 400 levels");
  const auto text = [&](const std::string& string) {
    if (jinja::find_invalid_utf8(string) != std::string::npos) refuse("a text is not valid UTF-8");
    return Value::string(string);
  };
  switch (json.type()) {
    case OrderedJson::value_t::boolean:
      return Value::boolean(json.get<bool>());
    case OrderedJson::value_t::number_integer:
      return Value::integer(json.get<std::int64_t>());
    case OrderedJson::value_t::number_unsigned:
      if (json.get<std::uint64_t>() > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
        refuse("an integer does not fit 64 bits");
      return Value::integer(static_cast<std::int64_t>(json.get<std::uint64_t>()));
    case OrderedJson::value_t::number_float:
      return Value::real(json.get<double>());
    case OrderedJson::value_t::string:
      return text(json.get_ref<const std::string&>());
    case OrderedJson::value_t::array: {
      jinja::Values items;
      for (const auto& item : json) items.push_back(to_value(item, name, depth + 1));
      return Value::list(std::move(items));
    }
    case OrderedJson::value_t::object: {
      std::vector<std::pair<Value, Value>> entries;
      for (const auto& [key, item] : json.items()) entries.emplace_back(text(key), to_value(item, name, depth + 1));
      return Value::dict(std::move(entries));
    }
    default:
      return Value::none();
  }
}

}  // namespace

struct ChatTemplate::Parsed {
  std::string name, source;
  jinja::Syntax syntax;
};

ChatTemplate ChatTemplate::parse(std::string source, std::string name) {
  if (const std::size_t bad = jinja::find_invalid_utf8(source); bad != std::string::npos)
    fail({.what = "template is not valid UTF-8",
          .where = name,
          .expected = "",
          .found = "a bad byte at " + std::to_string(bad),
          .fix = "save the template as UTF-8"});
  auto parsed = std::make_shared<Parsed>();
  parsed->syntax = jinja::parse(source, name);
  parsed->name = std::move(name);
  parsed->source = std::move(source);
  ChatTemplate out;
  out.parsed_ = std::move(parsed);
  return out;
}

std::string ChatTemplate::render(const OrderedJson& variables, const RenderLimits& limits) const {
  if (!variables.is_object())
    fail({.what = "template variables are not an object",
          .where = parsed_->name,
          .expected = "{…}",
          .found = "",
          .fix = ""});
  std::unordered_map<std::string, jinja::Value> values;
  try {
    for (const auto& [key, value] : variables.items()) values.emplace(key, to_value(value, parsed_->name, 1));
  } catch (const jinja::Fault& fault) {
    fail({.what = fault.message, .where = "the variables of " + parsed_->name, .expected = "", .found = "", .fix = ""});
  }
  jinja::Budget budget;
  budget.steps = limits.steps;
  budget.live_bytes = limits.live_bytes;
  budget.output_bytes = limits.output_bytes;
  return jinja::Interpreter(parsed_->syntax, parsed_->name, std::move(values), budget).run();
}

const std::string& ChatTemplate::name() const { return parsed_->name; }
const std::string& ChatTemplate::source() const { return parsed_->source; }

}  // namespace tilewright::hub
