#include "hub/tokenizer/added_tokens.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "hub/tokenizer/utf8.h"

namespace tilewright::hub {
namespace {

AddedToken parse_token(const JsonNode& node) {
  AddedToken out;
  out.content = node.required_string("content");
  out.special = node.boolean_or("special", false);
  out.lstrip = node.boolean_or("lstrip", false);
  out.rstrip = node.boolean_or("rstrip", false);
  out.single_word = node.boolean_or("single_word", false);
  out.normalized = node.boolean_or("normalized", !out.special);
  return out;
}

// Where the white space that ends at `end` begins, not before `least`.
std::size_t space_before(std::string_view text, std::size_t least, std::size_t end) {
  while (end > least) {
    const CodePoint c = last_code_point(text.substr(0, end));
    if (!is_white_space(c.value)) break;
    end -= c.bytes;
  }
  return end;
}

std::size_t space_behind(std::string_view text, std::size_t begin) {
  while (begin < text.size()) {
    const CodePoint c = code_point_at(text, begin);
    if (!is_white_space(c.value)) break;
    begin += c.bytes;
  }
  return begin;
}

}  // namespace

void AddedTokens::Trie::add(std::string_view content, std::int32_t token) {
  if (content.empty()) return;
  std::uint32_t node = 0;
  for (std::size_t i = 0; i < content.size(); ++i) {
    const auto byte = static_cast<unsigned char>(content[i]);
    std::uint32_t child = i == 0 ? root_[byte] : nodes_[node].child;
    while (child != 0 && nodes_[child].byte != byte) child = nodes_[child].sibling;
    if (child == 0) {
      child = static_cast<std::uint32_t>(nodes_.size());
      nodes_.push_back({0, i == 0 ? 0 : nodes_[node].child, -1, byte});
      (i == 0 ? root_[byte] : nodes_[node].child) = child;
    }
    node = child;
  }
  if (nodes_[node].token < 0) nodes_[node].token = token;
}

std::pair<std::int32_t, std::size_t> AddedTokens::Trie::longest(std::string_view text) const {
  std::pair<std::int32_t, std::size_t> best{-1, 0};
  std::uint32_t node = root_[static_cast<unsigned char>(text[0])];
  for (std::size_t i = 1; node != 0; ++i) {
    if (nodes_[node].token >= 0) best = {nodes_[node].token, i};
    if (i == text.size()) break;
    const auto byte = static_cast<unsigned char>(text[i]);
    node = nodes_[node].child;
    while (node != 0 && nodes_[node].byte != byte) node = nodes_[node].sibling;
  }
  return best;
}

AddedTokens AddedTokens::parse(const std::optional<JsonNode>& node, const Normalizer& normalizer,
                               const Vocabulary& model) {
  AddedTokens out;
  if (!node) return out;
  const auto model_size = static_cast<std::int64_t>(model.count());
  std::int64_t largest = -1;
  for (const JsonNode& item : node->items()) {
    AddedToken token = parse_token(item);
    const std::int64_t declared = item.member("id").integer();
    if (declared < 0 || declared > Vocabulary::kLargestId) {
      fail({.what = "id beyond range",
            .where = item.where(),
            .expected = fmt::format("0 … {}", Vocabulary::kLargestId),
            .found = fmt::format("{}", declared)});
    }
    if (token.content.empty() || out.by_content_.contains(token.content)) continue;
    token.id = model.find(token.content);
    if (token.id < 0) {
      const std::int64_t next = std::max(largest + 1, model_size);
      if (next > Vocabulary::kLargestId || model.has(static_cast<std::int32_t>(next))) {
        fail({.what = fmt::format("no free id for the added token \"{}\"", token.content),
              .where = item.where(),
              .expected = fmt::format("id {} to be free", next),
              .found = next > Vocabulary::kLargestId
                           ? "the end of the range"
                           : fmt::format("\"{}\"", model.token(static_cast<std::int32_t>(next))),
              .fix = "the ids of model.vocab must be 0, 1, 2 … without gaps"});
      }
      token.id = static_cast<std::int32_t>(next);
    }
    largest = std::max<std::int64_t>(largest, token.id);
    if (token.id != declared) {
      out.notes_.push_back(fmt::format("{}: \"{}\" is declared with id {} but has id {}", item.where(), token.content,
                                       declared, token.id));
    }
    const auto index = static_cast<std::int32_t>(out.tokens_.size());
    if (out.id_end() <= token.id) out.by_id_.resize(token.id + 1, -1);
    out.by_id_[token.id] = index;
    out.by_content_.emplace(token.content, index);
    out.tokens_.push_back(std::move(token));
  }
  // Of two tokens with one spelling after normalising, the special one wins, then the first.
  AlignedText normal, spare;
  for (const bool special : {true, false}) {
    for (std::size_t i = 0; i < out.tokens_.size(); ++i) {
      AddedToken& token = out.tokens_[i];
      if (token.special != special) continue;
      normal.clear();
      token.spelling =
          token.normalized && normalizer.apply({token.content}, normal, spare) ? normal.text : token.content;
      (token.normalized ? out.normalized_ : out.raw_).add(token.spelling, static_cast<std::int32_t>(i));
    }
  }
  return out;
}

const AddedToken* AddedTokens::find(std::string_view content) const {
  const auto found = by_content_.find(std::string(content));
  return found == by_content_.end() ? nullptr : &tokens_[found->second];
}

const AddedToken* AddedTokens::by_id(std::int32_t id) const {
#ifdef TILEWRIGHT_PLANTED_FAULT
  return by_id_.empty() || by_id_[id] < 0 ? nullptr : &tokens_[by_id_[id]];
#else
  return id < 0 || id >= id_end() || by_id_[id] < 0 ? nullptr : &tokens_[by_id_[id]];
#endif
}

void AddedTokens::split(std::string_view text, bool normalized, std::vector<Part>& out) const {
  const Trie& trie = normalized ? normalized_ : raw_;
  std::size_t covered = 0;
  std::size_t space_begin = 1, space_end = 0;  // the white space that was looked for last
  for (std::size_t at = 0; at < text.size() && !trie.empty();) {
    while (at < text.size() && !trie.may_begin(static_cast<unsigned char>(text[at]))) ++at;
    if (at == text.size()) break;
    const auto [index, length] = trie.longest(text.substr(at));
    if (index < 0) {
      ++at;
      continue;
    }
    const AddedToken& token = tokens_[index];
    std::size_t begin = at, end = at + length;
    at = end;
    if (token.single_word) {
      const bool word_before = begin > 0 && is_word(last_code_point(text.substr(0, begin)).value);
      const bool word_behind = end < text.size() && is_word(code_point_at(text, end).value);
      if (word_before || word_behind) continue;
    }
    if (token.lstrip) begin = std::max(space_before(text, covered, begin), covered);
    if (token.rstrip) {
      if (end < space_begin || end > space_end) {
        space_begin = end;
        space_end = space_behind(text, end);
      }
      end = space_end;
    }
    if (covered < begin)
      out.push_back({static_cast<std::uint32_t>(covered), static_cast<std::uint32_t>(begin), nullptr});
    // A token that lies in white space which the one before took over may begin before `covered`, and still counts.
    out.push_back({static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end), &token});
    covered = end;
  }
  if (covered < text.size())
    out.push_back({static_cast<std::uint32_t>(covered), static_cast<std::uint32_t>(text.size()), nullptr});
}

}  // namespace tilewright::hub
