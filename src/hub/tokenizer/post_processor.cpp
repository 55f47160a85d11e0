#include "hub/tokenizer/post_processor.h"

#include <fmt/format.h>

#include "base/error.h"
#include "hub/tokenizer/vocabulary.h"

namespace tilewright::hub {
namespace {

constexpr int kDeepestProcessor = 32;
constexpr std::size_t kMaxItems = 4096;

std::int32_t parse_id(const JsonNode& node) {
  const std::int64_t id = node.integer();
  if (id < 0 || id > Vocabulary::kLargestId) {
    fail({.what = "id beyond range",
          .where = node.where(),
          .expected = fmt::format("0 … {}", Vocabulary::kLargestId),
          .found = fmt::format("{}", id)});
  }
  return static_cast<std::int32_t>(id);
}

std::vector<PostProcessor::Item> parse_template(const JsonNode& node) {
  std::vector<PostProcessor::Item> out;
  const JsonNode defined = node.member("special_tokens");
  for (const JsonNode& piece : node.member("single").items()) {
    if (const auto sequence = piece.find("Sequence")) {
      const JsonNode id = sequence->member("id");
      if (id.string() != "A") id.unsupported("sequence in the template of one text", std::string(id.string()), "A");
      out.push_back({true, 0});
    } else if (const auto special = piece.find("SpecialToken")) {
      const JsonNode token = defined.member(special->required_string("id"));
      for (const JsonNode& id : token.member("ids").items()) out.push_back({false, parse_id(id)});
    } else {
      piece.wrong("an object with \"Sequence\" or \"SpecialToken\"");
    }
  }
  return out;
}

// ["[SEP]", 102]
std::int32_t parse_pair(const JsonNode& node) {
  const auto items = node.items();
  if (items.size() != 2) node.wrong("an array of a token and its id");
  (void)items[0].string();
  return parse_id(items[1]);
}

}  // namespace

PostProcessor PostProcessor::parse(const std::optional<JsonNode>& node) {
  PostProcessor out;
  if (node) out.add(*node, 0);
  return out;
}

void PostProcessor::wrap(const std::vector<Item>& around, const JsonNode& node) {
  std::vector<Item> with, without;
  for (const Item& item : around) {
    if (!item.is_text) {
      with.push_back(item);
    } else {
      with.insert(with.end(), with_.begin(), with_.end());
      without.insert(without.end(), without_.begin(), without_.end());
    }
    if (with.size() > kMaxItems || without.size() > kMaxItems) {
      node.unsupported("template", "more", fmt::format("at most {} pieces", kMaxItems));
    }
  }
  with_ = std::move(with);
  without_ = std::move(without);
}

void PostProcessor::add(const JsonNode& node, int depth) {
  const std::string_view type = node.type();
  if (type == "Sequence") {
    if (depth >= kDeepestProcessor) node.unsupported("nesting", "deeper", "at most 32 levels");
    for (const JsonNode& item : node.member("processors").items()) add(item, depth + 1);
  } else if (type == "TemplateProcessing") {
    wrap(parse_template(node), node);
  } else if (type == "BertProcessing" || type == "RobertaProcessing") {
    wrap({{false, parse_pair(node.member("cls"))}, {true, 0}, {false, parse_pair(node.member("sep"))}}, node);
  } else if (type != "ByteLevel") {
    node.unsupported("post-processor", std::string(type),
                     "ByteLevel, TemplateProcessing, BertProcessing, RobertaProcessing or Sequence");
  }
}

}  // namespace tilewright::hub
