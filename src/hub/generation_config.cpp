#include "hub/generation_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/json.h"

namespace tilewright::hub {
namespace {

[[noreturn]] void bad_field(const std::string& where, const char* field, const std::string& expected,
                            const Json& found) {
  fail({.what = fmt::format("\"{}\" is not usable", field),
        .where = where,
        .expected = expected,
        .found = found.dump(-1, ' ', false, Json::error_handler_t::replace).substr(0, 60),
        .fix = "correct the value"});
}

// A number within bounds; null or absent leaves `into` as it is.
void read_number(const Json& config, const char* field, double& into, double low, double high,
                 const std::string& where) {
  const double value = optional_or<double>(config, field, into, where);
  if (!(value >= low && value <= high))
    bad_field(where, field, fmt::format("a number from {} to {}", low, high), config[field]);
  into = value;
}

std::int64_t read_count(const Json& config, const char* field, std::int64_t otherwise, const std::string& where) {
  const auto value = optional_or<std::int64_t>(config, field, otherwise, where);
  if (value < 0) bad_field(where, field, "an integer of at least 0", config[field]);
  return value;
}

std::optional<std::int64_t> read_optional_count(const Json& config, const char* field, const std::string& where) {
  if (!config.contains(field) || config[field].is_null()) return std::nullopt;
  return read_count(config, field, 0, where);
}

// An id, or none for -1 and other negative ones, which some files write for "no such token".
std::optional<std::int64_t> to_id(const Json& value, const char* field, const std::string& where) {
  if (!value.is_number_integer()) bad_field(where, field, "a token id (an integer)", value);
  if (value.is_number_unsigned() ? value.get<std::uint64_t>() > 0x7FFFFFFF : value.get<std::int64_t>() > 0x7FFFFFFF)
    bad_field(where, field, "a token id below 2147483648", value);
  const auto id = value.get<std::int64_t>();
  if (id < 0) return std::nullopt;
  return static_cast<std::int64_t>(id);
}

std::vector<std::int64_t> to_ids(const Json& list, const char* field, const std::string& where) {
  if (!list.is_array()) bad_field(where, field, "a list of token ids", list);
  std::vector<std::int64_t> ids;
  for (const Json& item : list)
    if (const auto id = to_id(item, field, where)) ids.push_back(*id);
  return ids;
}

bool present(const Json& config, const char* field) { return config.contains(field) && !config[field].is_null(); }

std::optional<std::int64_t> read_id(const Json& config, const char* field, const std::string& where) {
  return present(config, field) ? to_id(config[field], field, where) : std::nullopt;
}

void add_end_ids(const Json& config, std::vector<std::int64_t>& into, const std::string& where) {
  constexpr const char* field = "eos_token_id";
  if (!present(config, field)) return;
  std::vector<std::int64_t> ids;
  if (config[field].is_array())
    ids = to_ids(config[field], field, where);
  else if (const auto id = to_id(config[field], field, where))
    ids.push_back(*id);
  for (const std::int64_t id : ids)
    if (std::find(into.begin(), into.end(), id) == into.end()) into.push_back(id);
}

std::optional<Json> read_object(const std::filesystem::path& path) {
  if (!std::filesystem::exists(path)) return std::nullopt;
  Json json = read_json_file(path);
  if (!json.is_object())
    fail({.what = "not a JSON object",
          .where = path.string(),
          .expected = "{…}",
          .found = json_kind(json),
          .fix = "download the file again"});
  return json;
}

void read_lists(const Json& config, GenerationConfig& into, const std::string& where) {
  if (present(config, "stop_strings")) {
    const Json& stops = config["stop_strings"];
    const auto add = [&](const Json& stop) {
      if (!stop.is_string()) bad_field(where, "stop_strings", "a text or a list of texts", stops);
      into.stop_strings.push_back(stop.get<std::string>());
    };
    if (stops.is_array())
      for (const Json& stop : stops) add(stop);
    else
      add(stops);
  }
  if (present(config, "suppress_tokens"))
    into.suppress_tokens = to_ids(config["suppress_tokens"], "suppress_tokens", where);
  if (present(config, "bad_words_ids")) {
    if (!config["bad_words_ids"].is_array())
      bad_field(where, "bad_words_ids", "a list of lists of token ids", config["bad_words_ids"]);
    for (const Json& word : config["bad_words_ids"]) into.bad_words_ids.push_back(to_ids(word, "bad_words_ids", where));
  }
}

}  // namespace

GenerationConfig GenerationConfig::load(const std::filesystem::path& model_dir) {
  GenerationConfig out;
  const auto file = model_dir / "generation_config.json";
  if (const auto config = read_object(file)) {
    const std::string where = file.string();
    constexpr double unbounded = std::numeric_limits<double>::max();
    out.do_sample = optional_or<bool>(*config, "do_sample", out.do_sample, where);
    read_number(*config, "temperature", out.temperature, 0.0, unbounded, where);
    read_number(*config, "top_p", out.top_p, 0.0, 1.0, where);
    read_number(*config, "min_p", out.min_p, 0.0, 1.0, where);
    read_number(*config, "typical_p", out.typical_p, 0.0, 1.0, where);
    read_number(*config, "repetition_penalty", out.repetition_penalty, 1e-6, unbounded, where);
    out.top_k = read_count(*config, "top_k", out.top_k, where);
    out.no_repeat_ngram_size = read_count(*config, "no_repeat_ngram_size", out.no_repeat_ngram_size, where);
    out.max_length = read_count(*config, "max_length", out.max_length, where);
    out.max_new_tokens = read_optional_count(*config, "max_new_tokens", where);
    out.min_new_tokens = read_optional_count(*config, "min_new_tokens", where);
    out.pad_token_id = read_id(*config, "pad_token_id", where);
    out.bos_token_id = read_id(*config, "bos_token_id", where);
    read_lists(*config, out, where);
    add_end_ids(*config, out.eos_token_ids, where);
  }
  const auto model_file = model_dir / "config.json";
  if (const auto config = read_object(model_file)) {
    const std::string where = model_file.string();
    add_end_ids(*config, out.eos_token_ids, where);
    if (config->contains("text_config") && (*config)["text_config"].is_object())
      add_end_ids((*config)["text_config"], out.eos_token_ids, where + " text_config");
    if (!out.bos_token_id) out.bos_token_id = read_id(*config, "bos_token_id", where);
    if (!out.pad_token_id) out.pad_token_id = read_id(*config, "pad_token_id", where);
  }
  return out;
}

}  // namespace tilewright::hub
