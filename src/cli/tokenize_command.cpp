#include "cli/tokenize_command.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "base/mapped_file.h"
#include "cli/command_line.h"
#include "cli/model_options.h"
#include "cli/standard_input.h"
#include "hub/tokenizer/tokenizer.h"

namespace tilewright::cli {
namespace {

struct Options {
  std::string model, file = "-", format = "text";
  bool lines = false, decode = false, no_special_tokens = false;
};

// Without their newlines; what follows the last newline is a line unless it is empty.
std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    out.push_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return out;
}

std::vector<std::int32_t> parse_ids(std::string_view line, const hub::Tokenizer& tokenizer, const std::string& where) {
  constexpr std::string_view kSpace = " \t\r";
  std::vector<std::int32_t> out;
  for (std::size_t at = line.find_first_not_of(kSpace); at != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(kSpace, at), line.size());
    std::int32_t id = -1;
    const auto [rest, error] = std::from_chars(line.data() + at, line.data() + end, id);
    if (error != std::errc() || rest != line.data() + end || !tokenizer.has_token(id)) {
      fail({.what = "no token has this id",
            .where = fmt::format("{}, column {}", where, at + 1),
            .expected = fmt::format("an id from 0 to {}", tokenizer.vocab_size() - 1),
            .found = std::string(line.substr(at, std::min<std::size_t>(end - at, 40))),
            .fix = "give ids of this model, separated by spaces"});
    }
    out.push_back(id);
    at = line.find_first_not_of(kSpace, end);
  }
  return out;
}

void print_encoded(const hub::Tokenizer& tokenizer, std::string_view text, const Options& options) {
  const bool special = !options.no_special_tokens;
  if (options.format == "json") {
    Json ids = Json::array(), pieces = Json::array();
    for (const hub::Piece& piece : tokenizer.encode_pieces(text, special)) {
      ids.push_back(piece.id);
      pieces.push_back({{"id", piece.id}, {"text", piece.text}, {"begin", piece.begin}, {"end", piece.end}});
    }
    fmt::print("{}\n", Json{{"ids", std::move(ids)}, {"pieces", std::move(pieces)}}.dump());
  } else {
    fmt::print("{}\n", fmt::join(tokenizer.encode(text, special), " "));
  }
}

void run(const Options& options) {
  const hub::Tokenizer tokenizer = hub::Tokenizer::load(model_or_file(options.model));
  for (const std::string& note : tokenizer.notes()) fmt::print(stderr, "note: {}\n", note);
  const bool from_stdin = options.file == "-";
  MappedFile mapped;
  std::string read;
  if (from_stdin) {
    read = read_standard_input();
  } else if (std::filesystem::is_regular_file(options.file)) {
    mapped = MappedFile(options.file);
  } else {
    read = read_text_file(options.file);  // a pipe; or it says what is wrong
  }
  const std::string_view text = mapped.text().empty() ? std::string_view(read) : mapped.text();
  if (!options.decode && !options.lines) {
    print_encoded(tokenizer, text, options);
    return;
  }
  std::size_t number = 0;
  for (const std::string_view line : lines_of(text)) {
    ++number;
    if (!options.decode) {
      print_encoded(tokenizer, line, options);
      continue;
    }
    const auto ids =
        parse_ids(line, tokenizer, fmt::format("{}: line {}", from_stdin ? "stdin" : options.file, number));
    const std::string decoded = tokenizer.decode(ids, options.no_special_tokens);
    if (options.format == "json") {
      fmt::print("{}\n", Json{{"ids", ids}, {"text", decoded}}.dump());
    } else {
      std::fwrite(decoded.data(), 1, decoded.size(), stdout);
      std::fputc('\n', stdout);
    }
  }
}

}  // namespace

void add_tokenize_command(CLI::App& app) {
  auto options = std::make_shared<Options>();
  Command command(app, "tokenize", "Print the token ids of a text, or the text of token ids");
  command
      .add_option("model", options->model,
                  "a model directory, a tokenizer.json, or ORG/NAME that was pulled (default: $MODEL_PATH)")
      .from_environment("MODEL_PATH")
      .not_empty()
      .required();
  command.add_option("file", options->file, "the text; - is stdin").show_default();
  command.add_flag("--lines", options->lines, "each line is a text of its own");
  command.add_flag("--decode", options->decode, "the input is lines of ids; print a line of text for each");
  command.add_flag("--no-special-tokens", options->no_special_tokens,
                   "put none around the text (BOS …); with --decode, leave them out");
  command.add_option("--format", options->format, "text, or json with the pieces and the bytes they stand for")
      .one_of({"text", "json"})
      .show_default();
  command.on_run([options] { run(*options); });
}

}  // namespace tilewright::cli
