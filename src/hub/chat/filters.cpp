#include "hub/chat/filters.h"

#include <unordered_map>

namespace tilewright::hub::jinja {

Filter find_filter(std::string_view name) {
  static const std::unordered_map<std::string_view, Filter> table = [] {
    std::unordered_map<std::string_view, Filter> out;
    for (const FilterTable part : {text_filters(), number_filters(), sequence_filters(), selection_filters()})
      for (const NamedFilter* entry = part.begin; entry != part.end; ++entry) out.emplace(entry->name, entry->filter);
    return out;
  }();
  const auto it = table.find(name);
  return it == table.end() ? nullptr : it->second;
}

}  // namespace tilewright::hub::jinja
