#include "target/description.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/json.h"
#include "target/description_texts.h"
#include "target/limits.h"

namespace tilewright::target {
namespace {

struct Field {
  const char* name;
  Quantity Description::*quantity;
};
constexpr Field kFields[] = {
    {"matrix_cores", &Description::matrix_cores},
    {"vector_cores", &Description::vector_cores},
    {"clock_hz", &Description::clock_hz},
    {"matrix_f16_flops", &Description::matrix_f16_flops},
    {"matrix_f32_flops", &Description::matrix_f32_flops},
    {"vector_f32_flops", &Description::vector_f32_flops},
    {"vector_f32_per_cycle", &Description::vector_f32_per_cycle},
    {"vector_f16_per_cycle", &Description::vector_f16_per_cycle},
    {"vector_special_per_cycle", &Description::vector_special_per_cycle},
    {"memory_bytes", &Description::memory_bytes},
    {"memory_bandwidth", &Description::memory_bandwidth},
    {"l2_bytes", &Description::l2_bytes},
    {"l2_bandwidth", &Description::l2_bandwidth},
    {"unified_buffer_bytes", &Description::unified_buffer_bytes},
    {"l1_bytes", &Description::l1_bytes},
    {"l0a_bytes", &Description::l0a_bytes},
    {"l0b_bytes", &Description::l0b_bytes},
    {"l0c_bytes", &Description::l0c_bytes},
    {"load_bytes_per_second", &Description::load_bytes_per_second},
    {"store_bytes_per_second", &Description::store_bytes_per_second},
    {"launch_host_seconds", &Description::launch_host_seconds},
    {"graph_launch_seconds", &Description::graph_launch_seconds},
};

}  // namespace

double Description::matrix_f16_seconds(double flops, double bytes) const {
  return limit_seconds(flops, bytes, matrix_f16_flops.value, memory_bandwidth.value);
}
double Description::vector_f32_seconds(double flops, double bytes) const {
  return limit_seconds(flops, bytes, vector_f32_flops.value, memory_bandwidth.value);
}

std::vector<std::string> description_names() {
  std::vector<std::string> names;
  for (const DescriptionText& text : description_texts()) names.push_back(text.name);
  std::sort(names.begin(), names.end());
  return names;
}

Description description(std::string_view name) {
  for (const DescriptionText& text : description_texts())
    if (text.name == name) return parse_description(text.name, text.json);
  std::string known;
  for (const std::string& each : description_names()) known += (known.empty() ? "" : ", ") + each;
  fail({.what = "no description of that device",
        .expected = "one of " + known,
        .found = std::string(name),
        .fix = "see src/target/descriptions"});
}

Description parse_description(std::string_view name, std::string_view text) {
  const std::string where = "description " + std::string(name);
  const Json json = parse_json(text, where);
  if (!json.is_object()) fail({.what = "a description is an object", .where = where, .found = json_kind(json)});
  Description result;
  result.name = name;
  result.title = required<std::string>(json, "title", where);
  for (const auto& [key, value] : json.items()) {
    if (key == "title") continue;
    const auto* field =
        std::find_if(std::begin(kFields), std::end(kFields), [&key = key](const Field& f) { return key == f.name; });
    if (field == std::end(kFields))
      fail({.what = "unknown field",
            .where = where,
            .found = key,
            .fix = "the fields are those of src/target/description.h"});
    const std::string at = where + ", " + key;
    if (!value.is_object())
      fail({.what = "a quantity is an object of value and source", .where = at, .found = json_kind(value)});
    const Quantity quantity{required<double>(value, "value", at), required<std::string>(value, "source", at)};
    if (!(quantity.value > 0) || !std::isfinite(quantity.value))
      fail({.what = "a quantity must be above zero", .where = at, .found = std::to_string(quantity.value)});
    if (quantity.source.empty())
      fail({.what = "a quantity without a source", .where = at, .fix = "say where the number comes from"});
    result.*(field->quantity) = quantity;
  }
  for (const Field& field : kFields)
    if ((result.*field.quantity).source.empty())
      fail({.what = "a field is missing", .where = where, .expected = field.name});
  return result;
}

}  // namespace tilewright::target
