// A short list held inline, at most N items: what a launch needs, without taking memory from the heap.
#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <new>
#include <utility>

#include "base/error.h"

namespace tilewright::ops {

// Moved and copied item by item; more than N items abort.
template <typename T, std::size_t N>
class InlineList {
 public:
  InlineList() = default;
  InlineList(std::initializer_list<T> items) {
    for (const T& item : items) push_back(item);
  }
  InlineList(const InlineList& other) {
    for (const T& item : other) push_back(item);
  }
  InlineList(InlineList&& other) noexcept {
    for (T& item : other) push_back(std::move(item));
  }
  InlineList& operator=(InlineList other) noexcept {
    clear();
    for (T& item : other) push_back(std::move(item));
    return *this;
  }
  ~InlineList() { clear(); }

  void push_back(T item) {
    TW_CHECK(size_ < N);
    std::construct_at(begin() + size_, std::move(item));
    ++size_;
  }
  void clear() {
    std::destroy(begin(), end());
    size_ = 0;
  }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](std::size_t i) { return begin()[i]; }
  const T& operator[](std::size_t i) const { return begin()[i]; }
  T* begin() { return std::launder(reinterpret_cast<T*>(bytes_)); }
  T* end() { return begin() + size_; }
  const T* begin() const { return std::launder(reinterpret_cast<const T*>(bytes_)); }
  const T* end() const { return begin() + size_; }

 private:
  std::size_t size_ = 0;
  alignas(T) std::byte bytes_[N * sizeof(T)];
};

}  // namespace tilewright::ops
