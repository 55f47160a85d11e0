#include "hub/tokenizer/unicode_form.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/error.h"
#include "hub/tokenizer/utf8.h"

namespace tilewright::hub {
namespace {

bool composes(UnicodeForm form) { return form == UnicodeForm::nfc || form == UnicodeForm::nfkc; }
bool is_compatible(UnicodeForm form) { return form == UnicodeForm::nfkc || form == UnicodeForm::nfkd; }

utf8proc_option_t options_of(UnicodeForm form) {
  return static_cast<utf8proc_option_t>(UTF8PROC_STABLE | (composes(form) ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE) |
                                        (is_compatible(form) ? UTF8PROC_COMPAT : 0));
}

int combining_class(utf8proc_int32_t c) { return utf8proc_get_property(c)->combining_class; }

// Decomposes, orders and composes the code points of one separable part.
void normalize_part(UnicodeForm form, std::string_view part, std::vector<utf8proc_int32_t>& points, std::string& out) {
  points.clear();
  for (std::size_t at = 0; at < part.size();) {
    const CodePoint c = code_point_at(part, at);
    std::array<utf8proc_int32_t, 32> pieces;  // the longest decomposition has 18
    int last_class = 0;
    const auto decompose = static_cast<utf8proc_option_t>((options_of(form) & ~UTF8PROC_COMPOSE) | UTF8PROC_DECOMPOSE);
    const utf8proc_ssize_t count = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c.value), pieces.data(),
                                                           pieces.size(), decompose, &last_class);
    TW_CHECK(count >= 0 && count <= static_cast<utf8proc_ssize_t>(pieces.size()));
    points.insert(points.end(), pieces.begin(), pieces.begin() + count);
    at += c.bytes;
  }
  for (auto run = points.begin(); run != points.end();) {
    if (combining_class(*run) == 0) {
      ++run;
      continue;
    }
    const auto end = std::find_if(run, points.end(), [](utf8proc_int32_t c) { return combining_class(c) == 0; });
    std::stable_sort(run, end,
                     [](utf8proc_int32_t a, utf8proc_int32_t b) { return combining_class(a) < combining_class(b); });
    run = end;
  }
  utf8proc_ssize_t length = static_cast<utf8proc_ssize_t>(points.size());
  if (composes(form) && length > 0) length = utf8proc_normalize_utf32(points.data(), length, options_of(form));
  TW_CHECK(length >= 0);
  for (utf8proc_ssize_t i = 0; i < length; ++i) append_code_point(out, static_cast<char32_t>(points[i]));
}

// One bit a character: it stays as it is and never joins with what stands before it.
class StableCharacters {
 public:
  explicit StableCharacters(UnicodeForm form) : bits_(kEnd / 64) {
    std::string text, result;
    std::vector<utf8proc_int32_t> points;
    for (char32_t c = 0; c < kEnd; ++c) {
      if (c >= 0xD800 && c <= 0xDFFF) continue;
      const utf8proc_property_t* property = utf8proc_get_property(static_cast<utf8proc_int32_t>(c));
      if (property->combining_class != 0) continue;
      // Hangul is composed by arithmetic: a vowel or a final consonant joins with what stands before.
      const bool jamo = (c >= 0x1160 && c <= 0x11FF);
      const bool second = property->comb_index != UINT16_MAX && property->comb_index >= 0x8000;
      if (composes(form) && (jamo || second)) continue;
      if (property->decomp_seqindex != UINT16_MAX || (c >= 0xAC00 && c <= 0xD7A3)) {
        text.clear();
        result.clear();
        append_code_point(text, c);
        if (c >= 0xAC00 && c <= 0xD7A3) {
          if (!composes(form)) continue;
        } else {
          normalize_part(form, text, points, result);
          if (result != text) continue;
        }
      }
      bits_[c / 64] |= std::uint64_t{1} << (c % 64);
    }
  }
  bool operator()(char32_t c) const { return c < kEnd && (bits_[c / 64] >> (c % 64) & 1u) != 0; }

 private:
  static constexpr char32_t kEnd = 0x30000;
  std::vector<std::uint64_t> bits_;
};

const StableCharacters& stable_characters(UnicodeForm form) {
  switch (form) {
    case UnicodeForm::nfc: {
      static const StableCharacters table(form);
      return table;
    }
    case UnicodeForm::nfd: {
      static const StableCharacters table(form);
      return table;
    }
    case UnicodeForm::nfkc: {
      static const StableCharacters table(form);
      return table;
    }
    default: {
      static const StableCharacters table(form);
      return table;
    }
  }
}

}  // namespace

bool normalize_unicode(UnicodeForm form, const TextView& in, AlignedText& out) {
  const StableCharacters& stable = stable_characters(form);
  const std::string_view text = in.text;
  std::vector<utf8proc_int32_t> points;
  std::string result;
  bool changed = false;
  std::size_t copied = 0, last_stable = 0;  // the part [last_stable, at) may still change
  for (std::size_t at = 0; at < text.size();) {
    CodePoint c = code_point_at(text, at);
    if (c.value < 0x80 || stable(c.value)) {
      last_stable = at;
      at += c.bytes;
      continue;
    }
    // From the last stable character to the next one: what cannot be separated.
    std::size_t end = at + c.bytes;
    while (end < text.size()) {
      c = code_point_at(text, end);
      if (c.value < 0x80 || stable(c.value)) break;
      end += c.bytes;
    }
    const std::size_t begin = std::max(last_stable, copied);
    result.clear();
    normalize_part(form, text.substr(begin, end - begin), points, result);
    if (result != text.substr(begin, end - begin)) {
      changed = true;
      out.keep(in, copied, begin);
      out.insert(result, in.origin(begin, end));
      copied = end;
    }
    at = end;
    last_stable = end;
  }
  if (!changed) return false;
  out.keep(in, copied, text.size());
  return true;
}

}  // namespace tilewright::hub
