// Text on its way through the tokenizer, and where each of its bytes came from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::hub {

// A range of bytes of the text that the user gave.
struct Origin {
  std::uint32_t begin = 0, end = 0;
};

// A valid UTF-8 text that is not owned. Without `origins`, byte i came from byte base + i.
struct TextView {
  std::string_view text;
  const Origin* origins = nullptr;
  std::uint32_t base = 0;

  Origin origin(std::size_t begin, std::size_t end) const {  // of a non-empty part
    if (origins == nullptr) return {static_cast<std::uint32_t>(base + begin), static_cast<std::uint32_t>(base + end)};
    return {origins[begin].begin, origins[end - 1].end};
  }
  TextView part(std::size_t begin, std::size_t end) const {
    return {text.substr(begin, end - begin), origins == nullptr ? nullptr : origins + begin,
            static_cast<std::uint32_t>(base + begin)};
  }
};

// The text a step makes from another one. Origins are kept only when `tracked`.
struct AlignedText {
  std::string text;
  std::vector<Origin> origins;
  bool tracked = false;

  void clear() {
    text.clear();
    origins.clear();
  }
  void keep(const TextView& from, std::size_t begin, std::size_t end) {
    text += from.text.substr(begin, end - begin);
    if (!tracked) return;
    for (std::size_t i = begin; i < end; ++i) origins.push_back(from.origin(i, i + 1));
  }
  void insert(std::string_view added, Origin origin) {
    text += added;
    if (tracked) origins.insert(origins.end(), added.size(), origin);
  }
  // Valid until this changes.
  TextView view() const { return {text, tracked ? origins.data() : nullptr, 0}; }
};

}  // namespace tilewright::hub
