// The "normalizer" section of tokenizer.json.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "hub/tokenizer/aligned_text.h"
#include "hub/tokenizer/json_node.h"

namespace tilewright::hub {

// NFC, NFD, NFKC, NFKD, Replace, Prepend, Lowercase, Strip, StripAccents, ByteLevel and Sequences of them, in order.
class Normalizer {
 public:
  // Throws Error for another kind. Nothing means: the text stays as it is.
  static Normalizer parse(const std::optional<JsonNode>& node);
  bool empty() const { return steps_.empty(); }
  // False if the text stays as it is; else the result is in `out`. `spare` is work space.
  bool apply(const TextView& in, AlignedText& out, AlignedText& spare) const;

 private:
  // As apply() of one step. `out` is empty before.
  using Step = std::function<bool(const TextView& in, AlignedText& out)>;
  void add(const JsonNode& node, int depth);
  std::vector<Step> steps_;
};

}  // namespace tilewright::hub
