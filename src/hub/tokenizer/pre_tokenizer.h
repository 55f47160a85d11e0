// The "pre_tokenizer" section of tokenizer.json: where the text is split into words that the model sees one by one.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "hub/tokenizer/aligned_text.h"
#include "hub/tokenizer/json_node.h"
#include "hub/tokenizer/regex.h"

namespace tilewright::hub {

// The words found so far: parts of one text, in order, never empty.
struct Words {
  struct Span {
    std::uint32_t begin, end;
  };
  TextView view;      // what the spans refer to
  AlignedText owned;  // holds it, once a step has rewritten it
  std::vector<Span> spans;
  std::vector<Match> matches;  // work space
  AlignedText spare;           // work space

  // One span over the whole text.
  void start(const TextView& text, bool tracked);
  TextView word(const Span& span) const { return view.part(span.begin, span.end); }
};

class PreTokenizer {
 public:
  // Split, ByteLevel, Digits, Metaspace, Whitespace, WhitespaceSplit, Punctuation, CharDelimiterSplit, BertPreTokenizer
  // and Sequences of them. Throws Error for another kind. Nothing means: the text is one word.
  static PreTokenizer parse(const std::optional<JsonNode>& node);
  void apply(Words& words) const;

  // True if the last step writes each byte as a character of the byte-level alphabet. A model that reads bytes itself
  // can then spare it.
  bool ends_with_byte_alphabet() const { return byte_alphabet_last_; }
  void leave_out_byte_alphabet();
  // True if a step asks where in the user's text a word stands.
  bool needs_origins() const { return needs_origins_; }

 private:
  using Step = std::function<void(Words&)>;
  void add(const JsonNode& node, int depth);
  void add_byte_level(const JsonNode& node);
  void add_metaspace(const JsonNode& node);
  std::vector<Step> steps_;
  bool byte_alphabet_last_ = false;
  bool needs_origins_ = false;
};

// How Metaspace marks the beginning of a text; its decoder shares the spelling.
enum class PrependScheme { first, never, always };
PrependScheme parse_prepend_scheme(const JsonNode& node);

}  // namespace tilewright::hub
