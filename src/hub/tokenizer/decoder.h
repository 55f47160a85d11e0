// The "decoder" section of tokenizer.json, token by token, so that text can be shown while it is generated.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hub/tokenizer/json_node.h"
#include "hub/tokenizer/pattern.h"
#include "hub/tokenizer/utf8.h"

namespace tilewright::hub {

class Decoder {
 public:
  // ByteLevel, Replace, ByteFallback, Fuse, Strip, Metaspace, BPEDecoder and Sequences of them; nothing means that
  // tokens are joined by spaces. Throws Error for another kind.
  static Decoder parse(const std::optional<JsonNode>& node);

  struct Stage {
    enum class Kind { byte_level, replace, byte_fallback, fuse, strip, metaspace, suffix, join };
    Kind kind;
    bool streams = false;                 // fuse, byte_level: later stages can work on parts of the one token
    std::optional<Pattern> pattern = {};  // replace
    std::string text = {};                // replace: content; strip, metaspace: the character; suffix: the suffix
    std::size_t start = 0, stop = 0;      // strip: how many at either end
    bool keep_first = false;              // metaspace: whether the mark of the first token becomes a space
  };
  std::shared_ptr<const std::vector<Stage>> stages() const { return stages_; }

 private:
  std::shared_ptr<const std::vector<Stage>> stages_;
};

// One decoding: push() the tokens, then finish(). Both append text that will not change any more: whole characters
// only. Text comes as early as the result allows: a run of byte tokens is held until it ends, because one wrong byte
// changes all of it; text behind Fuse that is yet to be replaced is held until finish().
class DecodeRun {
 public:
  explicit DecodeRun(const Decoder& decoder);
  void push(std::string_view token, std::string& out);
  void finish(std::string& out);

 private:
  struct State {
    std::string held;       // what may still change
    std::size_t count = 0;  // tokens seen; leading characters stripped
    bool begun = false;     // strip: the front is done
    LossyUtf8 bytes = {};
  };
  using Stage = Decoder::Stage;
  // `whole`: `token` is a token; otherwise a part of the only token there is.
  void feed(std::size_t index, std::string_view token, bool whole, std::string& out);
  void end(std::size_t index, std::string& out);
  void feed_byte_fallback(std::size_t index, std::string_view token, std::string& out);
  void flush_bytes(std::size_t index, std::string& out);
  void fuse(std::size_t index, std::string_view part, std::string& out);
  std::string replaced(const Stage& stage, std::string_view token);
  std::shared_ptr<const std::vector<Stage>> stages_;
  std::vector<State> states_;
  std::size_t pushed_ = 0, inserted_ = 0;  // bytes, to bound what hostile replacements make
};

}  // namespace tilewright::hub
