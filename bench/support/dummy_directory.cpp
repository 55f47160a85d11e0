#include "support/dummy_directory.h"

#include <fmt/format.h>

#include <cstring>
#include <ostream>
#include <vector>

#include "base/mapped_file.h"
#include "hub/safetensors/safetensors_writer.h"
#include "nn/decoder_weights.h"

namespace tilewright::bench {
namespace {

// bf16 values of both signs between 2^-7 and 2^-5, cheaply; norms are ones.
void produce(const hub::ByteSink& sink, std::size_t bytes, bool ones, std::uint32_t seed) {
  std::vector<std::uint16_t> values(std::size_t{1} << 19);
  std::uint32_t state = seed * 2654435761u + 1;
  for (std::size_t at = 0; at < bytes;) {
    const std::size_t count = std::min(values.size(), (bytes - at) / 2);
    for (std::size_t i = 0; i < count; ++i) {
      state = state * 1664525u + 1013904223u;
      values[i] = ones ? 0x3f80 : static_cast<std::uint16_t>(0x3c00u | (state >> 16 & 0x80ffu));
    }
    sink(std::as_bytes(std::span(values.data(), count)));
    at += 2 * count;
  }
}

}  // namespace

void write_dummy_directory(const models::FamilyRegistry& families, const std::string& shape,
                           const std::filesystem::path& directory) {
  const std::filesystem::path weights = directory / "model.safetensors";
  if (std::filesystem::exists(weights)) return;
  std::filesystem::create_directories(directory);
  const auto sized = families.shape(shape);
  const nn::DecoderConfig config = models::read_config(*sized.family, parse_json(sized.shape->config, shape), shape);
  write_file_atomically(directory / "config.json", [&](std::ostream& out) { out << sized.shape->config << "\n"; });
  std::vector<hub::TensorToWrite> tensors;
  for (const models::WeightName& name : sized.family->weight_names) {
    const auto dims = nn::slot_shape(config, name.slot);
    if (!dims || (name.slot == nn::Slot::head && config.tied)) continue;
    const std::int64_t layers = nn::is_layer_slot(name.slot) ? config.layers : 1;
    for (std::int64_t layer = 0; layer < layers; ++layer) {
      const auto seed = static_cast<std::uint32_t>(tensors.size());
      const std::size_t bytes = 2 * static_cast<std::size_t>(dims->elements());
      const bool ones = dims->rank() == 1;
      tensors.push_back({.name = fmt::format(fmt::runtime(name.pattern), layer),
                         .dtype = DType::bf16,
                         .shape = *dims,
                         .produce = [=](const hub::ByteSink& sink) { produce(sink, bytes, ones, seed); }});
    }
  }
  hub::write_safetensors(weights, tensors);
}

}  // namespace tilewright::bench
