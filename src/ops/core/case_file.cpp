#include "ops/core/case_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <mutex>
#include <set>

#include "base/error.h"
#include "base/json.h"
#include "base/mapped_file.h"

namespace tilewright::ops {
namespace {

constexpr std::int64_t kMaxElements = std::int64_t{1} << 28;

[[noreturn]] void wrong(const std::string& where, const std::string& what, const std::string& expected,
                        const std::string& found) {
  fail({.what = what,
        .where = where,
        .expected = expected,
        .found = found,
        .fix = "the form is described in src/ops/core/case_file.h"});
}

// Lists and objects by their kind alone: they may be nested deeper than a stack.
std::string text_of(const Json& json) { return json.is_structured() ? json_kind(json) : json.dump().substr(0, 80); }

void only_keys(const Json& object, std::initializer_list<const char*> known, const std::string& where) {
  if (!object.is_object()) wrong(where, "a case file has another form", "an object", json_kind(object));
  for (const auto& [key, value] : object.items())
    if (std::find(known.begin(), known.end(), key) == known.end())
      wrong(where, "unknown key", fmt::format("one of {}", fmt::join(known, ", ")), key);
}

// Attributes hold views of text, which must live as long as the program.
std::string_view kept(const std::string& text) {
  static std::mutex mutex;
  static std::set<std::string> texts;
  const std::lock_guard lock(mutex);
  return *texts.insert(text).first;
}

Dims dims_from(const Json& list, const std::string& where) {
  if (!list.is_array() || list.size() > kMaxRank)
    wrong(where, "not a shape", fmt::format("a list of at most {} numbers", kMaxRank), text_of(list));
  Dims out;
  for (const Json& entry : list) {
    if (!entry.is_number_integer() || entry.get<double>() < 0 || entry.get<double>() > double(kMaxElements))
      wrong(where, "not a shape", fmt::format("whole numbers from 0 to {}", kMaxElements), text_of(entry));
    out.push_back(entry.get<std::int64_t>());
  }
  return out;
}

// Elements from the first to behind the last one; an Error beyond kMaxElements.
std::int64_t span_of(const Shape& shape, const Strides& strides, const std::string& where) {
  std::int64_t last = 0, elements = 1;
  for (int i = 0; i < shape.rank(); ++i) {
    std::int64_t reach = 0;
    if (__builtin_mul_overflow(elements, shape[i], &elements) ||
        __builtin_mul_overflow(std::max<std::int64_t>(shape[i] - 1, 0), strides[i], &reach) ||
        __builtin_add_overflow(last, reach, &last) || last >= kMaxElements || elements > kMaxElements)
      wrong(where, "the input is too large", fmt::format("at most {} elements", kMaxElements),
            fmt::format("shape {}, strides {}", to_string(shape), to_string(strides)));
  }
  return elements ? last + 1 : 0;
}

CaseInput input_from(const Json& json, const std::string& name, const std::string& where) {
  only_keys(json, {"shape", "dtype", "strides", "fill", "values", "scale"}, where);
  CaseInput input;
  input.name = name;
  input.dtype = dtype_from_name(required<std::string>(json, "dtype", where));
  if (!json.contains("shape")) wrong(where, "the input has no shape", "a list of numbers", "nothing");
  input.shape = dims_from(json["shape"], where + ", shape");
  Strides strides = contiguous_strides(input.shape);
  if (json.contains("strides")) {
    strides = input.strides = dims_from(json["strides"], where + ", strides");
    if (strides.rank() != input.shape.rank())
      wrong(where + ", strides", "not one stride for each dim", fmt::format("{} strides", input.shape.rank()),
            to_string(strides));
  }
  span_of(input.shape, strides, where);
  input.scale = optional_or<double>(json, "scale", 1.0, where);
  if (json.contains("values")) {
    for (const Json& value : json["values"]) {
      if (!value.is_number()) wrong(where + ", values", "not a number", "numbers", text_of(value));
      input.values.push_back(value.get<double>());
    }
    if (static_cast<std::int64_t>(input.values.size()) != input.shape.elements())
      wrong(where + ", values", "not one value for each element", std::to_string(input.shape.elements()),
            std::to_string(input.values.size()));
  } else {
    input.fill = required<std::string>(json, "fill", where);
    if (input.fill == "causal_mask") {
      if (input.shape.rank() < 2 || !is_floating(input.dtype))
        wrong(where, "not a mask", "a floating dtype and rank 2 or more", to_string(input.shape));
    } else {
      HostTensor probe(input.dtype, {0});
      fill(probe, input.fill, 0);  // an unknown name is an Error now, not when the case runs
    }
  }
  return input;
}

AttributeValue attribute_from(const Json& json, const std::string& type, const std::string& where) {
  if (type == "float" && json.is_number()) return json.get<double>();
  if (type == "int" && json.is_number_integer()) return json.get<std::int64_t>();
  if (type == "bool" && json.is_boolean()) return json.get<bool>();
  if (type == "dtype" && json.is_string()) return dtype_from_name(json.get<std::string>());
  if (type == "text" && json.is_string()) return kept(json.get<std::string>());
  if (type == "dims") return dims_from(json, where);
  wrong(where, "attribute of another type", type, text_of(json));
}

OpCase case_from(const Registry& registry, const Json& json, const std::string& default_op, const std::string& file) {
  only_keys(json, {"op", "id", "seed", "attributes", "input", "rtol", "atol", "reason", "bench"}, file);
  OpCase one;
  one.id = required<std::string>(json, "id", file);
  const std::string where = file + ", case " + one.id;
  one.op = optional_or<std::string>(json, "op", default_op, where);
  const Op* op = registry.find(OpName(std::string_view(one.op)));
  if (!op) wrong(where, "no operator of that name", "an operator that `tilewright kernels` lists", one.op);
  one.seed = static_cast<std::uint64_t>(required<std::int64_t>(json, "seed", where));
  one.rtol = required<double>(json, "rtol", where);
  one.atol = required<double>(json, "atol", where);
  if (!(one.rtol >= 0) || !(one.atol >= 0)) wrong(where, "a negative tolerance", "0 or more", text_of(json["rtol"]));
  one.reason = required<std::string>(json, "reason", where);
  one.bench = optional_or<bool>(json, "bench", false, where);
  const Json attributes = json.value("attributes", Json::object());
  if (!attributes.is_object()) wrong(where, "attributes have another form", "an object", json_kind(attributes));
  for (auto at = attributes.begin(); at != attributes.end(); ++at) {
    const std::string& name = at.key();
    const auto& known = op->schema.attributes;
    const auto spec = std::find_if(known.begin(), known.end(), [&](const auto& each) { return each.name == name; });
    if (spec == known.end()) wrong(where, one.op + " has no such attribute", "one of its schema", name);
    one.attributes.set(spec->name, attribute_from(*at, spec->type, where + ", " + name));
  }
  if (!json.contains("input") || !json["input"].is_object())
    wrong(where, "the case has no inputs", "an object under \"input\"", "nothing");
  Json inputs = json["input"];
  const auto take = [&](const std::string& name) {
    if (!inputs.contains(name)) return false;
    one.inputs.push_back(input_from(inputs[name], name, where + ", " + name));
    inputs.erase(name);
    return true;
  };
  for (std::size_t i = 0; i < op->schema.inputs.size(); ++i) {
    const ArgumentSpec& spec = op->schema.inputs[i];
    if (op->schema.variadic && i + 1 == op->schema.inputs.size())
      for (int n = 0; take(spec.name + std::to_string(n)); ++n) {
      }
    else if (!take(spec.name)) {
      if (!spec.optional) wrong(where, "an input is missing", spec.name, "nothing");
      one.inputs.emplace_back();
    }
  }
  if (!inputs.empty()) wrong(where, one.op + " has no such input", "one of its schema", inputs.begin().key());
  return one;
}

}  // namespace

std::vector<OpCase> parse_cases(const Registry& registry, std::string_view text, const std::string& where,
                                const std::string& op) {
  const Json json = parse_json(text, where);
  only_keys(json, {"op", "cases"}, where);
  const std::string default_op = optional_or<std::string>(json, "op", op, where);
  if (!json.contains("cases") || !json["cases"].is_array())
    wrong(where, "the file has no cases", "a list under \"cases\"", "nothing");
  std::vector<OpCase> out;
  std::set<std::pair<std::string, std::string>> seen;
  for (const Json& each : json["cases"]) {
    out.push_back(case_from(registry, each, default_op, where));
    if (!seen.insert({out.back().op, out.back().id}).second)
      wrong(where, "two cases of one name", "ids that differ", out.back().id);
  }
  return out;
}

std::vector<OpCase> read_case_file(const Registry& registry, const std::filesystem::path& path) {
  return parse_cases(registry, read_text_file(path, std::size_t{1} << 26), path.string(), "");
}

HostTensor case_values(const OpCase& one, std::size_t input) {
  const CaseInput& spec = one.inputs[input];
  HostTensor out(spec.dtype, spec.shape);
  if (!spec.values.empty()) {
    for (std::int64_t i = 0; i < out.elements(); ++i) out.set(i, spec.values[static_cast<std::size_t>(i)]);
  } else if (spec.fill == "causal_mask") {
    const std::int64_t rows = spec.shape[spec.shape.rank() - 2], columns = spec.shape.back();
    const double lowest = spec.dtype == DType::f16    ? -65504.0
                          : spec.dtype == DType::bf16 ? -0x1.fep127
                          : spec.dtype == DType::f32  ? double{std::numeric_limits<float>::lowest()}
                                                      : -448.0;
    for (std::int64_t i = 0; i < out.elements(); ++i)
      out.set(i, i % columns <= i / columns % rows + columns - rows ? 0 : lowest);
  } else if (!spec.fill.empty()) {
    fill(out, spec.fill, one.seed * 1000003 + input);
  }
  if (spec.scale != 1)
    for (std::int64_t i = 0; i < out.elements(); ++i) out.set(i, out.at(i) * spec.scale);
  return out;
}

}  // namespace tilewright::ops
