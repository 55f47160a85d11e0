// The "post_processor" section of tokenizer.json: the special tokens around a text.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "hub/tokenizer/json_node.h"

namespace tilewright::hub {

// For one text: ByteLevel (which moves offsets only, so nothing here), TemplateProcessing ("single"), BertProcessing,
// RobertaProcessing and Sequences of them.
class PostProcessor {
 public:
  struct Item {
    bool is_text;     // the ids of the text, or
    std::int32_t id;  // this special token
  };
  // Throws Error for another kind and for a template that names a special token without defining it.
  static PostProcessor parse(const std::optional<JsonNode>& node);
  const std::vector<Item>& items(bool add_special_tokens) const { return add_special_tokens ? with_ : without_; }

 private:
  void add(const JsonNode& node, int depth);
  // Puts the list so far in place of the text.
  void wrap(const std::vector<Item>& around, const JsonNode& node);
  std::vector<Item> with_{{true, 0}}, without_{{true, 0}};
};

}  // namespace tilewright::hub
