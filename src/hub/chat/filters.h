// jinja2's filters and tests, by name.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "hub/chat/value.h"

namespace tilewright::hub::jinja {

// The filtered value is arguments.positional[0].
using Filter = Value (*)(Interpreter&, Arguments&);
using Test = bool (*)(Interpreter&, Arguments&);

struct NamedFilter {
  std::string_view name;
  Filter filter;
};
struct NamedTest {
  std::string_view name;
  Test test;
};

// Null when there is none.
Filter find_filter(std::string_view name);
Test find_test(std::string_view name);
inline bool is_filter(std::string_view name) { return find_filter(name) != nullptr; }
inline bool is_test(std::string_view name) { return find_test(name) != nullptr; }

// Parts of the table, one per file.
struct FilterTable {
  const NamedFilter* begin;
  const NamedFilter* end;
};
FilterTable text_filters();
FilterTable number_filters();
FilterTable sequence_filters();
FilterTable selection_filters();

}  // namespace tilewright::hub::jinja
