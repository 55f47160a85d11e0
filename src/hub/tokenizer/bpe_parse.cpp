// Reading a Bpe from tokenizer.json, and the tables that follow from it.
#include <fmt/format.h>

#include "base/error.h"
#include "hub/tokenizer/bpe.h"
#include "hub/tokenizer/byte_level.h"
#include "hub/tokenizer/utf8.h"

namespace tilewright::hub {
namespace {

std::string string_or_empty(const JsonNode& node, std::string_view key) {
  const auto value = node.find(key);
  return value ? std::string(value->string()) : std::string();
}

[[noreturn]] void fail_merge(const JsonNode& merges, std::size_t rank, const std::string& what,
                             const std::string& found) {
  fail({.what = what,
        .where = fmt::format("{}[{}]", merges.where(), rank),
        .expected = "two tokens of model.vocab whose joined spelling is one, too",
        .found = found,
        .fix = "take tokenizer.json from the model's repository again"});
}

}  // namespace

Bpe Bpe::parse(const JsonNode& node) {
  const auto type = node.find("type");
  if (type && type->string() != "BPE") {
    node.unsupported("tokenizer model", std::string(type->string()), "BPE (byte-level or with byte fallback)");
  }
  if (!type && !node.find("merges")) node.unsupported("tokenizer model", "a model without type and merges", "BPE");
  Bpe out;
  if (const auto dropout = node.find("dropout")) {
    fail({.what = "unsupported dropout: the tokens of a text would be random",
          .where = dropout->where(),
          .expected = "null",
          .found = dropout->kind(),
          .fix = "set it to null"});
  }
  out.ignore_merges_ = node.boolean_or("ignore_merges", false);
  out.byte_fallback_ = node.boolean_or("byte_fallback", false);
  out.fuse_unk_ = node.boolean_or("fuse_unk", false);
  out.prefix_ = string_or_empty(node, "continuing_subword_prefix");
  out.suffix_ = string_or_empty(node, "end_of_word_suffix");
  out.read_vocabulary(node.member("vocab"));
  if (const auto unknown = node.find("unk_token")) {
    out.has_unknown_ = true;
    out.unknown_ = out.vocabulary_.find(unknown->string());
  }
  out.read_merges(node.member("merges"));
  out.prepare();
  return out;
}

void Bpe::read_vocabulary(const JsonNode& node) {
  const simdjson::dom::object object = node.object();
  std::size_t count = 0, bytes = 0;
  for (const auto& field : object) {
    ++count;
    bytes += field.key.size();
  }
  vocabulary_.reserve(count, bytes);
  for (const auto& field : object) {
    std::int64_t id = 0;
    if (field.value.get(id) != simdjson::SUCCESS || id < 0 || id > Vocabulary::kLargestId) {
      fail({.what = "id beyond range or not a number",
            .where = fmt::format("{}[\"{}\"]", node.where(), field.key),
            .expected = fmt::format("0 … {}", Vocabulary::kLargestId),
            .found = simdjson::minify(field.value)});
    }
    const auto narrow = static_cast<std::int32_t>(id);
    if (!vocabulary_.add(field.key, narrow)) {
      const bool same_id = vocabulary_.has(narrow);
      fail({.what = same_id ? "two tokens have one id" : "a token is listed twice",
            .where = fmt::format("{}[\"{}\"]", node.where(), field.key),
            .expected = same_id ? "an id of its own" : "one id",
            .found =
                same_id ? fmt::format("{}, the id of \"{}\"", id, vocabulary_.token(narrow)) : fmt::format("{}", id),
            .fix = "take tokenizer.json from the model's repository again"});
    }
  }
}

void Bpe::read_merges(const JsonNode& node) {
  const simdjson::dom::array array = node.array();
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& item : array) ++count;
  if (count > MergeTable::kMaxMerges) {
    fail({.what = "too many merges",
          .where = node.where(),
          .expected = fmt::format("at most {}", MergeTable::kMaxMerges),
          .found = fmt::format("{}", count)});
  }
  merges_.reserve(count);
  pairs_.reserve(count);
  std::size_t index = 0;
  std::string joined;
  for (const auto& item : array) {
    const std::size_t at = index++;
    std::string_view left, right;
    simdjson::dom::array pair;
    if (std::string_view text; item.get(text) == simdjson::SUCCESS) {
      if (text.starts_with("#version")) continue;
      const std::size_t space = text.find(' ');
      if (space == std::string_view::npos || text.find(' ', space + 1) != std::string_view::npos) {
        fail_merge(node, at, "a merge is not two tokens separated by one space", fmt::format("\"{}\"", text));
      }
      left = text.substr(0, space);
      right = text.substr(space + 1);
    } else if (item.get(pair) == simdjson::SUCCESS && pair.size() == 2 && pair.at(0).get(left) == simdjson::SUCCESS &&
               pair.at(1).get(right) == simdjson::SUCCESS) {
    } else {
      fail_merge(node, at, "a merge is neither a string nor a pair of strings", simdjson::minify(item));
    }
    const std::int32_t left_id = vocabulary_.find(left), right_id = vocabulary_.find(right);
    if (left_id < 0 || right_id < 0) {
      fail_merge(node, at, "a merge names a token that the vocabulary lacks",
                 fmt::format("\"{}\"", left_id < 0 ? left : right));
    }
    if (right.size() < prefix_.size()) {
      fail_merge(node, at, "a merge's second token is shorter than continuing_subword_prefix",
                 fmt::format("\"{}\"", right));
    }
    joined = left;
    joined += right.substr(prefix_.size());
    const std::int32_t product = vocabulary_.find(joined);
    if (product < 0)
      fail_merge(node, at, "a merge makes a token that the vocabulary lacks", fmt::format("\"{}\"", joined));
    merges_.add(left_id, right_id, product);
    pairs_.emplace_back(left_id, right_id);
  }
}

