// Attributes of an operator call: a few named values, held inline.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace tilewright::ops {

// Text values must live as long as the program (literals).
using AttributeValue = std::variant<std::int64_t, double, bool, DType, Dims, std::string_view>;
std::string to_string(const AttributeValue& value);

class Attributes {
 public:
  static constexpr int kMax = 8;
  struct Entry {
    std::string_view name;
    AttributeValue value;
  };
  Attributes() = default;
  Attributes(std::initializer_list<Entry> entries) {
    for (const Entry& e : entries) set(e.name, e.value);
  }
  Attributes(const Attributes& other) { *this = other; }
  Attributes& operator=(const Attributes& other) {  // copies only what is used
    size_ = other.size_;
    for (std::size_t i = 0; i < static_cast<std::size_t>(size_); ++i) entries_[i] = other.entries_[i];
    return *this;
  }
  void set(std::string_view name, AttributeValue value);
  bool has(std::string_view name) const { return find(name) != nullptr; }
  // Absent: the default. Another type than asked for aborts (schemas are checked by tests).
  std::int64_t integer(std::string_view name, std::int64_t otherwise) const { return get(name, otherwise); }
  double number(std::string_view name, double otherwise) const;  // an integer is accepted
  bool flag(std::string_view name, bool otherwise) const { return get(name, otherwise); }
  DType dtype(std::string_view name, DType otherwise) const { return get(name, otherwise); }
  Dims dims(std::string_view name, const Dims& otherwise = {}) const { return get(name, otherwise); }
  std::string_view text(std::string_view name, std::string_view otherwise) const { return get(name, otherwise); }
  const Entry* begin() const { return entries_.data(); }
  const Entry* end() const { return entries_.data() + size_; }
  int size() const { return size_; }

 private:
  const AttributeValue* find(std::string_view name) const {
    for (const Entry& e : *this)
      if (e.name == name) return &e.value;
    return nullptr;
  }
  template <typename T>
  T get(std::string_view name, const T& otherwise) const {
    const AttributeValue* value = find(name);
    return value ? std::get<T>(*value) : otherwise;
  }
  std::array<Entry, kMax> entries_;
  int size_ = 0;
};

}  // namespace tilewright::ops
