// A short list held inline, at most N items: what a launch needs, without taking memory from the heap.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "base/error.h"

namespace tilewright::ops {

// Moved and copied item by item; more than N items abort.
template <typename T, std::size_t N>
class InlineList {
 public:
  InlineList() = default;
  // {a, b, c}: each is moved or copied once, which a std::initializer_list would not do.
  template <typename First, typename... More>
  requires(std::constructible_from<T, First> && (std::constructible_from<T, More> && ...) &&
           !std::same_as<std::remove_cvref_t<First>, InlineList>)
      InlineList(First&& first, More&&... more) {  // NOLINT: implicit on purpose
    static_assert(1 + sizeof...(More) <= N);
    std::construct_at(begin(), std::forward<First>(first));
    size_ = 1;
    ((std::construct_at(begin() + size_, std::forward<More>(more)), ++size_), ...);
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
