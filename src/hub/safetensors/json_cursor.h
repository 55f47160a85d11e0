// Reads JSON from front to back without building a tree, for headers that may be 100 MB long. The caller asks for what
// the schema wants next; anything else throws Mismatch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tilewright::hub {

class JsonCursor {
 public:
  struct Mismatch {
    std::string reason;  // "a number" …: what was wanted, or what is malformed
    std::size_t at;      // byte in the text
  };

  explicit JsonCursor(std::string_view text) : text_(text) {}

  // The next character after white space, '\0' at the end; not consumed.
  char peek();
  // Consumes `wanted` after white space if it is there.
  bool accept(char wanted);
  void expect(char wanted);
  // Consumes "null" if it is there.
  bool accept_null();
  // A string with its escapes resolved (lone surrogates are refused).
  std::string string();
  // A non-negative integer without fraction or exponent that fits 64 bits.
  std::uint64_t unsigned_number();
  // Passes over any value; nesting deeper than 128 is refused.
  void skip_value(int depth = 0);
  // Only white space may be left.
  void expect_end();
  [[noreturn]] void mismatch(std::string reason) const;

 private:
  void append_escape(std::string& out);
  std::uint32_t hex4();

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace tilewright::hub
