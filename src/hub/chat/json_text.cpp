#include "hub/chat/json_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "hub/chat/text.h"
#include "hub/chat/text_form.h"

namespace tilewright::hub::jinja {
namespace {

class Writer {
 public:
  explicit Writer(const JsonStyle& style) : style_(style) {}

  void write(const Value& value, int level) {
    spend(1);
    if (out.size() > (128u << 20)) expect_size(out.size());
    switch (value.kind()) {
      case Kind::none:
        out += "null";
        return;
      case Kind::boolean:
        out += value.as_boolean() ? "true" : "false";
        return;
      case Kind::integer:
        out += std::to_string(value.as_integer());
        return;
      case Kind::real:
        out += number(value.as_real());
        return;
      case Kind::string:
        quote(value.text());
        return;
      case Kind::list:
      case Kind::tuple:
        list(value.items(), level);
        return;
      case Kind::dict:
        dict(value.dict().entries, level);
        return;
      default:
        throw Fault{"Object of type " + type_name(value) + " is not JSON serializable"};
    }
  }

  std::string out;

 private:
  static std::string number(double value) {
    if (std::isnan(value)) return "NaN";
    if (std::isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
    return repr_of_real(value);
  }

  void new_line(int level) {
    if (!style_.indent) return;
    out += '\n';
    for (int i = 0; i < level; ++i) out += *style_.indent;
  }

  void list(const Values& items, int level) {
    if (items.empty()) {
      out += "[]";
      return;
    }
    out += '[';
    bool first = true;
    for (const Value& item : items) {
      if (!first) out += style_.item_separator;
      first = false;
      new_line(level + 1);
      write(item, level + 1);
    }
    new_line(level);
    out += ']';
  }

  static std::string key_text(const Value& key) {
    switch (key.kind()) {
      case Kind::string:
        return key.text();
      case Kind::none:
        return "null";
      case Kind::boolean:
        return key.as_boolean() ? "true" : "false";
      case Kind::integer:
        return std::to_string(key.as_integer());
      case Kind::real:
        return number(key.as_real());
      default:
        throw Fault{"keys must be str, int, float, bool or None, not " + type_name(key)};
    }
  }

  void dict(const std::vector<std::pair<Value, Value>>& entries, int level) {
    if (entries.empty()) {
      out += "{}";
      return;
    }
    std::vector<const std::pair<Value, Value>*> order;
    for (const auto& entry : entries) order.push_back(&entry);
    if (style_.sort_keys)
      std::stable_sort(order.begin(), order.end(),
                       [](const auto* a, const auto* b) { return less(a->first, b->first); });
    out += '{';
    bool first = true;
    for (const auto* entry : order) {
      if (!first) out += style_.item_separator;
      first = false;
      new_line(level + 1);
      quote(key_text(entry->first));
      out += style_.key_separator;
      write(entry->second, level + 1);
    }
    new_line(level);
    out += '}';
  }

  void unicode_escape(unsigned unit) { out += fmt::format("\\u{:04x}", unit); }

  void quote(const std::string& text) {
    spend(text.size() / 64);
    out += '"';
    for (std::size_t i = 0; i < text.size(); ++i) {
      const char c = text[i];
      if (c == '"' || c == '\\') {
        out += '\\';
        out += c;
      } else if (c == '\n') {
        out += "\\n";
      } else if (c == '\r') {
        out += "\\r";
      } else if (c == '\t') {
        out += "\\t";
      } else if (c == '\b') {
        out += "\\b";
      } else if (c == '\f') {
        out += "\\f";
      } else if (static_cast<unsigned char>(c) < 0x20) {
        unicode_escape(static_cast<unsigned char>(c));
      } else if (static_cast<unsigned char>(c) < 0x80 || !style_.ensure_ascii) {
        out += c;
      } else {
        std::size_t width = 1;
        while (i + width < text.size() && (static_cast<unsigned char>(text[i + width]) & 0xC0) == 0x80) ++width;
        const auto point = static_cast<unsigned>(decode(std::string_view(text).substr(i, width))[0]);
        if (point < 0x10000) {
          unicode_escape(point);
        } else {
          unicode_escape(0xD800 + ((point - 0x10000) >> 10));
          unicode_escape(0xDC00 + ((point - 0x10000) & 0x3FF));
        }
        i += width - 1;
      }
    }
    out += '"';
  }

  const JsonStyle& style_;
};

}  // namespace

std::string to_json(const Value& value, const JsonStyle& style) {
  Writer writer(style);
  writer.write(value, 0);
  return std::move(writer.out);
}

}  // namespace tilewright::hub::jinja
