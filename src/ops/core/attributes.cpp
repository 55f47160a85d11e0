#include "ops/core/attributes.h"

#include <fmt/format.h>

#include "base/error.h"

namespace tilewright::ops {

void Attributes::set(std::string_view name, AttributeValue value) {
  for (int i = 0; i < size_; ++i)
    if (entries_[static_cast<std::size_t>(i)].name == name) {
      entries_[static_cast<std::size_t>(i)].value = value;
      return;
    }
  TW_CHECK(size_ < kMax);
  entries_[static_cast<std::size_t>(size_++)] = {name, value};
}

double Attributes::number(std::string_view name, double otherwise) const {
  const AttributeValue* value = find(name);
  if (!value) return otherwise;
  if (const auto* i = std::get_if<std::int64_t>(value)) return static_cast<double>(*i);
  return std::get<double>(*value);
}

std::string to_string(const AttributeValue& value) {
  struct Visitor {
    std::string operator()(std::int64_t v) const { return fmt::format("{}", v); }
    std::string operator()(double v) const { return fmt::format("{}", v); }
    std::string operator()(bool v) const { return v ? "true" : "false"; }
    std::string operator()(DType v) const { return std::string(dtype_name(v)); }
    std::string operator()(const Dims& v) const { return tilewright::to_string(v); }
    std::string operator()(std::string_view v) const { return std::string(v); }
  };
  return std::visit(Visitor{}, value);
}

}  // namespace tilewright::ops
