// A tokenizer.json, a zero byte, and a text: an Error, or ids that decode, as a whole and streamed, to the same valid
// UTF-8.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "hub/tokenizer/tokenizer.h"
#include "hub/tokenizer/utf8.h"

using namespace tilewright;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t zero = std::min(input.find('\0'), size);
  const std::string text(input.substr(std::min(zero + 1, size)));
  try {
    const auto tokenizer = hub::Tokenizer::parse(input.substr(0, zero), "fuzz");
    std::vector<std::int32_t> ids = tokenizer.encode(text, true);
    const auto pieces = tokenizer.encode_pieces(text, true);
    TW_CHECK(pieces.size() == ids.size());
    for (std::size_t i = 0; i < ids.size(); ++i) {
      TW_CHECK(pieces[i].id == ids[i] && pieces[i].begin <= pieces[i].end && pieces[i].end <= text.size());
    }
    // And ids that nobody encoded: the text's bytes, and every token of a small vocabulary.
    for (const char c : text) ids.push_back(c);
    for (std::int32_t id = 0; id < std::min(tokenizer.vocab_size(), 512); ++id) ids.push_back(id);
    hub::StreamDecoder stream(tokenizer, false);
    std::string streamed;
    for (const std::int32_t id : ids) {
      const std::string part = stream.push(id);
      TW_CHECK(hub::is_valid_utf8(part));
      streamed += part;
    }
    streamed += stream.finish();
    TW_CHECK(streamed == tokenizer.decode(ids, false));
    TW_CHECK(hub::is_valid_utf8(streamed));
  } catch (const Error&) {
  }
  return 0;
}
