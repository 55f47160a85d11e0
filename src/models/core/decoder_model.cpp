#include "models/core/decoder_model.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "hub/patch/pin.h"
#include "hub/safetensors/checkpoint.h"
#include "models/core/convert_weights.h"
#include "models/core/dummy_weights.h"
#include "models/core/weight_loader.h"
#include "models/core/weight_placer.h"
#include "nn/decoder.h"

namespace tilewright::models {
namespace {

std::uint64_t weight_bytes(const nn::DecoderConfig& config, DType dtype) {
  std::int64_t elements = 0;
  for (int s = 0; s < nn::kSlots; ++s) {
    const nn::Slot slot = static_cast<nn::Slot>(s);
    if (const auto shape = nn::slot_shape(config, slot))
      elements += shape->elements() * (nn::is_layer_slot(slot) ? config.layers : 1);
  }
  return static_cast<std::uint64_t>(elements) * dtype_size(dtype);
}

class DecoderModel : public Model {
 public:
  DecoderModel(nn::DecoderConfig config, nn::DecoderWeights weights) : decoder_(std::move(config), std::move(weights)) {
    const nn::DecoderConfig& c = decoder_.config();
    info_ = {.family = c.family,
             .description = nn::to_string(c),
             .vocab_size = c.vocab_size,
             .context = c.context(),
             .layers = c.layers,
             .end_tokens = c.end_tokens,
             .dtype = decoder_.weights().dtype};
  }
  ModelInfo& mutable_info() { return info_; }

  const ModelInfo& info() const override { return info_; }
  nn::State make_state(ops::Context& context, std::int64_t batch, std::int64_t max_len) const override {
    return decoder_.make_state(context, batch, max_len);
  }
  std::uint64_t state_bytes(std::int64_t batch, std::int64_t max_len) const override {
    return decoder_.state_bytes(batch, max_len);
  }
  void restart(ops::Context& context, nn::State& state) const override { decoder_.restart(context, state); }
  ops::Tensor forward(ops::Context& context, const ops::Tensor& ids, nn::State& state,
                      std::int64_t begin) const override {
    return decoder_.forward(context, ids, state, begin);
  }
  ops::Tensor head(ops::Context& context, const ops::Tensor& hidden) const override {
    return decoder_.head(context, hidden);
  }
  void advance(ops::Context& context, nn::State& state, std::int64_t by) const override {
    decoder_.advance(context, state, by);
  }
  void advance(ops::Context& context, nn::State& state, const ops::Tensor& by) const override {
    decoder_.advance(context, state, by);
  }
  std::unique_ptr<Model> converted(ops::Context& context, DType dtype) const override {
    const nn::DecoderConfig& c = decoder_.config();
    const std::uint64_t bytes = weight_bytes(c, dtype);
    require_memory_for_weights(context, bytes, fmt::format("{} in {}", c.family, dtype_name(dtype)));
    auto out = std::make_unique<DecoderModel>(c, convert_weights(context, c, decoder_.weights(), dtype));
    out->info_.weight_bytes = bytes;
    return out;
  }

 private:
  nn::Decoder decoder_;
  ModelInfo info_;
};

// Returns a note that says so, or nothing.
std::vector<std::string> cut_layers(nn::DecoderConfig& config, const LoadOptions& options) {
  if (!options.layers) return {};
  if (*options.layers < 1 || *options.layers > config.layers)
    fail({.what = "the model has no such number of layers",
          .where = "--layers",
          .expected = fmt::format("1 to {}", config.layers),
          .found = fmt::format("{}", *options.layers),
          .fix = ""});
  if (*options.layers == config.layers) return {};
  const std::string note =
      fmt::format("the model is cut to the first {} of its {} layers", *options.layers, config.layers);
  config.layers = *options.layers;
  config.windows.resize(static_cast<std::size_t>(config.layers));
  return {note};
}

}  // namespace

const Family& family_of_directory(const FamilyRegistry& families, const std::filesystem::path& directory,
                                  const Json& config) {
  const std::string where = (directory / "config.json").string();
  const auto stated = config.is_object() ? config.find("model_type") : config.end();
  const bool known = stated != config.end() && stated->is_string() &&
                     std::any_of(families.families().begin(), families.families().end(),
                                 [&](const Family& f) { return f.model_type == stated->get<std::string>(); });
  if (!known) {
    try {
      if (const auto pin = hub::read_pin(directory))
        if (const Family* pinned = pin->family.empty() ? nullptr : families.find(pin->family)) return *pinned;
    } catch (const Error&) {  // a damaged pin decides nothing
    }
  }
  return families.of_config(config, where);
}

std::unique_ptr<Model> load_model(ops::Context& context, const FamilyRegistry& families,
                                  const std::filesystem::path& directory, const LoadOptions& options) {
  const std::string where = (directory / "config.json").string();
  const Json json = read_json_file(directory / "config.json");
  const Family& family = family_of_directory(families, directory, json);
  nn::DecoderConfig config = read_config(family, json, where);
  std::vector<std::string> notes = cut_layers(config, options);
  auto checkpoint = std::make_shared<hub::Checkpoint>(hub::Checkpoint::open(directory));
  LoadedWeights loaded = load_weights(context, config, family.weight_names, std::move(checkpoint), options);
  auto model = std::make_unique<DecoderModel>(std::move(config), std::move(loaded.weights));
  model->mutable_info().weight_bytes = loaded.bytes;
  notes.insert(notes.end(), loaded.notes.begin(), loaded.notes.end());
  model->mutable_info().notes = std::move(notes);
  if (std::string warning = hub::pin_warning(directory); !warning.empty())
    model->mutable_info().warnings.push_back(std::move(warning));
  return model;
}

std::unique_ptr<Model> make_dummy_model(ops::Context& context, const FamilyRegistry& families, std::string_view name,
                                        const LoadOptions& options) {
  const auto [family, shape] = families.shape(name);
  nn::DecoderConfig config = read_config(*family, parse_json(shape->config, shape->name), shape->name);
  std::vector<std::string> notes = cut_layers(config, options);
  const DType dtype = options.dtype.value_or(config.stated_dtype.value_or(DType::bf16));
  const std::uint64_t bytes = weight_bytes(config, dtype);
  require_memory_for_weights(context, bytes, shape->name);
  nn::DecoderWeights weights = dummy_weights(context, config, dtype, options);
  auto model = std::make_unique<DecoderModel>(std::move(config), std::move(weights));
  model->mutable_info().weight_bytes = bytes;
  notes.insert(notes.begin(), "the weights are random");
  model->mutable_info().notes = std::move(notes);
  return model;
}

}  // namespace tilewright::models
