#include "opgraph/chain_template.h"

#include <algorithm>
#include <mutex>
#include <set>

#include "base/error.h"

namespace tilewright::opgraph {
namespace {

[[noreturn]] void refuse(const std::string& where, const std::string& what, const std::string& found) {
  fail({.what = "not a chain: " + what,
        .where = where,
        .expected = "what `tilewright fuse` writes",
        .found = found,
        .fix = "run `tilewright fuse` again"});
}

// Attributes refer to text that lives as long as the program.
std::string_view kept(const std::string& text) {
  static std::mutex mutex;
  static std::set<std::string> all;
  const std::lock_guard lock(mutex);
  return *all.insert(text).first;
}

Json attribute_json(const ops::AttributeValue& value) {
  if (const auto* i = std::get_if<std::int64_t>(&value)) return *i;
  if (const auto* d = std::get_if<double>(&value)) return {{"float", *d}};
  if (const auto* b = std::get_if<bool>(&value)) return *b;
  if (const auto* t = std::get_if<DType>(&value)) return {{"dtype", std::string(dtype_name(*t))}};
  if (const auto* s = std::get_if<std::string_view>(&value)) return std::string(*s);
  Json out = Json::array();
  for (const std::int64_t n : std::get<Dims>(value)) out.push_back(n);
  return out;
}

ops::AttributeValue attribute_from(const Json& json, const std::string& where) {
  if (json.is_number_integer()) return json.get<std::int64_t>();
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_string()) return kept(json.get<std::string>());
  if (json.is_object() && json.contains("float") && json["float"].is_number()) return json["float"].get<double>();
  if (json.is_object() && json.contains("dtype") && json["dtype"].is_string())
    return dtype_from_name(json["dtype"].get<std::string>());
  if (json.is_array() && json.size() <= std::size_t{kMaxRank}) {
    Dims out;
    for (const Json& n : json) {
      if (!n.is_number_integer()) refuse(where, "a dim is no whole number", n.dump());
      out.push_back(n.get<std::int64_t>());
    }
    return out;
  }
  refuse(where, "an attribute of unknown type", json.dump());
}

}  // namespace

std::string path_form(const std::string& path) {
  std::string out;
  for (std::size_t i = 0; i < path.size();) {
    const bool begins = i == 0 || path[i - 1] == '.';
    std::size_t end = i;
    while (end < path.size() && path[end] >= '0' && path[end] <= '9') ++end;
    if (begins && end > i && (end == path.size() || path[end] == '.')) {
      out += '*';
      i = end;
    } else {
      out += path[i++];
    }
  }
  return out;
}

bool same_attributes(const ops::Attributes& a, const ops::Attributes& b) {
  return a.size() == b.size() && std::all_of(a.begin(), a.end(), [&](const auto& one) {
           return std::any_of(b.begin(), b.end(),
                              [&](const auto& other) { return one.name == other.name && one.value == other.value; });
         });
}

bool operator==(const ChainTemplate& a, const ChainTemplate& b) {
  return std::equal(a.steps.begin(), a.steps.end(), b.steps.begin(), b.steps.end(),
                    [](const ChainStep& x, const ChainStep& y) {
                      return x.op == y.op && x.path == y.path && x.inputs == y.inputs && x.dtype == y.dtype &&
                             x.output == y.output && same_attributes(x.attributes, y.attributes);
                    });
}

std::string ops_text(const ChainTemplate& chain) {
  std::string out;
  for (const ChainStep& step : chain.steps) out += (out.empty() ? "" : " · ") + step.op->schema.name;
  return out;
}

Json to_json(const ChainTemplate& chain) {
  Json out = Json::array();
  for (const ChainStep& step : chain.steps) {
    Json attributes = Json::object();
    for (const auto& [name, value] : step.attributes) attributes[std::string(name)] = attribute_json(value);
    out.push_back({{"op", step.op->schema.name},
                   {"path", step.path},
                   {"attributes", std::move(attributes)},
                   {"inputs", step.inputs},
                   {"dtype", std::string(dtype_name(step.dtype))},
                   {"output", step.output}});
  }
  return out;
}

ChainTemplate chain_from_json(const Json& json, const ops::Registry& registry, const std::string& where) {
  if (!json.is_array() || json.size() < 2 || json.size() > kMaxChainSteps)
    refuse(where, "a list of 2 to 64 calls is expected", json_kind(json));
  ChainTemplate out;
  int chain_inputs = 0;
  for (const Json& one : json) {
    ChainStep step;
    const std::string name = required<std::string>(one, "op", where);
    step.op = registry.find(ops::OpName(std::string_view(name)));
    if (!step.op || step.op->schema.kind != ops::OpKind::small) refuse(where, "an unknown operator", name);
    step.path = required<std::string>(one, "path", where);
    step.dtype = dtype_from_name(required<std::string>(one, "dtype", where));
    step.output = required<bool>(one, "output", where);
    const Json attributes = one.value("attributes", Json::object());
    if (!attributes.is_object() || attributes.size() > std::size_t{ops::Attributes::kMax})
      refuse(where, "attributes are no short list", json_kind(attributes));
    for (const auto& [key, value] : attributes.items()) step.attributes.set(kept(key), attribute_from(value, where));
    const Json inputs = one.value("inputs", Json());
    if (!inputs.is_array() || inputs.size() > 64) refuse(where, "inputs are no short list", json_kind(inputs));
    for (const Json& input : inputs) {
      if (!input.is_number_integer()) refuse(where, "an input is no whole number", input.dump());
      const auto from = input.get<std::int64_t>();
      const bool known = from == ChainStep::kAbsent || (from >= -1 - chain_inputs && from < std::ssize(out.steps));
      if (!known) refuse(where, "an input comes from a later call", input.dump());
      if (from == -1 - chain_inputs) ++chain_inputs;
      step.inputs.push_back(static_cast<int>(from));
    }
    out.steps.push_back(std::move(step));
  }
  return out;
}

}  // namespace tilewright::opgraph
