#include "hub/tokenizer/bpe.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>

#include "base/error.h"
#include "hub/tokenizer/byte_level.h"
#include "hub/tokenizer/utf8.h"

namespace tilewright::hub {
namespace {

constexpr std::size_t kFew = 40;  // symbols for which scanning beats a heap

}  // namespace

std::int32_t Bpe::character_id(char32_t c) const {
  if (c < kLowCharacters) return low_characters_[c];
  const auto found = high_characters_.find(c);
  return found == high_characters_.end() ? -1 : found->second;
}

// With byte fallback, unknown characters: true if `spelling` could be spelled or is dropped, the result appended to
// `out`.
bool Bpe::spell_unknown(std::string_view spelling, std::uint32_t begin, std::uint32_t end,
                        std::optional<Symbol>& unknown, std::vector<Symbol>& out) const {
  if (byte_fallback_) {
    const bool all = std::all_of(spelling.begin(), spelling.end(),
                                 [this](char c) { return fallback_ids_[static_cast<unsigned char>(c)] >= 0; });
    if (all) {  // an unknown token that waits stays behind them, as in the reference
      std::uint32_t at = begin;
      for (const char c : spelling) {
        out.push_back({fallback_ids_[static_cast<unsigned char>(c)], std::min(at, end), std::min(at + 1, end)});
        ++at;
      }
      return true;
    }
  }
  if (!has_unknown_) return false;
  if (unknown_ < 0) {
    fail({.what = "the unknown token is not in the vocabulary",
          .where = "model.unk_token",
          .expected = "a token of model.vocab"});
  }
  if (unknown && fuse_unk_) {
    unknown->end = end;
  } else {
    if (unknown) out.push_back(*unknown);
    unknown = Symbol{unknown_, begin, end};
  }
  return true;
}

void Bpe::spell(std::string_view word, std::vector<Symbol>& out) const {
  std::optional<Symbol> unknown;
  for (std::uint32_t at = 0; at < word.size();) {
    const CodePoint c = code_point_at(word, at);
    const std::uint32_t end = at + static_cast<std::uint32_t>(c.bytes);
    const std::int32_t id = character_id(c.value);
    if (id >= 0) {
      if (unknown) out.push_back(*unknown);
      unknown.reset();
      out.push_back({id, at, end});
    } else {
      spell_unknown(word.substr(at, c.bytes), at, end, unknown, out);
    }
    at = end;
  }
  if (unknown) out.push_back(*unknown);
}

// With continuing_subword_prefix or end_of_word_suffix.
void Bpe::spell_decorated(std::string_view word, std::vector<Symbol>& out) const {
  std::optional<Symbol> unknown;
  std::string spelling;
  for (std::uint32_t at = 0; at < word.size();) {
    const std::uint32_t end = at + static_cast<std::uint32_t>(code_point_at(word, at).bytes);
    spelling.clear();
    if (at > 0) spelling += prefix_;
    spelling += word.substr(at, end - at);
    if (end == word.size()) spelling += suffix_;
    const std::int32_t id = vocabulary_.find(spelling);
    if (id >= 0) {
      if (unknown) out.push_back(*unknown);
      unknown.reset();
      out.push_back({id, at, end});
    } else {
      spell_unknown(spelling, at, end, unknown, out);
    }
    at = end;
  }
  if (unknown) out.push_back(*unknown);
}

void Bpe::encode(std::string_view word, bool bytes, Scratch& scratch, std::vector<Symbol>& out) const {
  if (ignore_merges_) {
    std::string_view spelled = word;
    if (bytes) {
      scratch.spelled.clear();
      for (const char c : word) scratch.spelled += byte_level_alphabet().utf8[static_cast<unsigned char>(c)];
      spelled = scratch.spelled;
    }
    const std::int32_t id = vocabulary_.find(spelled);
    if (id >= 0) {
      out.push_back({id, 0, static_cast<std::uint32_t>(word.size())});
      return;
    }
  }
  std::vector<Symbol>& symbols = scratch.symbols;
  symbols.clear();
  if (bytes) {
    symbols.resize(word.size());
    for (std::uint32_t i = 0; i < word.size(); ++i)
      symbols[i] = {byte_ids_[static_cast<unsigned char>(word[i])], i, i + 1};
  } else if (prefix_.empty() && suffix_.empty()) {
    spell(word, symbols);
  } else {
    spell_decorated(word, symbols);
  }
  if (!has_borders_ || symbols.size() <= kFew) {
    merge(symbols.data(), symbols.size(), scratch, out);
    return;
  }
  std::size_t begin = 0;
  for (std::size_t i = 1; i <= symbols.size(); ++i) {
    if (i < symbols.size() && may_join(symbols[i - 1].id, symbols[i].id)) continue;
    merge(symbols.data() + begin, i - begin, scratch, out);
    begin = i;
  }
}

bool Bpe::may_join(std::int32_t left, std::int32_t right) const {
  return joined_.contains(std::uint64_t{static_cast<std::uint32_t>(left)} << 32 | static_cast<std::uint32_t>(right));
}

void Bpe::merge(Symbol* symbols, std::size_t count, Scratch& scratch, std::vector<Symbol>& out) const {
  if (count <= 1) {
    out.insert(out.end(), symbols, symbols + count);
  } else if (count <= kFew) {
    merge_few(symbols, count, out);
  } else {
    merge_many(symbols, count, scratch, out);
  }
}

void Bpe::merge_few(Symbol* symbols, std::size_t count, std::vector<Symbol>& out) const {
  std::uint32_t ranks[kFew];
  for (std::size_t i = 0; i + 1 < count; ++i) ranks[i] = merges_.rank(symbols[i].id, symbols[i + 1].id);
  while (count > 1) {
    std::size_t best = 0;
    std::uint32_t lowest = ranks[0];
    for (std::size_t i = 1; i + 1 < count; ++i) {
      if (ranks[i] < lowest) {
        lowest = ranks[i];
        best = i;
      }
    }
    if (lowest == MergeTable::kNever) break;
    symbols[best].id = merges_.product(lowest);
    symbols[best].end = symbols[best + 1].end;
    --count;
    std::memmove(symbols + best + 1, symbols + best + 2, (count - best - 1) * sizeof(Symbol));
    if (best + 1 < count) {
      std::memmove(ranks + best + 1, ranks + best + 2, (count - best - 2) * sizeof(std::uint32_t));
      ranks[best] = merges_.rank(symbols[best].id, symbols[best + 1].id);
    }
    if (best > 0) ranks[best - 1] = merges_.rank(symbols[best - 1].id, symbols[best].id);
  }
  out.insert(out.end(), symbols, symbols + count);
}

void Bpe::merge_many(Symbol* symbols, std::size_t count, Scratch& scratch, std::vector<Symbol>& out) const {
  // A heap of (rank, position); entries that a merge made stale no longer have the rank of the pair at their position.
  constexpr std::uint32_t kGone = ~std::uint32_t{0};
  std::vector<std::uint32_t>&ranks = scratch.ranks, &next = scratch.next, &previous = scratch.previous;
  std::vector<std::uint64_t>& heap = scratch.heap;
  const auto size = static_cast<std::uint32_t>(count);
  ranks.resize(count);
  next.resize(count);
  previous.resize(count);
  heap.clear();
  for (std::uint32_t i = 0; i < size; ++i) {
    next[i] = i + 1;
    previous[i] = i - 1;  // kGone for the first
    ranks[i] = i + 1 < size ? merges_.rank(symbols[i].id, symbols[i + 1].id) : MergeTable::kNever;
    if (ranks[i] != MergeTable::kNever) heap.push_back(std::uint64_t{ranks[i]} << 32 | i);
  }
  std::make_heap(heap.begin(), heap.end(), std::greater<>());
  const auto look = [&](std::uint32_t i) {
    ranks[i] = next[i] < size ? merges_.rank(symbols[i].id, symbols[next[i]].id) : MergeTable::kNever;
    if (ranks[i] == MergeTable::kNever) return;
    heap.push_back(std::uint64_t{ranks[i]} << 32 | i);
    std::push_heap(heap.begin(), heap.end(), std::greater<>());
  };
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), std::greater<>());
    const auto rank = static_cast<std::uint32_t>(heap.back() >> 32);
    const auto at = static_cast<std::uint32_t>(heap.back());
    heap.pop_back();
    if (ranks[at] != rank) continue;
    const std::uint32_t right = next[at];
    symbols[at].id = merges_.product(rank);
    symbols[at].end = symbols[right].end;
    ranks[right] = MergeTable::kNever;
    next[at] = next[right];
    if (next[at] < size) previous[next[at]] = at;
    if (previous[at] != kGone) look(previous[at]);
    look(at);
  }
  for (std::uint32_t i = 0; i < size; i = next[i]) out.push_back(symbols[i]);
}

}  // namespace tilewright::hub
