#include "hub/tokenizer/pre_tokenizer.h"

#include "base/error.h"
#include "hub/tokenizer/byte_level.h"
#include "hub/tokenizer/pattern.h"
#include "hub/tokenizer/utf8.h"

namespace tilewright::hub {
namespace {

constexpr int kDeepestPreTokenizer = 32;
constexpr std::string_view kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

void split(const Pattern& pattern, SplitBehavior behavior, bool invert, Words& words) {
  std::vector<Words::Span> out;
  out.reserve(words.spans.size() == 1 ? words.view.text.size() / 4 + 4 : words.spans.size() * 2);
  for (const Words::Span span : words.spans) {
    words.matches.clear();
    pattern.find_all(words.view.text.substr(span.begin, span.end - span.begin), words.matches);
    apply_behavior(behavior, invert, words.matches);
    for (const Match& match : words.matches) {
      if (match.begin < match.end) out.push_back({span.begin + match.begin, span.begin + match.end});
    }
  }
  words.spans = std::move(out);
}

// Writes every word anew: `write(word, out)` appends what becomes of it.
template <typename Write>
void rewrite(Words& words, Write write) {
  words.spare.clear();
  words.spare.tracked = words.owned.tracked;
  std::vector<Words::Span> out;
  out.reserve(words.spans.size());
  for (const Words::Span& span : words.spans) {
    const auto begin = static_cast<std::uint32_t>(words.spare.text.size());
    write(words.word(span), words.spare);
    const auto end = static_cast<std::uint32_t>(words.spare.text.size());
    if (begin < end) out.push_back({begin, end});
  }
  std::swap(words.owned, words.spare);
  words.view = words.owned.view();
  words.spans = std::move(out);
}

void insert_front(std::string_view what, const TextView& word, AlignedText& out) {
  const std::uint32_t place = word.origin(0, 1).begin;
  out.insert(what, {place, place});
}

void spell_bytes(Words& words) {
  const auto& utf8 = byte_level_alphabet().utf8;
  rewrite(words, [&](const TextView& word, AlignedText& out) {
    for (std::size_t at = 0; at < word.text.size(); ++at) {
      out.insert(utf8[static_cast<unsigned char>(word.text[at])], word.origin(at, at + 1));
    }
  });
}

bool is_not_word_nor_space(char32_t c) { return !is_word(c) && !is_white_space(c); }

// \w+|[^\w\s]+ : runs of word characters and runs of the rest, white space dropped.
void split_whitespace(Words& words) {
  std::vector<Words::Span> out;
  for (const Words::Span& span : words.spans) {
    std::uint32_t begin = span.begin;
    int kind = 0;  // 0 white space, 1 word, 2 other
    for (std::uint32_t at = span.begin; at < span.end;) {
      const CodePoint c = code_point_at(words.view.text, at);
      const int now = is_word(c.value) ? 1 : is_not_word_nor_space(c.value) ? 2 : 0;
      if (now != kind) {
        if (kind != 0) out.push_back({begin, at});
        begin = at;
        kind = now;
      }
      at += static_cast<std::uint32_t>(c.bytes);
    }
    if (kind != 0) out.push_back({begin, span.end});
  }
  words.spans = std::move(out);
}

}  // namespace

void Words::start(const TextView& text, bool tracked) {
  view = text;
  owned.clear();
  owned.tracked = tracked;
  spans.clear();
  if (!text.text.empty()) spans.push_back({0, static_cast<std::uint32_t>(text.text.size())});
}

PreTokenizer PreTokenizer::parse(const std::optional<JsonNode>& node) {
  PreTokenizer out;
  if (node) out.add(*node, 0);
  return out;
}

void PreTokenizer::apply(Words& words) const {
  for (const Step& step : steps_) step(words);
}

void PreTokenizer::leave_out_byte_alphabet() {
  TW_CHECK(byte_alphabet_last_);
  steps_.pop_back();
  byte_alphabet_last_ = false;
}

void PreTokenizer::add_byte_level(const JsonNode& node) {
  if (node.boolean_or("add_prefix_space", true)) {
    steps_.push_back([](Words& words) {
      rewrite(words, [](const TextView& word, AlignedText& out) {
        if (!word.text.starts_with(' ')) insert_front(" ", word, out);
        out.keep(word, 0, word.text.size());
      });
    });
  }
  if (node.boolean_or("use_regex", true)) {
    steps_.push_back([pattern = Pattern(Regex(kGpt2Pattern, node.where()))](Words& words) {
      split(pattern, SplitBehavior::isolated, false, words);
    });
  }
  steps_.push_back(spell_bytes);
  byte_alphabet_last_ = true;
}

PrependScheme parse_prepend_scheme(const JsonNode& node) {
  PrependScheme scheme = PrependScheme::always;
  const auto named = node.find("prepend_scheme");
  if (named) {
    const std::string_view name = named->string();
    if (name == "first") {
      scheme = PrependScheme::first;
    } else if (name == "never") {
      scheme = PrependScheme::never;
    } else if (name != "always") {
      named->unsupported("prepend scheme", std::string(name), "first, never or always");
    }
  }
  // The older spelling; it may stand beside the newer one but not contradict it.
  if (!node.boolean_or("add_prefix_space", true)) {
    if (named && scheme != PrependScheme::never) {
      fail({.what = "add_prefix_space contradicts prepend_scheme",
            .where = node.where(),
            .expected = "prepend_scheme \"never\" beside add_prefix_space false",
            .found = std::string(named->string())});
    }
    scheme = PrependScheme::never;
  }
  return scheme;
}

void PreTokenizer::add_metaspace(const JsonNode& node) {
  std::string mark;
  append_code_point(mark, node.character("replacement"));
  const PrependScheme scheme = parse_prepend_scheme(node);
  needs_origins_ = needs_origins_ || scheme == PrependScheme::first;
  steps_.push_back([mark, scheme](Words& words) {
    rewrite(words, [&](const TextView& word, AlignedText& out) {
      const bool here =
          scheme == PrependScheme::always || (scheme == PrependScheme::first && word.origin(0, 1).begin == 0);
      if (here && !word.text.starts_with(mark) && !word.text.starts_with(' ')) insert_front(mark, word, out);
      std::size_t copied = 0;
      for (std::size_t at = word.text.find(' '); at != std::string_view::npos; at = word.text.find(' ', copied)) {
        out.keep(word, copied, at);
        out.insert(mark, word.origin(at, at + 1));
        copied = at + 1;
      }
      out.keep(word, copied, word.text.size());
    });
  });
  if (node.boolean_or("split", true)) {
    steps_.push_back(
        [pattern = Pattern(mark)](Words& words) { split(pattern, SplitBehavior::merged_with_next, false, words); });
  }
}

void PreTokenizer::add(const JsonNode& node, int depth) {
  const std::string_view type = node.type();
  if (type == "Sequence") {
    if (depth >= kDeepestPreTokenizer) node.unsupported("nesting", "deeper", "at most 32 levels");
    for (const JsonNode& item : node.member("pretokenizers").items()) add(item, depth + 1);
    return;
  }
  byte_alphabet_last_ = false;
  const auto add_split = [this](Pattern pattern, SplitBehavior behavior, bool invert) {
    steps_.push_back(
        [pattern = std::move(pattern), behavior, invert](Words& words) { split(pattern, behavior, invert, words); });
  };
  if (type == "Split") {
    add_split(Pattern::parse(node.member("pattern")), parse_split_behavior(node.member("behavior")),
              node.boolean_or("invert", false));
  } else if (type == "ByteLevel") {
    add_byte_level(node);
  } else if (type == "Digits") {
    add_split(Pattern(is_number),
              node.boolean_or("individual_digits", false) ? SplitBehavior::isolated : SplitBehavior::contiguous, false);
  } else if (type == "Metaspace") {
    add_metaspace(node);
  } else if (type == "Whitespace") {
    steps_.push_back(split_whitespace);
  } else if (type == "WhitespaceSplit") {
    add_split(Pattern(is_white_space), SplitBehavior::removed, false);
  } else if (type == "Punctuation") {
    const auto behavior = node.find("behavior");
    add_split(Pattern(is_punctuation), behavior ? parse_split_behavior(*behavior) : SplitBehavior::isolated, false);
  } else if (type == "CharDelimiterSplit") {
    std::string delimiter;
    append_code_point(delimiter, node.character("delimiter"));
    add_split(Pattern(delimiter), SplitBehavior::removed, false);
  } else if (type == "BertPreTokenizer") {
    add_split(Pattern(is_white_space), SplitBehavior::removed, false);
    add_split(Pattern(is_punctuation), SplitBehavior::isolated, false);
  } else {
    node.unsupported(
        "pre-tokenizer", std::string(type),
        "Split, ByteLevel, Digits, Metaspace, Whitespace, WhitespaceSplit, Punctuation, CharDelimiterSplit, "
        "BertPreTokenizer or Sequence");
  }
}

}  // namespace tilewright::hub
