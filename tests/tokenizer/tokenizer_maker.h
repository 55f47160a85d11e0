// Small tokenizer.json texts for tests: a byte-level model, with one section changed.
#pragma once

#include <string>

#include "base/json.h"
#include "hub/tokenizer/byte_level.h"
#include "hub/tokenizer/tokenizer.h"

namespace tilewright::hub {

// All 256 bytes, "th", "the", "Ġthe", and <end>; no normalizer; GPT-2's splitting.
inline Json byte_level_json() {
  Json vocab = Json::object();
  for (int b = 0; b < 256; ++b) vocab[byte_level_alphabet().utf8[b]] = b;
  vocab["th"] = 256;
  vocab["the"] = 257;
  vocab["Ġthe"] = 258;
  const Json byte_level = {
      {"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", true}};
  return {{"version", "1.0"},
          {"added_tokens",
           {{{"id", 259},
             {"content", "<end>"},
             {"single_word", false},
             {"lstrip", false},
             {"rstrip", false},
             {"normalized", false},
             {"special", true}}}},
          {"normalizer", nullptr},
          {"pre_tokenizer", byte_level},
          {"post_processor", nullptr},
          {"decoder", byte_level},
          {"model", {{"type", "BPE"}, {"dropout", nullptr}, {"vocab", vocab}, {"merges", {"t h", "th e", "Ġ the"}}}}};
}

inline Tokenizer made(const Json& json) { return Tokenizer::parse(json.dump(), "made.json"); }

}  // namespace tilewright::hub
