#include "hub/tokenizer/tokenizer.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/json.h"
#include "base/mapped_file.h"
#include "hub/tokenizer/added_tokens.h"
#include "hub/tokenizer/bpe.h"
#include "hub/tokenizer/decoder.h"
#include "hub/tokenizer/json_node.h"
#include "hub/tokenizer/normalizer.h"
#include "hub/tokenizer/post_processor.h"
#include "hub/tokenizer/pre_tokenizer.h"
#include "hub/tokenizer/utf8.h"

namespace tilewright::hub {
namespace {

constexpr std::size_t kMaxText = std::size_t{1} << 30;

// The text as UTF-8, each ill-formed part replaced.
void read_lossy(const TextView& in, AlignedText& out) {
  for (std::size_t at = 0; at < in.text.size();) {
    const Utf8Step step = utf8_step(in.text.substr(at));
    const std::size_t end = at + static_cast<std::size_t>(step.bytes);
    if (step.kind == Utf8Kind::character) {
      out.keep(in, at, end);
    } else {
      out.insert(kReplacementCharacter, in.origin(at, end));
    }
    at = end;
  }
}

// Receives the tokens of a text in order.
struct Sink {
  std::vector<std::int32_t> ids;
  std::vector<Origin> origins;
  bool tracked = false;
  void add(std::int32_t id, Origin origin) {
    ids.push_back(id);
    if (tracked) origins.push_back(origin);
  }
};

}  // namespace

struct Tokenizer::Parts {
  Bpe model;
  Normalizer normalizer;
  AddedTokens added;
  PreTokenizer pre_tokenizer;
  PostProcessor post_processor;
  Decoder decoder;
  bool bytes = false;  // the model reads words as bytes

  std::optional<std::string_view> token(std::int32_t id) const {
    if (const AddedToken* token = added.by_id(id)) return token->spelling;
    if (model.vocabulary().has(id)) return model.vocabulary().token(id);
    return std::nullopt;
  }

  bool is_special(std::int32_t id) const {
    const AddedToken* token = added.by_id(id);
    return token != nullptr && token->special;
  }

