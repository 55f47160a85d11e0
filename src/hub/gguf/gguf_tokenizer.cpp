#include "hub/gguf/gguf_tokenizer.h"

#include <fmt/format.h>

#include "base/error.h"

namespace tilewright::hub {
namespace {

using Ordered = nlohmann::ordered_json;

std::string dumped(const Ordered& value) {
  try {
    return value.dump();
  } catch (const nlohmann::json::exception&) {
    fail({.what = "the tokenizer holds text that is not UTF-8",
          .where = "tokenizer.ggml.tokens",
          .expected = "UTF-8",
          .found = "",
          .fix = "take tokenizer.json from the published model"});
  }
}
std::string quoted(std::string_view text) { return dumped(Ordered(std::string(text))); }

Ordered byte_level(bool prefix, bool trim, bool regex) {
  return {{"type", "ByteLevel"}, {"add_prefix_space", prefix}, {"trim_offsets", trim}, {"use_regex", regex}};
}

// The expression by which Qwen2 and Llama 3 cut text; they differ in how many digits stay together.
Ordered split_then_bytes(const char* digits) {
  const std::string expression = std::string(R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|)") + digits +
                                 R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
  const Ordered split = {
      {"type", "Split"}, {"pattern", {{"Regex", expression}}}, {"behavior", "Isolated"}, {"invert", false}};
  return {{"type", "Sequence"}, {"pretokenizers", Ordered::array({split, byte_level(false, true, false)})}};
}

Ordered normalizer(const GgufVocabulary& v) {
  if (!v.sentence_piece) return v.pre == "qwen2" ? Ordered{{"type", "NFC"}} : Ordered(nullptr);
  const Ordered replace = {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", "▁"}};
  if (!v.add_space_prefix) return replace;
  const Ordered prepend = {{"type", "Prepend"}, {"prepend", "▁"}};
  return {{"type", "Sequence"}, {"normalizers", Ordered::array({prepend, replace})}};
}

Ordered pre_tokenizer(const GgufVocabulary& v) {
  if (v.sentence_piece) return nullptr;
  if (v.pre == "qwen2") return split_then_bytes(R"(\p{N})");
  if (v.pre == "llama-bpe") return split_then_bytes(R"(\p{N}{1,3})");
  if (v.pre == "gpt-2") return byte_level(false, true, true);
  const Ordered digits = {{"type", "Digits"}, {"individual_digits", true}};
  return {{"type", "Sequence"}, {"pretokenizers", Ordered::array({digits, byte_level(false, true, true)})}};
}

Ordered post_processor(const GgufVocabulary& v) {
  const Ordered bytes = byte_level(true, false, true);
  if (!v.add_bos && !v.add_eos) return v.sentence_piece ? Ordered(nullptr) : bytes;
  Ordered single = Ordered::array(), pair = Ordered::array(), specials = Ordered::object();
  const auto special = [&](Ordered& list, std::int64_t id, int type) {
    const std::string name(v.tokens[static_cast<std::size_t>(id)]);
    list.push_back({{"SpecialToken", {{"id", name}, {"type_id", type}}}});
    specials[name] = {{"id", name}, {"ids", Ordered::array({id})}, {"tokens", Ordered::array({name})}};
  };
  const auto sequence = [&](Ordered& list, const char* name, int type) {
    if (v.add_bos) special(list, v.bos, type);
    list.push_back({{"Sequence", {{"id", name}, {"type_id", type}}}});
    if (v.add_eos) special(list, v.eos, type);
  };
  sequence(single, "A", 0);
  sequence(pair, "A", 0);
  sequence(pair, "B", 1);
  const Ordered between = {
      {"type", "TemplateProcessing"}, {"single", single}, {"pair", pair}, {"special_tokens", specials}};
  if (v.sentence_piece) return between;
  return {{"type", "Sequence"}, {"processors", Ordered::array({bytes, between})}};
}

Ordered decoder(const GgufVocabulary& v) {
  if (!v.sentence_piece) return byte_level(true, true, true);
  Ordered steps = Ordered::array();
  steps.push_back({{"type", "Replace"}, {"pattern", {{"String", "▁"}}}, {"content", " "}});
  steps.push_back({{"type", "ByteFallback"}});
  steps.push_back({{"type", "Fuse"}});
  if (v.add_space_prefix) steps.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
  return {{"type", "Sequence"}, {"decoders", steps}};
}

bool is_added(GgufTokenKind kind) {
  return kind == GgufTokenKind::control || kind == GgufTokenKind::unknown || kind == GgufTokenKind::user_defined;
}

Ordered added_token(const GgufVocabulary& v, std::size_t id) {
  return {{"content", std::string(v.tokens[id])},
          {"lstrip", false},
          {"normalized", false},
          {"rstrip", false},
          {"single_word", false},
          {"special", v.kinds[id] != GgufTokenKind::user_defined}};
}

// Rows of the embedding that no token uses are named "[PAD<id>]" by converters; the published vocabulary does not list
// them.
bool is_filler(const GgufVocabulary& v, std::size_t id) {
  return v.kinds[id] == GgufTokenKind::unused && v.tokens[id] == fmt::format("[PAD{}]", id);
}

}  // namespace

std::string tokenizer_json(const GgufVocabulary& v) {
  std::vector<std::string> added, vocab, merges;
  for (std::size_t id = 0; id < v.tokens.size(); ++id) {
    if (is_filler(v, id)) continue;
    vocab.push_back(fmt::format("      {}: {}", quoted(v.tokens[id]), id));
    if (!is_added(v.kinds[id])) continue;
    Ordered token = {{"id", id}};
    token.update(added_token(v, id));
    added.push_back("    " + dumped(token));
  }
  for (const auto& [left, right] : v.merges)
    merges.push_back(fmt::format("      [{}, {}]", quoted(left), quoted(right)));

  const bool unknown = v.sentence_piece && v.unknown >= 0;
  std::string out = "{\n  \"version\": \"1.0\",\n  \"truncation\": null,\n  \"padding\": null,\n";
  out += fmt::format("  \"added_tokens\": [\n{}\n  ],\n", fmt::join(added, ",\n"));
  out += "  \"normalizer\": " + dumped(normalizer(v)) + ",\n";
  out += "  \"pre_tokenizer\": " + dumped(pre_tokenizer(v)) + ",\n";
  out += "  \"post_processor\": " + dumped(post_processor(v)) + ",\n";
  out += "  \"decoder\": " + dumped(decoder(v)) + ",\n";
  out += fmt::format(
      "  \"model\": {{\n    \"type\": \"BPE\",\n    \"dropout\": null,\n    \"unk_token\": {},\n"
      "    \"continuing_subword_prefix\": null,\n    \"end_of_word_suffix\": null,\n    \"fuse_unk\": {},\n"
      "    \"byte_fallback\": {},\n    \"ignore_merges\": {},\n",
      unknown ? quoted(v.tokens[static_cast<std::size_t>(v.unknown)]) : "null", v.sentence_piece, v.sentence_piece,
      v.pre == "llama-bpe");
  out += fmt::format("    \"vocab\": {{\n{}\n    }},\n    \"merges\": [\n{}\n    ]\n  }}\n}}\n",
                     fmt::join(vocab, ",\n"), fmt::join(merges, ",\n"));
  return out;
}

Ordered tokenizer_config_json(const GgufVocabulary& v, std::int64_t context) {
  Ordered out;
  out["add_bos_token"] = v.add_bos;
  out["add_eos_token"] = v.add_eos;
  out["added_tokens_decoder"] = Ordered::object();
  for (std::size_t id = 0; id < v.tokens.size(); ++id)
    if (is_added(v.kinds[id])) out["added_tokens_decoder"][std::to_string(id)] = added_token(v, id);
  const auto name = [&](const char* key, std::int64_t id) {
    if (id >= 0) out[key] = std::string(v.tokens[static_cast<std::size_t>(id)]);
  };
  name("bos_token", v.bos);
  out["clean_up_tokenization_spaces"] = false;
  name("eos_token", v.eos);
  out["model_max_length"] = context;
  name("pad_token", v.padding);
  out["tokenizer_class"] = "PreTrainedTokenizerFast";
  name("unk_token", v.unknown);
  return out;
}

Ordered generation_config_json(const GgufVocabulary& v) {
  Ordered out;
  out["_from_model_config"] = true;
  if (v.bos >= 0) out["bos_token_id"] = v.bos;
  if (v.ends.size() == 1) out["eos_token_id"] = v.ends.front();
  if (v.ends.size() > 1) out["eos_token_id"] = v.ends;
  if (v.padding >= 0) out["pad_token_id"] = v.padding;
  return out;
}

}  // namespace tilewright::hub
