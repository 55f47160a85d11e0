// Any bytes as a GGUF file: an Error, or metadata and tensors that can all be read, mapped and dequantised.
#include <cstdint>
#include <vector>

#include "base/error.h"
#include "hub/gguf/dequantize.h"
#include "hub/gguf/gguf_config.h"
#include "hub/gguf/gguf_tokenizer.h"
#include "hub/gguf/gguf_weights.h"

using namespace tilewright;

namespace {

template <typename Action>
void attempt(Action&& action) {
  try {
    action();
  } catch (const Error&) {
  }
}

void dequantise_ends(const hub::GgufTensor& tensor) {
  const hub::GgufTypeInfo* info = hub::gguf_type(tensor.type);
  if (!info || !info->dequantize || tensor.bytes.empty()) return;
  std::vector<float> block(info->block_elements);
  info->dequantize(tensor.bytes.data(), 1, block.data());
  info->dequantize(tensor.bytes.data() + tensor.bytes.size() - info->block_bytes, 1, block.data());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::vector<std::uint8_t> exact(data, data + size);  // its end is where the sanitizer looks
  attempt([&] {
    const auto gguf = hub::GgufContent::parse(std::as_bytes(std::span(exact)), "fuzz");
    for (const auto& tensor : gguf.tensors()) dequantise_ends(tensor);
    attempt([&] {
      const auto vocabulary = hub::read_gguf_vocabulary(gguf, "qwen2", 1 << 20);
      hub::tokenizer_json(vocabulary);
      hub::tokenizer_config_json(vocabulary, 1);
      hub::generation_config_json(vocabulary);
    });
    const auto model = hub::read_gguf_model(gguf);
    hub::published_config(gguf, model, DType::f32);
    for (const auto& weight : hub::map_gguf_weights(gguf, model)) hub::produce_weight(weight, DType::bf16, [](auto) {});
  });
  return 0;
}
