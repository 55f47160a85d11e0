// GGUF files made byte by byte, so that they may lie.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "hub/gguf/gguf_file.h"

namespace tilewright::hub {

class GgufBuilder {
 public:
  template <typename T>
  static std::string raw(T value) {
    std::string out(sizeof value, '\0');
    std::memcpy(out.data(), &value, sizeof value);
    return out;
  }
  static std::string string(const std::string& text) { return raw<std::uint64_t>(text.size()) + text; }
  static std::string f32s(const std::vector<float>& values) {
    return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
  }

  GgufBuilder& pair(const std::string& key, GgufKind kind, const std::string& value) {
    pairs_.push_back(string(key) + raw(static_cast<std::uint32_t>(kind)) + value);
    return *this;
  }
  GgufBuilder& u32(const std::string& key, std::uint32_t value) { return pair(key, GgufKind::u32, raw(value)); }
  GgufBuilder& f32(const std::string& key, float value) { return pair(key, GgufKind::f32, raw(value)); }
  GgufBuilder& flag(const std::string& key, bool value) {
    return pair(key, GgufKind::boolean, raw<std::uint8_t>(value));
  }
  GgufBuilder& text(const std::string& key, const std::string& value) {
    return pair(key, GgufKind::string, string(value));
  }
  GgufBuilder& array(const std::string& key, GgufKind kind, std::uint64_t count, const std::string& elements) {
    return pair(key, GgufKind::array, raw(static_cast<std::uint32_t>(kind)) + raw(count) + elements);
  }
  GgufBuilder& texts(const std::string& key, const std::vector<std::string>& values) {
    std::string elements;
    for (const std::string& value : values) elements += string(value);
    return array(key, GgufKind::string, values.size(), elements);
  }
  GgufBuilder& i32s(const std::string& key, const std::vector<std::int32_t>& values) {
    std::string elements;
    for (const std::int32_t value : values) elements += raw(value);
    return array(key, GgufKind::i32, values.size(), elements);
  }
  // `shape` outermost first, as published. The bytes are appended to the data, aligned.
  GgufBuilder& tensor(const std::string& name, const std::vector<std::uint64_t>& shape, std::uint32_t type,
                      const std::string& bytes) {
    data_.append((32 - data_.size() % 32) % 32, '\0');
    entry(name, shape, type, data_.size());
    data_ += bytes;
    return *this;
  }
  GgufBuilder& f32_tensor(const std::string& name, const std::vector<std::uint64_t>& shape,
                          const std::vector<float>& values) {
    return tensor(name, shape, 0, f32s(values));
  }
  // A tensor that claims bytes without bringing any.
  GgufBuilder& entry(const std::string& name, const std::vector<std::uint64_t>& shape, std::uint32_t type,
                     std::uint64_t offset) {
    std::string out = string(name) + raw(static_cast<std::uint32_t>(shape.size()));
    for (auto dim = shape.rbegin(); dim != shape.rend(); ++dim) out += raw(*dim);
    tensors_.push_back(out + raw(type) + raw(offset));
    return *this;
  }
  GgufBuilder& data(const std::string& bytes) {
    data_ += bytes;
    return *this;
  }

  std::string bytes() const { return bytes(tensors_.size(), pairs_.size()); }
  std::string bytes(std::uint64_t tensor_count, std::uint64_t pair_count, std::uint32_t version = 3) const {
    std::string out = "GGUF" + raw(version) + raw(tensor_count) + raw(pair_count);
    for (const std::string& pair : pairs_) out += pair;
    for (const std::string& tensor : tensors_) out += tensor;
    out.append((32 - out.size() % 32) % 32, '\0');
    return out + data_;
  }

 private:
  std::vector<std::string> pairs_, tensors_;
  std::string data_;
};

}  // namespace tilewright::hub
