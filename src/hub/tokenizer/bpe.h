// Byte-pair encoding: the "model" section of tokenizer.json.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "hub/tokenizer/json_node.h"
#include "hub/tokenizer/merge_table.h"
#include "hub/tokenizer/vocabulary.h"

namespace tilewright::hub {

// A token and the bytes of the word that it covers.
struct Symbol {
  std::int32_t id;
  std::uint32_t begin, end;
};

class Bpe {
 public:
  // Throws Error for a model of another kind, a merge of tokens that the vocabulary lacks, an id that two tokens share
  // or that is beyond the range, and a dropout other than 0.
  static Bpe parse(const JsonNode& node);

  const Vocabulary& vocabulary() const { return vocabulary_; }
  // True if words may be given as plain bytes instead of in the byte-level alphabet.
  bool reads_bytes() const { return reads_bytes_; }

  // Work space of one thread.
  struct Scratch {
    std::vector<Symbol> symbols;
    std::vector<std::uint32_t> ranks;
    std::vector<std::uint64_t> heap;
    std::vector<std::uint32_t> next, previous;
    std::string spelled;
  };
  // Appends the tokens of a non-empty word: valid UTF-8, or plain bytes if `bytes` (reads_bytes() only). Merges the
  // pair of the lowest rank first, the leftmost among equals. Near linear in the length of the word.
  void encode(std::string_view word, bool bytes, Scratch& scratch, std::vector<Symbol>& out) const;

 private:
  void read_vocabulary(const JsonNode& node);
  void read_merges(const JsonNode& node);
  void prepare();
  void find_borders();
  void spell(std::string_view word, std::vector<Symbol>& out) const;
  void spell_decorated(std::string_view word, std::vector<Symbol>& out) const;
  bool spell_unknown(std::string_view spelling, std::uint32_t begin, std::uint32_t end, std::optional<Symbol>& unknown,
                     std::vector<Symbol>& out) const;
  std::int32_t character_id(char32_t c) const;
  bool may_join(std::int32_t left, std::int32_t right) const;
  void merge(Symbol* symbols, std::size_t count, Scratch& scratch, std::vector<Symbol>& out) const;
  void merge_few(Symbol* symbols, std::size_t count, std::vector<Symbol>& out) const;
  void merge_many(Symbol* symbols, std::size_t count, Scratch& scratch, std::vector<Symbol>& out) const;

  static constexpr char32_t kLowCharacters = 0x3100;
  Vocabulary vocabulary_;
  MergeTable merges_;
  std::vector<std::pair<std::int32_t, std::int32_t>> pairs_;  // of the merges, until prepare() is done
  bool ignore_merges_ = false, byte_fallback_ = false, fuse_unk_ = false, reads_bytes_ = false;
  std::int32_t unknown_ = -1;
  bool has_unknown_ = false;
  std::string prefix_, suffix_;
  std::array<std::int32_t, 256> byte_ids_;      // of the byte-level alphabet
  std::array<std::int32_t, 256> fallback_ids_;  // of <0x00> … <0xFF>
  std::vector<std::int32_t> low_characters_;    // ids of one-character tokens below U+3100
  std::unordered_map<char32_t, std::int32_t> high_characters_;
  // Pairs of neighbouring characters (as ids) that some merge joins; no merge crosses any other border, so long words
  // fall into parts. Unused if a merge joins tokens that are not spelled character by character.
  bool has_borders_ = false;
  std::unordered_set<std::uint64_t> joined_;
};

}  // namespace tilewright::hub
