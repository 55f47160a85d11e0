// The "added_tokens" section of tokenizer.json: tokens that are cut out of the text before anything else looks at it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "hub/tokenizer/json_node.h"
#include "hub/tokenizer/normalizer.h"
#include "hub/tokenizer/vocabulary.h"

namespace tilewright::hub {

struct AddedToken {
  std::string content;
  std::string
      spelling;  // what it decodes to: the content, normalised if `normalized` (as the reference does since 0.23)
  std::int32_t id = -1;
  bool special = false, lstrip = false, rstrip = false, single_word = false, normalized = false;
};

class AddedTokens {
 public:
  // As the reference does, the declared id is not believed: a token that the model's vocabulary holds has its id there,
  // any other gets the next free one; of a token added twice the first counts.
  static AddedTokens parse(const std::optional<JsonNode>& node, const Normalizer& normalizer, const Vocabulary& model);

  // A part of the text: an added token, or text (token is null).
  struct Part {
    std::uint32_t begin, end;
    const AddedToken* token;
  };
  // Leftmost-longest matches of the tokens that are looked for in raw (normalized = false) or in normalised text.
  void split(std::string_view text, bool normalized, std::vector<Part>& out) const;

  const AddedToken* find(std::string_view content) const;                           // null if there is none
  const AddedToken* by_id(std::int32_t id) const;                                   // null if there is none
  std::int32_t id_end() const { return static_cast<std::int32_t>(by_id_.size()); }  // largest id + 1
  // One line for each declared id that was not the one the token got.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  class Trie {
   public:
    void add(std::string_view content, std::int32_t token);
    bool empty() const { return nodes_.size() <= 1; }
    // Token of the longest match at the front of `text` and its length, or −1.
    std::pair<std::int32_t, std::size_t> longest(std::string_view text) const;
    bool may_begin(unsigned char byte) const { return root_[byte] != 0; }

   private:
    struct Node {
      std::uint32_t child = 0, sibling = 0;
      std::int32_t token = -1;
      unsigned char byte = 0;
    };
    std::vector<Node> nodes_{Node{}};
    std::vector<std::uint32_t> root_ = std::vector<std::uint32_t>(256);
  };
  std::vector<AddedToken> tokens_;
  std::vector<std::int32_t> by_id_;  // index in tokens_, or −1
  std::unordered_map<std::string, std::int32_t> by_content_;
  Trie raw_, normalized_;
  std::vector<std::string> notes_;
};

}  // namespace tilewright::hub
