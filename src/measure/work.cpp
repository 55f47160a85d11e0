#include "measure/work.h"

#include <algorithm>

#include "base/json.h"
#include "models/core/decoder_model.h"

namespace tilewright::measure {

Work::Work(const models::FamilyRegistry& families, const std::string& shape, std::optional<DType> wanted,
           std::optional<std::int64_t> layers) {
  const models::Family* of = nullptr;
  if (std::filesystem::is_directory(shape)) {
    const std::filesystem::path path = std::filesystem::path(shape) / "config.json";
    const Json json = read_json_file(path);
    of = &models::family_of_directory(families, shape, json);
    config = models::read_config(*of, json, path.string());
    name = std::filesystem::weakly_canonical(shape).filename().string();
  } else {
    const auto sized = families.shape(shape);
    of = sized.family;
    config = models::read_config(*of, parse_json(sized.shape->config, shape), shape);
    name = sized.shape->name;
  }
  family = of->model_type;
  block_diffusion = of->block_diffusion;
  published_layers = config.layers;
  config.layers = std::clamp<std::int64_t>(layers.value_or(config.layers), 0, config.layers);
  dtype = wanted.value_or(config.stated_dtype.value_or(DType::bf16));
  element_ = static_cast<double>(dtype_size(dtype));
  for (int s = 0; s < nn::kSlots; ++s) {
    const auto slot = static_cast<nn::Slot>(s);
    const auto dims = nn::slot_shape(config, slot);
    if (!dims || slot == nn::Slot::embedding || slot == nn::Slot::head) continue;
    const double count = nn::is_layer_slot(slot) ? static_cast<double>(config.layers) : 1;
    elements_ += count * static_cast<double>(dims->elements());
    if (dims->rank() == 2) linear_ += count * static_cast<double>(dims->elements());
  }
  head_ = static_cast<double>(config.vocab_size * config.hidden_size);
}

double Work::prefill_flops(double tokens, double batch) const {
  return batch * (2 * tokens * linear_ + 2 * head_ +
                  2 * tokens * tokens * static_cast<double>(config.layers * config.heads * config.head_dim));
}

double Work::prefill_bytes(double tokens, double batch) const {
  return element_ * (elements_ + head_ +
                     2 * batch * tokens * static_cast<double>(config.layers * config.kv_heads * config.head_dim));
}

double Work::weight_bytes() const { return element_ * (elements_ + head_ * (config.tied ? 1 : 2)); }

double Work::decode_bytes(double context, double batch) const {
  return element_ * (elements_ + head_ +
                     2 * batch * context * static_cast<double>(config.layers * config.kv_heads * config.head_dim));
}

double Work::decode_flops(double context, double batch) const {
  return batch *
         (2 * linear_ + 2 * head_ + 4 * context * static_cast<double>(config.layers * config.heads * config.head_dim));
}

}  // namespace tilewright::measure
