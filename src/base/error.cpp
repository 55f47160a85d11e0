#include "base/error.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

namespace tilewright {
namespace {

// Names and values come from files that others wrote: control characters would act on the user's terminal. UTF-8 and
// line breaks pass.
std::string printable(const std::string& text) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const bool c1 = byte == 0xc2 && i + 1 < text.size() && (static_cast<unsigned char>(text[i + 1]) & 0xe0) == 0x80;
    if ((byte >= 0x20 && byte != 0x7f && !c1) || byte == '\n' || byte == '\t') {
      out += text[i];
    } else {
      const auto shown = c1 ? static_cast<unsigned char>(text[++i]) : byte;
      out += {'\\', 'x', kDigits[shown >> 4], kDigits[shown & 15]};
    }
  }
  return out;
}

std::string message_of(const ErrorText& text) {
  std::string out;
  if (text.code) out += std::to_string(*text.code) + (text.name.empty() ? "" : " " + text.name) + ": ";
  if (!text.where.empty()) out += text.where + ": ";
  out += text.what;
  if (!text.expected.empty() || !text.found.empty()) {
    out += "\n  ";
    if (!text.expected.empty()) out += "expected " + text.expected;
    if (!text.expected.empty() && !text.found.empty()) out += ", ";
    if (!text.found.empty()) out += "found " + text.found;
  }
  if (!text.fix.empty()) out += "\n  fix: " + text.fix;
  return out;
}

}  // namespace

Error::Error(ErrorText text) : text_(std::move(text)), message_(printable(message_of(text_))) {}

void fail(ErrorText text) { throw Error(std::move(text)); }

void invariant_broken(const char* expression, const char* file, int line) {
  std::fprintf(stderr, "tilewright: broken invariant: %s (%s:%d)\n", expression, file, line);
  std::abort();
}

}  // namespace tilewright
