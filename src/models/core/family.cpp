#include "models/core/family.h"

#include <algorithm>
#include <cctype>

#include "base/error.h"
#include "base/nearest.h"

namespace tilewright::models {
namespace {

// "Qwen3-1.7B" and "qwen3_1_7b" are one name; "Qwen3-17B" is another.
std::string plain(std::string_view name) {
  std::string out;
  for (const char c : name)
    out += std::isalnum(static_cast<unsigned char>(c)) ? static_cast<char>(std::tolower(static_cast<unsigned char>(c)))
                                                       : '-';
  return out;
}

std::string joined(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
  return out;
}

}  // namespace

void FamilyRegistry::add(Family family) {
  for (const Family& f : families_) TW_CHECK(f.model_type != family.model_type);
  families_.push_back(std::move(family));
}

const Family* FamilyRegistry::find(std::string_view name) const {
  const std::string wanted = plain(name);
  for (const Family& f : families_)
    if (plain(f.model_type) == wanted) return &f;
  for (const Family& f : families_)
    for (const PublishedShape& s : f.shapes)
      if (plain(s.name) == wanted) return &f;
  return nullptr;
}

const Family& FamilyRegistry::of_config(const Json& config, const std::string& where) const {
  const std::string type = required<std::string>(config, "model_type", where);
  for (const Family& f : families_)
    if (f.model_type == type) return f;
  std::vector<std::string> known;
  for (const Family& f : families_) known.push_back(f.model_type);
  const std::string near = nearest(type, known, 0.7);
  fail({.what = "this family of models is not built in" + (near.empty() ? "" : "; the nearest one is " + near),
        .where = where,
        .expected = "model_type " + joined(known),
        .found = type,
        .fix = "code that comes with a model is never run; CONTRIBUTING.md says how to add a family"});
}

FamilyRegistry::Sized FamilyRegistry::shape(std::string_view name) const {
  std::vector<std::string> known;
  for (const Family& f : families_)
    for (const PublishedShape& s : f.shapes) {
      if (plain(s.name) == plain(name)) return {&f, &s};
      known.push_back(s.name);
    }
  const std::string near = nearest(name, known, 0.5);
  fail({.what = "no such shape" + (near.empty() ? "" : "; did you mean " + near + "?"),
        .where = "--shape",
        .expected = "one of " + joined(known),
        .found = std::string(name),
        .fix = ""});
}

nn::DecoderConfig read_config(const Family& family, const Json& config, const std::string& where) {
  nn::DecoderConfig out = family.read_config(config, where);
  out.family = family.model_type;
  nn::check_config(out, where);
  return out;
}

}  // namespace tilewright::models
