// Text ↔ token ids, exactly as the model's published tokenizer.json says.
//
// The reference is Python's `tokenizers`: same ids, same decoded text. Where we differ on purpose: the "truncation" and
// "padding" sections are ignored (callers want all ids of a text), and an id that two tokens share is an error.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::hub {

// A token of an encoded text. [begin, end) are the bytes of the given text that it stands for (where normalising has
// joined or rewritten characters: all that became this); a special token that was put around the text has begin = end.
struct Piece {
  std::int32_t id = 0;
  std::string text;  // the token as the vocabulary spells it: "Ġthe", "▁the"
  std::uint32_t begin = 0, end = 0;
};

// Immutable; copies share the data; safe to use from several threads.
class Tokenizer {
 public:
  // Reads tokenizer.json, or that file in a model directory. Throws Error if the file is missing, damaged, of another
  // kind (WordPiece, Unigram …) or uses a construct that is not supported; the error names the construct and its place.
  static Tokenizer load(const std::filesystem::path& path);
  // The same from memory; `where` names it in errors.
  static Tokenizer parse(std::string_view json, const std::string& where);

  // The text may be any bytes of at most 1 GiB: every ill-formed UTF-8 part counts as U+FFFD, as in lossy reading.
  // `add_special_tokens` adds what the post-processor puts around a text (Llama's and Gemma's BOS); special tokens that
  // are spelled out in the text are always recognised. Throws Error if a pattern of the file runs wild on the text.
  std::vector<std::int32_t> encode(std::string_view text, bool add_special_tokens) const;
  std::vector<Piece> encode_pieces(std::string_view text, bool add_special_tokens) const;

  // Always valid UTF-8. Ids without a token are left out, as in the reference (models have more rows than tokens); use
  // has_token() to refuse them.
  std::string decode(std::span<const std::int32_t> ids, bool skip_special_tokens) const;

  std::optional<std::int32_t> token_id(std::string_view token) const;
  bool has_token(std::int32_t id) const;
  std::string token(std::int32_t id) const;  // throws Error if there is none
  int vocab_size() const;                    // the largest id + 1, added tokens included
  bool is_special(std::int32_t id) const;    // an added token marked special
  // What is odd about the file and was decided the reference's way; one line each.
  const std::vector<std::string>& notes() const;

 private:
  friend class StreamDecoder;
  struct Parts;
  std::shared_ptr<const Parts> parts_;
};

// Decodes while ids are generated. All that push() and finish() return, joined, equals decode() of all ids; each return
// value consists of whole characters, so a character whose bytes are spread over tokens comes with its last one.
class StreamDecoder {
 public:
  StreamDecoder(const Tokenizer& tokenizer, bool skip_special_tokens);
  ~StreamDecoder();
  StreamDecoder(StreamDecoder&&) noexcept;
  StreamDecoder& operator=(StreamDecoder&&) noexcept;
  std::string push(std::int32_t id);
  std::string finish();  // afterwards a new text may begin

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tilewright::hub
