#include "hub/tokenizer/normalizer.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "hub/tokenizer/byte_level.h"
#include "hub/tokenizer/pattern.h"
#include "hub/tokenizer/unicode_form.h"
#include "hub/tokenizer/utf8.h"

namespace tilewright::hub {
namespace {

constexpr int kDeepestNormalizer = 32;

// No real tokenizer comes near this; a chain of hostile Replaces would fill the memory.
std::size_t longest_result(std::size_t text) { return (std::size_t{1} << 20) + 64 * text; }

[[noreturn]] void fail_too_long(std::size_t bytes) {
  fail({.what = "normalizer makes the text too long",
        .where = "normalizer",
        .expected = "at most 64 times the text",
        .found = fmt::format("{} bytes", bytes)});
}

bool replace(const Pattern& pattern, const std::string& content, const TextView& in, AlignedText& out) {
  std::vector<Match> matches;
  pattern.find_all(in.text, matches);
  if (std::none_of(matches.begin(), matches.end(), [](const Match& m) { return m.matched; })) return false;
  const auto count =
      static_cast<std::size_t>(std::count_if(matches.begin(), matches.end(), [](const Match& m) { return m.matched; }));
  if (count * content.size() > longest_result(in.text.size())) fail_too_long(count * content.size());
  for (const Match& match : matches) {
    if (!match.matched) {
      out.keep(in, match.begin, match.end);
    } else if (match.begin < match.end) {
      out.insert(content, in.origin(match.begin, match.end));
    } else {  // an empty match: in front of what follows
      const std::size_t at = std::min<std::size_t>(match.begin, in.text.empty() ? 0 : in.text.size() - 1);
      const std::uint32_t place = in.text.empty() ? in.base : in.origin(at, at + 1).begin;
      out.insert(content, {place, place});
    }
  }
  return true;
}

bool prepend(const std::string& what, const TextView& in, AlignedText& out) {
  if (in.text.empty()) return false;
  const std::uint32_t place = in.origin(0, 1).begin;
  out.insert(what, {place, place});
  out.keep(in, 0, in.text.size());
  return true;
}

bool lowercase(const TextView& in, AlignedText& out) {
  std::string lower;
  for (std::size_t at = 0; at < in.text.size();) {
    const CodePoint c = code_point_at(in.text, at);
    lower.clear();
    append_lower_case(lower, c.value);
    out.insert(lower, in.origin(at, at + c.bytes));
    at += c.bytes;
  }
  return true;
}

bool strip(bool left, bool right, const TextView& in, AlignedText& out) {
  std::size_t begin = 0, end = in.text.size();
  while (left && begin < end) {
    const CodePoint c = code_point_at(in.text, begin);
    if (!is_white_space(c.value)) break;
    begin += c.bytes;
  }
  while (right && end > begin) {
    const CodePoint c = last_code_point(in.text.substr(begin, end - begin));
    if (!is_white_space(c.value)) break;
    end -= c.bytes;
  }
  if (begin == 0 && end == in.text.size()) return false;
  out.keep(in, begin, end);
  return true;
}

bool strip_accents(const TextView& in, AlignedText& out) {
  for (std::size_t at = 0; at < in.text.size();) {
    const CodePoint c = code_point_at(in.text, at);
    if (!is_mark(c.value)) out.keep(in, at, at + c.bytes);
    at += c.bytes;
  }
  return true;
}

bool byte_level_characters(const TextView& in, AlignedText& out) {
  const auto& utf8 = byte_level_alphabet().utf8;
  for (std::size_t at = 0; at < in.text.size(); ++at) {
    out.insert(utf8[static_cast<unsigned char>(in.text[at])], in.origin(at, at + 1));
  }
  return true;
}

std::optional<UnicodeForm> form_named(std::string_view type) {
  if (type == "NFC") return UnicodeForm::nfc;
  if (type == "NFD") return UnicodeForm::nfd;
  if (type == "NFKC") return UnicodeForm::nfkc;
  if (type == "NFKD") return UnicodeForm::nfkd;
  return std::nullopt;
}

}  // namespace

Normalizer Normalizer::parse(const std::optional<JsonNode>& node) {
  Normalizer out;
  if (node) out.add(*node, 0);
  return out;
}

void Normalizer::add(const JsonNode& node, int depth) {
  const std::string_view type = node.type();
  if (type == "Sequence") {
    if (depth >= kDeepestNormalizer) node.unsupported("nesting", "deeper", "at most 32 levels");
    for (const JsonNode& item : node.member("normalizers").items()) add(item, depth + 1);
  } else if (const auto form = form_named(type)) {
    steps_.push_back([form = *form](const TextView& in, AlignedText& out) { return normalize_unicode(form, in, out); });
  } else if (type == "Replace") {
    steps_.push_back(
        [pattern = Pattern::parse(node.member("pattern")), content = std::string(node.required_string("content"))](
            const TextView& in, AlignedText& out) { return replace(pattern, content, in, out); });
  } else if (type == "Prepend") {
    steps_.push_back([what = std::string(node.required_string("prepend"))](const TextView& in, AlignedText& out) {
      return prepend(what, in, out);
    });
  } else if (type == "Lowercase") {
    steps_.push_back(lowercase);
  } else if (type == "Strip") {
    steps_.push_back([left = node.boolean_or("strip_left", true), right = node.boolean_or("strip_right", true)](
                         const TextView& in, AlignedText& out) { return strip(left, right, in, out); });
  } else if (type == "StripAccents") {
    steps_.push_back(strip_accents);
  } else if (type == "ByteLevel") {
    steps_.push_back(byte_level_characters);
  } else {
    node.unsupported("normalizer", std::string(type),
                     "NFC, NFD, NFKC, NFKD, Replace, Prepend, Lowercase, Strip, StripAccents, ByteLevel or Sequence");
  }
}

bool Normalizer::apply(const TextView& in, AlignedText& out, AlignedText& spare) const {
  bool changed = false;
  for (const Step& step : steps_) {
    spare.clear();
    spare.tracked = out.tracked;
    if (!step(changed ? out.view() : in, spare)) continue;
    if (spare.text.size() > longest_result(in.text.size())) fail_too_long(spare.text.size());
    std::swap(out, spare);
    changed = true;
  }
  return changed;
}

}  // namespace tilewright::hub
