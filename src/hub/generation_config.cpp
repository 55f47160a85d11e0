#include "hub/generation_config.h"

#include "base/error.h"

namespace tilewright::hub {

GenerationConfig GenerationConfig::load(const std::filesystem::path& model_dir) {
  const std::filesystem::path file = model_dir / "generation_config.json";
  return std::filesystem::exists(file) ? read(read_json_file(file), file.string()) : GenerationConfig{};
}

GenerationConfig GenerationConfig::read(const Json& json, const std::string& where) {
  GenerationConfig out;
  out.do_sample = optional_or<bool>(json, "do_sample", out.do_sample, where);
  out.temperature = optional_or<double>(json, "temperature", out.temperature, where);
  out.top_k = optional_or<std::int64_t>(json, "top_k", out.top_k, where);
  out.top_p = optional_or<double>(json, "top_p", out.top_p, where);
  out.min_p = optional_or<double>(json, "min_p", out.min_p, where);
  out.repetition_penalty = optional_or<double>(json, "repetition_penalty", out.repetition_penalty, where);
  if (const auto count = optional_or<std::int64_t>(json, "max_new_tokens", 0, where); count > 0)
    out.max_new_tokens = count;
  const auto eos = json.find("eos_token_id");
  if (eos == json.end() || eos->is_null()) return out;
  for (const Json& id : eos->is_array() ? *eos : Json::array({*eos})) {
    if (!id.is_number_integer())
      fail({.what = "\"eos_token_id\" has the wrong type",
            .where = where,
            .expected = "a token id or a list of them",
            .found = json_kind(id),
            .fix = "correct the file or download it again"});
    out.eos_token_ids.push_back(id.get<std::int64_t>());
  }
  return out;
}

}  // namespace tilewright::hub
