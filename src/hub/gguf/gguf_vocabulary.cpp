#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <unordered_map>

#include "base/error.h"
#include "hub/gguf/gguf_tokenizer.h"

namespace tilewright::hub {
namespace {

constexpr const char* kFix = "take tokenizer.json from the published model";

struct PreName {
  std::string_view theirs, ours;
};
constexpr PreName kPreNames[] = {{"qwen2", "qwen2"},      {"deepseek-r1-qwen", "qwen2"}, {"llama-bpe", "llama-bpe"},
                                 {"llama3", "llama-bpe"}, {"llama-v3", "llama-bpe"},     {"smollm", "smollm"},
                                 {"starcoder", "smollm"}, {"refact", "smollm"},          {"gpt-2", "gpt-2"},
                                 {"gpt2", "gpt-2"}};

std::string read_pre(const GgufContent& gguf, const std::string& architecture) {
  const std::string pre = gguf.text("tokenizer.ggml.pre").value_or("default");
  if (pre == "default" && architecture != "llama") return "qwen2";  // that family has had no other split
  for (const PreName& name : kPreNames)
    if (name.theirs == pre) return std::string(name.ours);
  std::string known;
  for (const PreName& name : kPreNames) known += (known.empty() ? "" : ", ") + std::string(name.theirs);
  fail({.what = pre == "default" ? "the file does not say how its tokenizer splits text"
                                 : "how this tokenizer splits text is not known here",
        .where = gguf.where() + ", tokenizer.ggml.pre",
        .expected = known,
        .found = "\"" + pre.substr(0, 80) + "\"",
        .fix = kFix});
}

std::vector<std::pair<std::string_view, std::string_view>> read_merges(
    const GgufContent& gguf, const std::unordered_map<std::string_view, std::size_t>& ids) {
  const auto lines = gguf.texts("tokenizer.ggml.merges");
  if (!lines)
    fail({.what = "metadata \"tokenizer.ggml.merges\" is missing",
          .where = gguf.where(),
          .expected = "the merges of a BPE tokenizer",
          .found = "",
          .fix = kFix});
  std::vector<std::pair<std::string_view, std::string_view>> out;
  out.reserve(lines->size());
  for (const std::string_view line : *lines) {
    const std::size_t space = line.find(' ', 1);
    const std::string_view left = line.substr(0, space), right = space < line.size() ? line.substr(space + 1) : "";
    if (!ids.contains(left) || !ids.contains(right) || !ids.contains(std::string(left) + std::string(right)))
      fail({.what = "a merge does not lead from tokens to a token",
            .where = gguf.where() + ", tokenizer.ggml.merges",
            .expected = "two tokens and their concatenation in the vocabulary",
            .found = "\"" + std::string(line.substr(0, 80)) + "\"",
            .fix = kFix});
    out.emplace_back(left, right);
  }
  return out;
}

std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

// SentencePiece merges the neighbours whose concatenation has the best score. As BPE: every way to cut a token into two
// tokens, best score first. Equal scores go by the longer left, then the longer right part, then by ids: the order in
// which published tokenizer.json files of this kind were converted.
std::vector<std::pair<std::string_view, std::string_view>> merges_from_scores(
    const GgufVocabulary& vocabulary, const std::vector<float>& scores,
    const std::unordered_map<std::string_view, std::size_t>& ids) {
  struct Merge {
    float score;
    std::size_t left_length, right_length, product, left, right;
  };
  std::vector<Merge> merges;
  const auto mergeable = [&](std::size_t id) { return vocabulary.kinds[id] == GgufTokenKind::normal; };
  for (std::size_t id = 0; id < vocabulary.tokens.size(); ++id) {
    const std::string_view token = vocabulary.tokens[id];
    if (!mergeable(id) || token.size() > 1000) continue;
    for (std::size_t cut = 1; cut < token.size(); ++cut) {
      if ((static_cast<unsigned char>(token[cut]) & 0xc0) == 0x80) continue;  // inside a character
      const auto left = ids.find(token.substr(0, cut)), right = ids.find(token.substr(cut));
      if (left == ids.end() || right == ids.end() || !mergeable(left->second) || !mergeable(right->second)) continue;
      merges.push_back({std::isnan(scores[id]) ? 0 : scores[id], characters(left->first), characters(right->first), id,
                        left->second, right->second});
    }
  }
  std::sort(merges.begin(), merges.end(), [](const Merge& a, const Merge& b) {
    if (a.score != b.score) return a.score > b.score;
    if (a.left_length != b.left_length) return a.left_length > b.left_length;
    if (a.right_length != b.right_length) return a.right_length > b.right_length;
    return std::tie(a.product, a.left, a.right) < std::tie(b.product, b.left, b.right);
  });
  std::vector<std::pair<std::string_view, std::string_view>> out;
  for (const Merge& merge : merges) out.emplace_back(vocabulary.tokens[merge.left], vocabulary.tokens[merge.right]);
  return out;
}

// A token that ends an answer: the file's own, and control tokens that end a turn in known chat formats.
void collect_ends(const GgufContent& gguf, GgufVocabulary& out) {
  const auto add = [&](std::int64_t id) {
    if (id >= 0 && std::find(out.ends.begin(), out.ends.end(), id) == out.ends.end()) out.ends.push_back(id);
  };
  add(out.eos);
  for (const char* key : {"tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id"})
    if (const auto id = gguf.integer(key); id && *id >= 0 && *id < static_cast<std::int64_t>(out.tokens.size()))
      add(*id);
  for (std::size_t id = 0; id < out.tokens.size(); ++id)
    for (const std::string_view end : {"<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<end_of_turn>"})
      if (out.kinds[id] == GgufTokenKind::control && out.tokens[id] == end) add(static_cast<std::int64_t>(id));
}

}  // namespace

GgufVocabulary read_gguf_vocabulary(const GgufContent& gguf, const std::string& architecture, std::int64_t vocabulary) {
  GgufVocabulary out;
  const std::string model = gguf.required_text("tokenizer.ggml.model");
  if (model != "gpt2" && model != "llama")
    fail({.what = "a tokenizer of this kind cannot be converted",
          .where = gguf.where() + ", tokenizer.ggml.model",
          .expected = "gpt2 (byte-level BPE) or llama (SentencePiece BPE)",
          .found = "\"" + model.substr(0, 80) + "\"",
          .fix = kFix});
  out.sentence_piece = model == "llama";
  if (!out.sentence_piece) out.pre = read_pre(gguf, architecture);
  out.add_space_prefix = gguf.boolean("tokenizer.ggml.add_space_prefix").value_or(out.sentence_piece);
  out.add_bos = gguf.boolean("tokenizer.ggml.add_bos_token").value_or(out.sentence_piece || out.pre == "llama-bpe");
  out.add_eos = gguf.boolean("tokenizer.ggml.add_eos_token").value_or(false);

  const auto tokens = gguf.texts("tokenizer.ggml.tokens");
  if (!tokens || tokens->empty() || static_cast<std::int64_t>(tokens->size()) > vocabulary)
    fail({.what = "the vocabulary does not fit the embedding",
          .where = gguf.where() + ", tokenizer.ggml.tokens",
          .expected = fmt::format("1 to {} tokens", vocabulary),
          .found = fmt::format("{}", tokens ? tokens->size() : 0),
          .fix = kFix});
  out.tokens = *tokens;
  const auto kinds =
      gguf.integers("tokenizer.ggml.token_type").value_or(std::vector<std::int64_t>(out.tokens.size(), 1));
  const auto scores = gguf.reals("tokenizer.ggml.scores").value_or(std::vector<float>());
  if (kinds.size() != out.tokens.size() || (out.sentence_piece && scores.size() != out.tokens.size()))
    fail({.what = "the lists that describe the vocabulary differ in length",
          .where = gguf.where(),
          .expected = fmt::format("{} token types{}", out.tokens.size(), out.sentence_piece ? " and scores" : ""),
          .found = fmt::format("{} and {}", kinds.size(), scores.size()),
          .fix = kFix});
  for (const std::int64_t kind : kinds)
    out.kinds.push_back(kind >= 1 && kind <= 6 ? static_cast<GgufTokenKind>(kind) : GgufTokenKind::normal);

  const auto special = [&](const char* name) {
    const std::int64_t id = gguf.integer(fmt::format("tokenizer.ggml.{}_token_id", name)).value_or(-1);
    if (id < 0 || id >= static_cast<std::int64_t>(out.tokens.size())) return std::int64_t{-1};
    GgufTokenKind& kind = out.kinds[static_cast<std::size_t>(id)];
    if (!gguf.find("tokenizer.ggml.token_type") || kind == GgufTokenKind::unknown) kind = GgufTokenKind::control;
    return id;
  };
  out.bos = special("bos");
  out.eos = special("eos");
  out.unknown = special("unknown");
  out.padding = special("padding");
  out.add_bos = out.add_bos && out.bos >= 0;
  out.add_eos = out.add_eos && out.eos >= 0;
  collect_ends(gguf, out);

  std::unordered_map<std::string_view, std::size_t> ids;
  ids.reserve(out.tokens.size());
  for (std::size_t id = 0; id < out.tokens.size(); ++id)
    if (!ids.emplace(out.tokens[id], id).second)
      fail({.what = "a token occurs twice in the vocabulary",
            .where = gguf.where() + ", tokenizer.ggml.tokens",
            .expected = "each text once",
            .found = fmt::format("\"{}\" as {} and {}", out.tokens[id].substr(0, 80), ids.at(out.tokens[id]), id),
            .fix = kFix});
  out.merges = out.sentence_piece ? merges_from_scores(out, scores, ids) : read_merges(gguf, ids);
  return out;
}

}  // namespace tilewright::hub
