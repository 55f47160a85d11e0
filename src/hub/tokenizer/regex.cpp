#include "hub/tokenizer/regex.h"

#include <fmt/format.h>

#include "base/error.h"
#include "hub/tokenizer/regex_syntax.h"
#include "hub/tokenizer/utf8.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

namespace tilewright::hub {

struct Regex::Compiled {
  pcre2_code* code = nullptr;
  bool jit = false;
  std::string pattern, where;
  ~Compiled() { pcre2_code_free(code); }
};

namespace {

constexpr std::size_t kMaxPattern = 64 * 1024;

// What one thread needs to match any pattern.
struct MatchState {
  pcre2_match_data* data = pcre2_match_data_create(1, nullptr);
  pcre2_match_context* context = pcre2_match_context_create(nullptr);
  pcre2_jit_stack* stack = pcre2_jit_stack_create(32 * 1024, 4 * 1024 * 1024, nullptr);
  MatchState() {
    TW_CHECK(data != nullptr && context != nullptr);
    pcre2_jit_stack_assign(context, nullptr, stack);
    pcre2_set_heap_limit(context, 64 * 1024);  // KiB, of the interpreter
  }
  MatchState(const MatchState&) = delete;
  MatchState& operator=(const MatchState&) = delete;
  ~MatchState() {
    pcre2_jit_stack_free(stack);
    pcre2_match_context_free(context);
    pcre2_match_data_free(data);
  }
};

MatchState& match_state() {
  thread_local MatchState state;
  return state;
}

std::string message_of(int code) {
  char text[256];
  const int length = pcre2_get_error_message(code, reinterpret_cast<PCRE2_UCHAR*>(text), sizeof text);
  return length < 0 ? fmt::format("PCRE2 error {}", code) : std::string(text, static_cast<std::size_t>(length));
}

}  // namespace

Regex::Regex(std::string_view pattern, const std::string& where) {
  if (pattern.size() > kMaxPattern) {
    fail({.what = "regular expression is too long",
          .where = where,
          .expected = fmt::format("at most {} bytes", kMaxPattern),
          .found = fmt::format("{}", pattern.size())});
  }
  auto compiled = std::make_shared<Compiled>();
  compiled->pattern = pattern;
  compiled->where = where;
  const std::string translated = pcre_from_oniguruma(pattern, where);
  int code = 0;
  PCRE2_SIZE offset = 0;
  pcre2_compile_context* context = pcre2_compile_context_create(nullptr);
  TW_CHECK(context != nullptr);
  pcre2_set_newline(context, PCRE2_NEWLINE_LF);
  compiled->code =
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()), translated.size(),
                    PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C, &code, &offset, context);
  pcre2_compile_context_free(context);
  if (compiled->code == nullptr) {
    fail({.what = "regular expression is not understood",
          .where = where,
          .expected = "a pattern that PCRE2 compiles",
          .found = fmt::format("{}: {}", pattern, message_of(code))});
  }
  compiled->jit = pcre2_jit_compile(compiled->code, PCRE2_JIT_COMPLETE) == 0;
  compiled_ = std::move(compiled);
}

void Regex::find_all(std::string_view text, std::vector<Match>& out) const {
  if (text.empty()) return;
  MatchState& state = match_state();
  // Backtracking over one long run takes a step a byte, so the limit grows with the text.
  const auto limit =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(2'000'000 + 8 * std::uint64_t{text.size()}, 1u << 31));
  pcre2_set_match_limit(state.context, limit);
  const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
  const PCRE2_SIZE* ends = pcre2_get_ovector_pointer(state.data);
  std::size_t from = 0, covered = 0, last_end = ~std::size_t{0};
  while (from <= text.size()) {
    int rc = compiled_->jit ? pcre2_jit_match(compiled_->code, subject, text.size(), from, 0, state.data, state.context)
                            : pcre2_match(compiled_->code, subject, text.size(), from, PCRE2_NO_UTF_CHECK, state.data,
                                          state.context);
    if (rc == PCRE2_ERROR_JIT_STACKLIMIT) {
      rc = pcre2_match(compiled_->code, subject, text.size(), from, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, state.data,
                       state.context);
    }
    if (rc == PCRE2_ERROR_NOMATCH) break;
    // \K in a lookaround can make a match end before it begins.
    if (rc < 0 || ends[0] > ends[1] || ends[0] < covered) {
      fail({.what = "regular expression gave up on this text",
            .where = compiled_->where,
            .expected = fmt::format("a match within {} steps", limit),
            .found = rc < 0 ? message_of(rc) : "a match that runs backwards",
            .fix = fmt::format("the pattern {} backtracks too much; use a model whose tokenizer has another one",
                               compiled_->pattern)});
    }
    const std::size_t begin = ends[0], end = ends[1];
    if (begin == end && end == last_end) {
      if (end >= text.size()) break;
      from = end + static_cast<std::size_t>(code_point_at(text, end).bytes);
      continue;
    }
    if (begin > covered) out.push_back({static_cast<std::uint32_t>(covered), static_cast<std::uint32_t>(begin), false});
    out.push_back({static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end), true});
    from = covered = last_end = end;
  }
  if (covered < text.size())
    out.push_back({static_cast<std::uint32_t>(covered), static_cast<std::uint32_t>(text.size()), false});
}

}  // namespace tilewright::hub
