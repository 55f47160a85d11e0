#include "port/built_in_families.h"

#include <algorithm>
#include <cctype>

namespace tilewright::port {
namespace {

std::string lower_case(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

// "SmolLM2" of "SmolLM2-135M", "Llama-3.2" of "Llama-3.2-1B": the line of models that a size belongs to.
std::string without_size(const std::string& name) { return name.substr(0, name.rfind('-')); }

// What people call a model: perhaps with its publisher before it and the use it was trained for behind it.
std::string without_publisher_and_use(std::string name) {
  if (const std::size_t slash = name.rfind('/'); slash != std::string::npos) name.erase(0, slash + 1);
  for (const char* use : {"instruct", "chat", "base", "it", "hf"}) {
    const std::string ending = lower_case(name);
    const std::string_view word(use);
    if (ending.size() > word.size() + 1 && ending.ends_with(word) &&
        (ending[ending.size() - word.size() - 1] == '-' || ending[ending.size() - word.size() - 1] == '_'))
      name.resize(name.size() - word.size() - 1);
  }
  return name;
}

}  // namespace

hub::Families built_in_families(const models::FamilyRegistry& registry) {
  return {.names =
              [&registry] {
                std::vector<std::string> out;
                for (const models::Family& family : registry.families()) out.push_back(family.model_type);
                return out;
              },
          .find = [&registry](const std::string& given) -> std::optional<std::string> {
            for (const std::string& name : {given, without_publisher_and_use(given)}) {
              if (const models::Family* family = registry.find(name)) return family->model_type;
              for (const models::Family& family : registry.families())
                for (const models::PublishedShape& shape : family.shapes)
                  if (lower_case(without_size(shape.name)) == lower_case(name)) return family.model_type;
            }
            return std::nullopt;
          }};
}

}  // namespace tilewright::port
