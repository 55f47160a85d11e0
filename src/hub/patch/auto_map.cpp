#include "hub/patch/auto_map.h"

#include <algorithm>
#include <optional>
#include <set>

#include "base/error.h"
#include "hub/patch/json_edit.h"

namespace tilewright::hub {
namespace {

constexpr const char* kTokenizer = "AutoTokenizer";

bool is_remote_text(const Json& value) {
  return value.is_string() && value.get_ref<const std::string&>().find("--") != std::string::npos;
}

bool is_class_value(const Json& value) {
  if (value.is_string()) return true;
  return value.is_array() &&
         std::all_of(value.begin(), value.end(), [](const Json& part) { return part.is_string() || part.is_null(); });
}

void require_auto_map(const Json& old, const std::string& where) {
  if (old.is_null() || (old.is_array() && is_class_value(old))) return;
  if (!old.is_object())
    fail({.what = "auto_map is no object",
          .where = where,
          .expected = "{\"AutoModel\": \"module.Class\", …}",
          .found = json_kind(old),
          .fix = "correct the file, or download it again"});
  for (const auto& [name, value] : old.items())
    if (!is_class_value(value) && !value.is_null())
      fail({.what = "auto_map has a value that names no class",
            .where = where + ", " + name,
            .expected = "\"module.Class\", or a pair of these",
            .found = json_kind(value),
            .fix = "correct the file, or download it again"});
}

// The value without its remote parts; nothing if no class is left.
std::optional<Json> local_part(const Json& value) {
  if (!is_remote_code(value)) return value;
  if (!value.is_array()) return std::nullopt;
  Json kept = value;
  for (Json& part : kept)
    if (is_remote_text(part)) part = nullptr;
  if (std::all_of(kept.begin(), kept.end(), [](const Json& part) { return part.is_null(); })) return std::nullopt;
  return kept;
}

Json set_value(const std::string& name, const std::string& value) {
  if (name != kTokenizer) return value;
  const bool fast = value.size() > 4 && value.compare(value.size() - 4, 4, "Fast") == 0;
  return fast ? Json::array({nullptr, value}) : Json::array({value, nullptr});
}

bool is_python_name(std::string_view name) {
  const auto letter = [](char c) { return (c | 0x20) >= 'a' && (c | 0x20) <= 'z'; };
  if (name.empty() || (name[0] >= '0' && name[0] <= '9')) return false;
  return std::all_of(name.begin(), name.end(), [&](char c) {
    return letter(c) || (c >= '0' && c <= '9') || c == '_' || static_cast<unsigned char>(c) >= 0x80;
  });
}

// At least a module and a class.
bool is_module_and_class(std::string_view text) {
  std::size_t parts = 0;
  for (std::size_t begin = 0; begin <= text.size(); ++parts) {
    const std::size_t dot = std::min(text.find('.', begin), text.size());
    if (!is_python_name(text.substr(begin, dot - begin))) return false;
    begin = dot + 1;
  }
  return parts >= 2;
}

void add_modules(const Json& value, std::set<std::string>& names) {
  if (value.is_array()) {
    for (const Json& part : value)
      if (part.is_string()) add_modules(part, names);
    return;
  }
  if (!value.is_string() || is_remote_text(value)) return;
  std::string text = value.get<std::string>();
  if (!is_module_and_class(text)) return;
  text.resize(text.rfind('.'));
  std::replace(text.begin(), text.end(), '.', '/');
  names.insert(text + ".py");
}

void list_remote(const std::string& name, const Json& value, std::vector<std::string>& out) {
  if (value.is_array()) {
    for (const Json& part : value) list_remote(name, part, out);
  } else if (is_remote_text(value)) {
    out.push_back(name + " → " + value.get<std::string>());
  }
}

}  // namespace

bool is_remote_code(const Json& auto_map_value) {
  if (auto_map_value.is_array()) return std::any_of(auto_map_value.begin(), auto_map_value.end(), is_remote_text);
  return is_remote_text(auto_map_value);
}

Json patched_auto_map(const Json& old, const std::map<std::string, std::string>& set, const std::string& where) {
  require_auto_map(old, where);
  Json classes = Json::object();
  if (old.is_array() && set.empty()) return local_part(old).value_or(Json());
  if (old.is_array())
    classes[kTokenizer] = old;
  else if (old.is_object())
    classes = old;
  bool changed = false;
  for (auto it = classes.begin(); it != classes.end();) {
    std::optional<Json> local = set.count(it.key()) ? std::nullopt : local_part(*it);
    changed |= !local || *local != *it;
    it = local ? (*it = std::move(*local), ++it) : classes.erase(it);
  }
  for (const auto& [name, value] : set) classes[name] = set_value(name, value);
  if (!changed && set.empty()) return old;
  return classes.empty() ? Json() : classes;
}

AutoMapEdit edit_auto_map(std::string_view text, const std::map<std::string, std::string>& set,
                          const std::string& where) {
  const std::optional<Json> old = member_of(text, "auto_map", where);
  if (!old && set.empty()) return {std::string(text), {}};
  const Json now = patched_auto_map(old.value_or(Json()), set, where);
  AutoMapEdit edit;
  if (old && now == *old) return {std::string(text), {}};
  edit.text = with_member(text, "auto_map", now.is_null() ? std::nullopt : std::optional<Json>(now), where);
  if (old && old->is_object())
    for (const auto& [name, value] : old->items()) list_remote(name, value, edit.removed);
  else if (old)
    list_remote(kTokenizer, *old, edit.removed);
  return edit;
}

std::vector<std::string> modules_of(const Json& auto_map) {
  std::set<std::string> names;
  if (auto_map.is_object())
    for (const auto& [name, value] : auto_map.items()) add_modules(value, names);
  else
    add_modules(auto_map, names);
  return {names.begin(), names.end()};
}

std::pair<std::string, std::string> parse_auto_map_flag(const std::string& text) {
  const std::size_t equals = text.find('=');
  const auto refuse = [&](const std::string& what, const std::string& fix) {
    fail({.what = what,
          .where = "--auto-map " + text,
          .expected = "NAME=MODULE.CLASS, as in AutoConfig=configuration_x.XConfig",
          .found = "\"" + text + "\"",
          .fix = fix});
  };
  if (equals == std::string::npos) refuse("no \"=\"", "write the name, \"=\", and the class");
  const std::string name = text.substr(0, equals), value = text.substr(equals + 1);
  if (!is_python_name(name)) refuse("not the name of a class of transformers", "write AutoConfig, AutoModel, …");
  if (value.find("--") != std::string::npos)
    refuse("a class from another repository",
           "copy its file into the model with --copy and name the class without repository");
  if (!is_module_and_class(value))
    refuse("not a module and a class", "write the file's name without .py, a dot, and the class");
  return {name, value};
}

}  // namespace tilewright::hub
