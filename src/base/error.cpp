#include "base/error.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

namespace tilewright {
namespace {

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

Error::Error(ErrorText text) : text_(std::move(text)), message_(message_of(text_)) {}

void fail(ErrorText text) { throw Error(std::move(text)); }

void invariant_broken(const char* expression, const char* file, int line) {
  std::fprintf(stderr, "tilewright: broken invariant: %s (%s:%d)\n", expression, file, line);
  std::abort();
}

}  // namespace tilewright