  // All of a text but the special tokens around it.
  void encode(std::string_view text, Sink& sink) const;
};

void Tokenizer::Parts::encode(std::string_view text, Sink& sink) const {
  if (text.size() > kMaxText) {
    fail({.what = "text is too long",
          .where = "tokenizer",
          .expected = fmt::format("at most {} bytes", kMaxText),
          .found = fmt::format("{}", text.size()),
          .fix = "encode it in parts"});
  }
  const bool tracked = sink.tracked || pre_tokenizer.needs_origins();
  TextView raw{text};
  AlignedText read;
  if (!is_valid_utf8(text)) {
    read.tracked = tracked;
    read_lossy(raw, read);
    raw = read.view();
  }
  AlignedText normal, spare;
  normal.tracked = tracked;
  Words words;
  Bpe::Scratch scratch;
  std::vector<Symbol> symbols;
  std::vector<AddedTokens::Part> parts, normal_parts;
  const auto add_token = [&](const AddedTokens::Part& part, const TextView& of) {
    sink.add(part.token->id, part.begin < part.end ? of.origin(part.begin, part.end) : Origin{});
  };

  added.split(raw.text, false, parts);
  for (const AddedTokens::Part& part : parts) {
    if (part.token != nullptr) {
      add_token(part, raw);
      continue;
    }
    TextView view = raw.part(part.begin, part.end);
    if (normalizer.apply(view, normal, spare)) view = normal.view();
    normal_parts.clear();
    added.split(view.text, true, normal_parts);
    for (const AddedTokens::Part& normal_part : normal_parts) {
      if (normal_part.token != nullptr) {
        add_token(normal_part, view);
        continue;
      }
      words.start(view.part(normal_part.begin, normal_part.end), tracked);
      pre_tokenizer.apply(words);
      for (const Words::Span& span : words.spans) {
        symbols.clear();
        const TextView word = words.word(span);
        model.encode(word.text, bytes, scratch, symbols);
        for (const Symbol& symbol : symbols) {
          sink.add(symbol.id, symbol.begin < symbol.end ? word.origin(symbol.begin, symbol.end) : Origin{});
        }
      }
    }
  }
}

Tokenizer Tokenizer::load(const std::filesystem::path& path) {
  std::error_code ignored;
  const std::filesystem::path file = std::filesystem::is_directory(path, ignored) ? path / "tokenizer.json" : path;
  if (!std::filesystem::exists(file, ignored)) {
    fail({.what = "no tokenizer",
          .where = file.string(),
          .expected = "a tokenizer.json",
          .found = "no such file",
          .fix = "name a model directory that has one, or the file itself"});
  }
  const MappedFile mapped(file);
  return parse(mapped.text(), file.string());
}

Tokenizer Tokenizer::parse(std::string_view json, const std::string& where) {
  simdjson::dom::parser parser;
  simdjson::dom::element document;
  const simdjson::padded_string padded(json);
  if (const auto error = parser.parse(padded).get(document); error != simdjson::SUCCESS) {
    parse_json(json, where);  // finds line and column
    fail({.what = "not a JSON document", .where = where, .found = simdjson::error_message(error)});
  }
  const JsonNode root(document, "", where);
  if (const auto version = root.find("version"); version && version->string() != "1.0") {
    version->unsupported("version", std::string(version->string()), "1.0");
  }
  auto parts = std::make_shared<Parts>();
  parts->model = Bpe::parse(root.member("model"));
  parts->normalizer = Normalizer::parse(root.find("normalizer"));
  parts->added = AddedTokens::parse(root.find("added_tokens"), parts->normalizer, parts->model.vocabulary());
  parts->pre_tokenizer = PreTokenizer::parse(root.find("pre_tokenizer"));
  parts->post_processor = PostProcessor::parse(root.find("post_processor"));
  parts->decoder = Decoder::parse(root.find("decoder"));
  if (parts->pre_tokenizer.ends_with_byte_alphabet() && parts->model.reads_bytes()) {
    parts->pre_tokenizer.leave_out_byte_alphabet();
    parts->bytes = true;
  }
  Tokenizer out;
  out.parts_ = std::move(parts);
  return out;
}

std::vector<std::int32_t> Tokenizer::encode(std::string_view text, bool add_special_tokens) const {
  Sink sink;
  sink.ids.reserve(text.size() / 4 + 4);
  parts_->encode(text, sink);
  const auto& items = parts_->post_processor.items(add_special_tokens);
  if (items.size() == 1 && items[0].is_text) return std::move(sink.ids);
  std::vector<std::int32_t> out;
  out.reserve(sink.ids.size() + items.size());
  for (const PostProcessor::Item& item : items) {
    if (item.is_text) {
      out.insert(out.end(), sink.ids.begin(), sink.ids.end());
    } else {
      out.push_back(item.id);
    }
  }
  return out;
}

std::vector<Piece> Tokenizer::encode_pieces(std::string_view text, bool add_special_tokens) const {
  Sink sink;
  sink.tracked = true;
  parts_->encode(text, sink);
  std::vector<Piece> out;
  std::uint32_t place = 0;
  const auto add = [&](std::int32_t id, Origin origin) {
    out.push_back({id, std::string(parts_->token(id).value_or("")), origin.begin, origin.end});
  };
  for (const PostProcessor::Item& item : parts_->post_processor.items(add_special_tokens)) {
    if (!item.is_text) {
      add(item.id, {place, place});
      continue;
    }
    for (std::size_t i = 0; i < sink.ids.size(); ++i) add(sink.ids[i], sink.origins[i]);
    place = static_cast<std::uint32_t>(text.size());
  }
  return out;
}

std::string Tokenizer::decode(std::span<const std::int32_t> ids, bool skip_special_tokens) const {
  DecodeRun run(parts_->decoder);
  std::string out;
  for (const std::int32_t id : ids) {
    if (skip_special_tokens && parts_->is_special(id)) continue;
    if (const auto token = parts_->token(id)) run.push(*token, out);
  }
  run.finish(out);
  return out;
}

std::optional<std::int32_t> Tokenizer::token_id(std::string_view token) const {
  if (const AddedToken* added = parts_->added.find(token)) return added->id;
  const std::int32_t id = parts_->model.vocabulary().find(token);
  if (id < 0) return std::nullopt;
  return id;
}

bool Tokenizer::has_token(std::int32_t id) const { return parts_->token(id).has_value(); }

std::string Tokenizer::token(std::int32_t id) const {
  const auto token = parts_->token(id);
  if (!token) {
    fail({.what = "no token has this id",
          .where = "tokenizer",
          .expected = fmt::format("an id from 0 to {}", vocab_size() - 1),
          .found = fmt::format("{}", id)});
  }
  return std::string(*token);
}

int Tokenizer::vocab_size() const { return std::max(parts_->model.vocabulary().id_end(), parts_->added.id_end()); }

bool Tokenizer::is_special(std::int32_t id) const { return parts_->is_special(id); }

const std::vector<std::string>& Tokenizer::notes() const { return parts_->added.notes(); }

struct StreamDecoder::State {
  std::shared_ptr<const Tokenizer::Parts> parts;
  DecodeRun run;
  bool skip_special;
};

StreamDecoder::StreamDecoder(const Tokenizer& tokenizer, bool skip_special_tokens)
    : state_(new State{tokenizer.parts_, DecodeRun(tokenizer.parts_->decoder), skip_special_tokens}) {}
StreamDecoder::~StreamDecoder() = default;
StreamDecoder::StreamDecoder(StreamDecoder&&) noexcept = default;
StreamDecoder& StreamDecoder::operator=(StreamDecoder&&) noexcept = default;

std::string StreamDecoder::push(std::int32_t id) {
  std::string out;
  if (state_->skip_special && state_->parts->is_special(id)) return out;
  if (const auto token = state_->parts->token(id)) state_->run.push(*token, out);
  return out;
}

std::string StreamDecoder::finish() {
  std::string out;
  state_->run.finish(out);
  return out;
}

}  // namespace tilewright::hub
