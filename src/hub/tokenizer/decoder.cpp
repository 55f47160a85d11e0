#include "hub/tokenizer/decoder.h"

#include <fmt/format.h>

#include <cctype>

#include "base/error.h"
#include "hub/tokenizer/byte_level.h"
#include "hub/tokenizer/pre_tokenizer.h"

namespace tilewright::hub {
namespace {

using Stage = Decoder::Stage;
using Kind = Decoder::Stage::Kind;
constexpr int kDeepestDecoder = 32;
constexpr std::size_t kMaxStages = 64;

std::size_t parse_count(const JsonNode& node) {
  const std::int64_t count = node.integer();
  if (count < 0)
    fail({.what = "negative count", .where = node.where(), .expected = "0 or more", .found = fmt::format("{}", count)});
  return static_cast<std::size_t>(count);
}

std::string parse_character(const JsonNode& node, std::string_view key) {
  std::string out;
  append_code_point(out, node.character(key));
  return out;
}

void add_stages(const JsonNode& node, int depth, std::vector<Stage>& out) {
  const std::string_view type = node.type();
  if (out.size() >= kMaxStages) node.unsupported("number of decoders", "more", fmt::format("at most {}", kMaxStages));
  if (type == "Sequence") {
    if (depth >= kDeepestDecoder) node.unsupported("nesting", "deeper", "at most 32 levels");
    for (const JsonNode& item : node.member("decoders").items()) add_stages(item, depth + 1, out);
  } else if (type == "ByteLevel") {
    out.push_back({.kind = Kind::byte_level});
  } else if (type == "Replace") {
    out.push_back({.kind = Kind::replace,
                   .pattern = Pattern::parse(node.member("pattern")),
                   .text = std::string(node.required_string("content"))});
  } else if (type == "ByteFallback") {
    out.push_back({.kind = Kind::byte_fallback});
  } else if (type == "Fuse") {
    out.push_back({.kind = Kind::fuse});
  } else if (type == "Strip") {
    out.push_back({.kind = Kind::strip,
                   .text = parse_character(node, "content"),
                   .start = parse_count(node.member("start")),
                   .stop = parse_count(node.member("stop"))});
  } else if (type == "Metaspace") {
    out.push_back({.kind = Kind::metaspace,
                   .text = parse_character(node, "replacement"),
                   .keep_first = parse_prepend_scheme(node) == PrependScheme::never});
  } else if (type == "BPEDecoder") {
    const auto suffix = node.find("suffix");
    out.push_back({.kind = Kind::suffix, .text = suffix ? std::string(suffix->string()) : "</w>"});
  } else {
    node.unsupported("decoder", std::string(type),
                     "ByteLevel, Replace, ByteFallback, Fuse, Strip, Metaspace, BPEDecoder or Sequence");
  }
}

// The byte of <0xAB>, or −1.
int fallback_byte(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return -1;
  const auto digit = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
  };
  const int high = token[3] == '+' ? 0 : digit(token[3]);  // the reference's number parser accepts a sign
  const int low = digit(token[4]);
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

std::string replace_all(std::string_view text, std::string_view what, std::string_view with) {
  std::string out;
  if (what.empty()) return std::string(text);
  for (std::size_t at = text.find(what); at != std::string_view::npos; at = text.find(what)) {
    out += text.substr(0, at);
    out += with;
    text.remove_prefix(at + what.size());
  }
  out += text;
  return out;
}

}  // namespace

Decoder Decoder::parse(const std::optional<JsonNode>& node) {
  std::vector<Stage> stages;
  if (node) {
    add_stages(*node, 0, stages);
  } else {
    stages.push_back({.kind = Kind::join});
  }
  bool streams = true;
  for (auto stage = stages.rbegin(); stage != stages.rend(); ++stage) {
    stage->streams = streams;
    streams = streams && (stage->kind == Kind::fuse || stage->kind == Kind::strip);
  }
  Decoder out;
  out.stages_ = std::make_shared<const std::vector<Stage>>(std::move(stages));
  return out;
}

DecodeRun::DecodeRun(const Decoder& decoder) : stages_(decoder.stages()), states_(stages_->size()) {}

void DecodeRun::push(std::string_view token, std::string& out) {
  pushed_ += token.size();
  feed(0, token, true, out);
}

void DecodeRun::finish(std::string& out) { end(0, out); }

void DecodeRun::feed(std::size_t index, std::string_view token, bool whole, std::string& out) {
  if (index == stages_->size()) {
    out += token;
    return;
  }
  const Stage& stage = (*stages_)[index];
  State& state = states_[index];
  switch (stage.kind) {
    case Kind::byte_level: {
      std::string text;
      state.bytes.push(byte_level_bytes(token), text);
      fuse(index, text, out);
      break;
    }
    case Kind::fuse:
      fuse(index, token, out);
      break;
    case Kind::replace:
      feed(index + 1, replaced(stage, token), true, out);
      break;
    case Kind::byte_fallback:
      feed_byte_fallback(index, token, out);
      break;
    case Kind::metaspace:
      feed(index + 1, replace_all(token, stage.text, state.count++ == 0 && !stage.keep_first ? "" : " "), true, out);
      break;
    case Kind::suffix: {  // a word's end is a space, but not at the end of the text
      if (state.count++ > 0) feed(index + 1, replace_all(state.held, stage.text, " "), true, out);
      state.held = token;
      break;
    }
    case Kind::join:
      if (state.count++ > 0) feed(index + 1, " ", true, out);
      feed(index + 1, token, true, out);
      break;
    case Kind::strip: {
      if (whole) state = State{};
      std::string text;
      for (std::size_t at = 0; at < token.size();) {
        const std::string_view c = token.substr(at, static_cast<std::size_t>(code_point_at(token, at).bytes));
        at += c.size();
        if (!state.begun && state.count < stage.start && c == stage.text) {
          ++state.count;
          continue;
        }
        state.begun = true;
        if (c == stage.text && state.held.size() / stage.text.size() < stage.stop) {
          state.held += c;
        } else if (c == stage.text) {
          text += c;  // as good as the first of those that are held
        } else {
          text += state.held;
          text += c;
          state.held.clear();
        }
      }
      feed(index + 1, text, whole, out);
      break;
    }
  }
}

void DecodeRun::fuse(std::size_t index, std::string_view part, std::string& out) {
  if ((*stages_)[index].streams) {
    feed(index + 1, part, false, out);
  } else {
    states_[index].held += part;
  }
}

void DecodeRun::end(std::size_t index, std::string& out) {
  if (index == stages_->size()) return;
  const Stage& stage = (*stages_)[index];
  State& state = states_[index];
  if (stage.kind == Kind::byte_level) {
    std::string text;
    state.bytes.finish(text);
    fuse(index, text, out);
  }
  if ((stage.kind == Kind::byte_level || stage.kind == Kind::fuse) && !stage.streams)
    feed(index + 1, state.held, true, out);
  if (stage.kind == Kind::byte_fallback) flush_bytes(index, out);
  if (stage.kind == Kind::suffix && state.count > 0)
    feed(index + 1, replace_all(state.held, stage.text, ""), true, out);
  state = State{};
  end(index + 1, out);
}

void DecodeRun::feed_byte_fallback(std::size_t index, std::string_view token, std::string& out) {
  const int byte = fallback_byte(token);
  if (byte >= 0) {
    states_[index].held += static_cast<char>(byte);
    return;
  }
  flush_bytes(index, out);
  feed(index + 1, token, true, out);
}

void DecodeRun::flush_bytes(std::size_t index, std::string& out) {
  const std::string bytes = std::move(states_[index].held);
  states_[index].held.clear();
  if (bytes.empty()) return;
  if (is_valid_utf8(bytes)) {
    feed(index + 1, bytes, true, out);
  } else {
    for (std::size_t i = 0; i < bytes.size(); ++i) feed(index + 1, kReplacementCharacter, true, out);
  }
}

std::string DecodeRun::replaced(const Stage& stage, std::string_view token) {
  std::vector<Match> matches;
  stage.pattern->find_all(token, matches);
  std::string out;
  for (const Match& match : matches) {
    if (!match.matched) {
      out += token.substr(match.begin, match.end - match.begin);
      continue;
    }
    inserted_ += stage.text.size();
    if (inserted_ > (std::size_t{1} << 20) + 64 * pushed_) {
      fail({.what = "decoder Replace makes the text too long",
            .where = "decoder",
            .expected = "at most 64 times the tokens",
            .found = fmt::format("{} bytes", inserted_)});
    }
    out += stage.text;
  }
  return out;
}

}  // namespace tilewright::hub