void Bpe::prepare() {
  low_characters_.assign(kLowCharacters, -1);
  for (std::int32_t id = 0; id < vocabulary_.id_end(); ++id) {
    if (!vocabulary_.has(id)) continue;
    const std::string_view token = vocabulary_.token(id);
    if (token.empty()) continue;
    const CodePoint c = code_point_at(token, 0);
    if (static_cast<std::size_t>(c.bytes) != token.size()) continue;
    if (c.value < kLowCharacters) {
      low_characters_[c.value] = id;
    } else {
      high_characters_.emplace(c.value, id);
    }
  }
  reads_bytes_ = prefix_.empty() && suffix_.empty();
  for (int b = 0; b < 256; ++b) {
    byte_ids_[b] = character_id(byte_level_alphabet().character[b]);
    fallback_ids_[b] = vocabulary_.find(fmt::format("<0x{:02X}>", b));
    reads_bytes_ = reads_bytes_ && byte_ids_[b] >= 0;
  }
  find_borders();
  pairs_ = {};
}

void Bpe::find_borders() {
  if (!prefix_.empty() || !suffix_.empty()) return;
  std::unordered_set<std::int32_t> atoms(fallback_ids_.begin(), fallback_ids_.end());
  atoms.insert(unknown_);
  joined_.reserve(pairs_.size() / 4);
  for (const auto& [left, right] : pairs_) {
    const std::string_view a = vocabulary_.token(left), b = vocabulary_.token(right);
    if (atoms.contains(left) || atoms.contains(right) || a.empty() || b.empty()) {
      joined_ = {};
      return;
    }
    const std::int32_t last = character_id(last_code_point(a).value), first = character_id(code_point_at(b, 0).value);
    joined_.insert(std::uint64_t{static_cast<std::uint32_t>(last)} << 32 | static_cast<std::uint32_t>(first));
  }
  has_borders_ = true;
}

}  // namespace tilewright::hub
