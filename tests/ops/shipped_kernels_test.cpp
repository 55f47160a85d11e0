// A first run compiles nothing: of derived kernels, published decoders call only forms that the bench cases lead to.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "nn/decoder.h"
#include "ops/core/shipped.h"
#include "ops/ops_fixture.h"

namespace tilewright {
namespace {

using namespace ops;

struct Shipping : Observer {
  Shipping() {
    for (const Registry::RegisteredKernel& registered : test::program().registry.tile_kernels()) {
      const Op& op = test::program().registry.get(OpName(std::string_view(registered.op)));
      std::vector<OpCase> cases;
      for (const EmbeddedCaseFile& file : embedded_case_files())
        if (file.folder == registered.op)
          cases = parse_cases(test::program().registry, file.text, "cases", registered.op);
      kernels.push_back({&op, registered.kernel, shipped_specialisations(op, *registered.kernel, cases)});
    }
  }
  void call_begins(const OpCall& call, const char* path) override {
    for (const Kernel& one : kernels) {
      if (one.op != &call.op || one.kernel->kind != CandidateKind::derived) continue;
      const std::string where = fmt::format("{} of {} at {}", one.kernel->name, call.describe(), path);
      const std::string refusal = one.kernel->refuse ? one.kernel->refuse(call) : "";
      EXPECT_EQ(refusal, "") << where;
      if (!refusal.empty()) continue;
      const Specialisation wanted = one.kernel->specialise(call);
      EXPECT_TRUE(std::find(one.shipped.begin(), one.shipped.end(), wanted) != one.shipped.end()) << where;
      asked.insert(call.op.schema.name);
    }
  }
  struct Kernel {
    const Op* op;
    std::shared_ptr<const TileKernel> kernel;
    std::vector<Specialisation> shipped;
  };
  std::vector<Kernel> kernels;
  std::set<std::string> asked;
};

nn::DecoderConfig config_of(const std::string& family, std::int64_t heads, std::int64_t kv_heads, std::int64_t width) {
  nn::DecoderConfig config;
  config.family = family;
  config.vocab_size = 64;
  config.hidden_size = 96;
  config.intermediate_size = 80;
  config.layers = 1;
  config.heads = heads;
  config.kv_heads = kv_heads;
  config.head_dim = width;
  config.max_positions = 1024;
  config.qk_norm = family == "qwen3";
  config.qkv_bias = family == "qwen2";
  config.windows.assign(1, 0);
  return config;
}

TEST(ShippedKernels, AreAllThatPublishedDecodersCall) {
  Shipping shipping;
  test::Bench bench("null");
  Context context = bench.context({}, &shipping);
  const nn::DecoderConfig configs[] = {
      config_of("qwen3", 4, 2, 64),    // bard
      config_of("qwen3", 16, 8, 128),  // Qwen3-0.6B, 1.7B
      config_of("llama", 32, 8, 64),   // Llama 3.2 1B
      config_of("llama", 9, 3, 64),    // SmolLM2
      config_of("qwen2", 14, 2, 64),
  };
  for (const nn::DecoderConfig& config : configs)
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
      nn::DecoderWeights weights;
      weights.dtype = dtype;
      const auto make = [&](nn::Slot slot) {
        const std::optional<Shape> shape = nn::slot_shape(config, slot);
        return shape ? context.empty(dtype, *shape) : Tensor();
      };
      weights.embedding = make(nn::Slot::embedding);
      weights.head = make(nn::Slot::head);
      weights.final_norm = make(nn::Slot::final_norm);
      weights.layers.resize(1);
      for (int i = 0; i < nn::kSlots; ++i)
        if (const auto slot = static_cast<nn::Slot>(i); nn::is_layer_slot(slot)) weights.layers[0][slot] = make(slot);
      const nn::Decoder decoder(config, weights);
      for (const std::int64_t batch : {1, 2}) {
        nn::State state = decoder.make_state(context, batch, 2 * nn::kBucket);
        for (const auto& [tokens, begin] : {std::pair<std::int64_t, std::int64_t>{7, 0}, {1, 0}, {1, 7}, {5, 8}})
          decoder.forward(context, context.empty(DType::i64, {batch, tokens}), state, begin);
      }
    }
  for (const char* op : {"rms_norm", "add_rms_norm", "rope", "qk_norm_rope", "silu_mul", "scaled_masked_softmax"})
    EXPECT_TRUE(shipping.asked.count(op)) << op;
}

}  // namespace
}  // namespace tilewright
