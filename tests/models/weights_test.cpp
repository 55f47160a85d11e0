// What can be wrong with a model's weights, and what must not be.
#include <gtest/gtest.h>

#include <cstring>

#include "engine/generate.h"
#include "hub/safetensors/safetensors_file.h"
#include "hub/safetensors/safetensors_writer.h"
#include "models/model_fixture.h"

namespace tilewright::test {
namespace {

using Edit = std::function<void(std::vector<hub::TensorToWrite>&)>;

// A copy of a test model whose weight file went through `edit`.
std::filesystem::path edited(const Scratch& scratch, const std::string& name, const Edit& edit,
                             const Json& config_changes = Json::object()) {
  const auto to = scratch.path() / "model";
  std::filesystem::create_directory(to);
  Json config = read_json_file(test_model(name) / "config.json");
  for (const auto& [key, value] : config_changes.items()) config[key] = value;
  std::ofstream(to / "config.json") << config.dump();
  const auto file = hub::SafetensorsFile::open(test_model(name) / "model.safetensors");
  std::vector<hub::TensorToWrite> tensors;
  for (const hub::TensorView& v : file.tensors())
    tensors.push_back({.name = v.name, .dtype = *v.dtype, .shape = v.shape, .bytes = v.bytes});
  edit(tensors);
  hub::write_safetensors(to / "model.safetensors", tensors);
  return to;
}

hub::TensorToWrite& named(std::vector<hub::TensorToWrite>& tensors, const std::string& name) {
  for (hub::TensorToWrite& t : tensors)
    if (t.name == name) return t;
  throw std::runtime_error("no tensor " + name);
}

void remove(std::vector<hub::TensorToWrite>& tensors, const std::string& name) {
  std::erase_if(tensors, [&](const auto& t) { return t.name == name; });
}

void load(const std::filesystem::path& model) { engine::Session session(program(), options_for(model)); }

std::vector<std::int64_t> greedy(const std::filesystem::path& model, std::optional<DType> dtype = {}) {
  engine::Session session(program(), options_for(model, dtype));
  engine::GenerateRequest request;
  request.prompt = {5, 17, 3, 40, 2};
  request.max_new_tokens = 12;
  return engine::generate(session, request).tokens;
}

constexpr const char* kUp = "model.layers.1.mlp.up_proj.weight";

TEST(Weights, AMissingTensorIsNamed) {
  const Scratch scratch;
  const auto model = edited(scratch, "qwen3-base", [](auto& tensors) { remove(tensors, kUp); });
  expect_message(kUp, [&] { load(model); });
}

TEST(Weights, AWrongShapeIsNamedWithBothShapes) {
  const Scratch scratch;
  const auto model = edited(scratch, "qwen3-base", [](auto& tensors) {
    std::swap(named(tensors, kUp).shape[0], named(tensors, kUp).shape[1]);
  });
  const std::string message = message_of([&] { load(model); });
  for (const char* part : {kUp, "[64, 48]", "[48, 64]"}) EXPECT_NE(message.find(part), std::string::npos) << message;
}

TEST(Weights, AWrongDtypeIsNamed) {
  const Scratch scratch;
  static std::vector<std::byte> bytes(64 * 48 * 4);
  const auto model = edited(scratch, "qwen3-base", [](auto& tensors) {
    named(tensors, kUp).dtype = DType::i32;
    named(tensors, kUp).bytes = bytes;
  });
  const std::string message = message_of([&] { load(model); });
  for (const char* part : {kUp, "I32", "BF16"}) EXPECT_NE(message.find(part), std::string::npos) << message;
}

TEST(Weights, TensorsOfOtherModelsAreNotedNotRefused) {
  const Scratch scratch;
  const std::vector<std::byte> bytes(16);
  const auto model = edited(scratch, "qwen3-base", [&](auto& tensors) {
    tensors.push_back(
        {.name = "model.layers.0.self_attn.rotary_emb.inv_freq", .dtype = DType::f32, .shape = {4}, .bytes = bytes});
    tensors.push_back({.name = "mtp.weight", .dtype = DType::f32, .shape = {4}, .bytes = bytes});
  });
  engine::Session session(program(), options_for(model));
  ASSERT_EQ(session.model().info().notes.size(), 1u);
  EXPECT_NE(session.model().info().notes[0].find("mtp.weight"), std::string::npos);
  EXPECT_EQ(greedy(model), greedy(test_model("qwen3-base")));
}

TEST(Weights, NamesOfTheBareModelAreRead) {
  const Scratch scratch;
  const auto model = edited(scratch, "qwen3-base", [](auto& tensors) {
    for (auto& t : tensors)
      if (t.name.starts_with("model.")) t.name = t.name.substr(6);
  });
  EXPECT_EQ(greedy(model), greedy(test_model("qwen3-base")));
}

// A head keeps its name, which tells nothing of the others.
TEST(Weights, APrefixMayBeAbsentBesideAHead) {
  const Scratch scratch;
  const auto model = edited(scratch, "qwen3-head-dim", [](auto& tensors) {
    named(tensors, "lm_head.weight");
    for (auto& t : tensors)
      if (t.name.starts_with("model.")) t.name = t.name.substr(6);
  });
  EXPECT_EQ(greedy(model), greedy(test_model("qwen3-head-dim")));
}

// safetensors does not promise alignment: a header of another length moves every tensor.
TEST(Weights, UnalignedTensorsAreRead) {
  const Scratch scratch;
  const auto model = scratch.path() / "model";
  std::filesystem::copy(test_model("qwen3-base"), model, std::filesystem::copy_options::recursive);
  const std::string whole = read_text_file(test_model("qwen3-base") / "model.safetensors");
  std::uint64_t length = 0;
  std::memcpy(&length, whole.data(), 8);
  for (const std::uint64_t extra : {1u, 2u, 3u}) {
    std::filesystem::remove(model / "model.safetensors");
    const std::uint64_t longer = length + extra;
    std::ofstream out(model / "model.safetensors", std::ios::binary);
    out.write(reinterpret_cast<const char*>(&longer), 8);
    out << whole.substr(8, length) << std::string(extra, ' ') << whole.substr(8 + length);
    out.close();
    EXPECT_EQ(greedy(model), greedy(test_model("qwen3-base"))) << extra;
    EXPECT_EQ(greedy(model, DType::bf16), greedy(test_model("qwen3-base"), DType::bf16)) << extra;
  }
}

TEST(Weights, HeadAndEmbedding) {
  const Scratch untied;
  const auto without = edited(untied, "llama-base", [](auto& tensors) { remove(tensors, "lm_head.weight"); });
  expect_message("lm_head.weight", [&] { load(without); });
  const Scratch tied;
  const auto nothing =
      edited(tied, "llama-base", [](auto& t) { remove(t, "lm_head.weight"), remove(t, "model.embed_tokens.weight"); },
             {{"tie_word_embeddings", true}});
  expect_message("embed_tokens", [&] { load(nothing); });
}

TEST(Weights, AutoMeansTheFilesDtype) {
  for (const auto& [name, dtype] :
       {std::pair{"qwen3-bf16", DType::bf16}, {"qwen3-f16", DType::f16}, {"qwen3-base", DType::f32}}) {
    engine::Session session(program(), options_for(test_model(name)));
    EXPECT_EQ(session.model().info().dtype, dtype) << name;
  }
}

TEST(Weights, CutToSomeLayers) {
  engine::SessionOptions options = options_for(test_model("qwen3-base"));
  options.load.layers = 2;
  engine::Session session(program(), options);
  EXPECT_EQ(session.model().info().layers, 2);
  for (const std::int64_t wrong : {0, 4}) {
    options.load.layers = wrong;
    expect_message("--layers", [&] { engine::Session again(program(), options); });
  }
}

TEST(Weights, DummyOnesAreSeededAndFinite) {
  const auto answer = [](std::uint64_t seed, DType dtype, const char* shape) {
    engine::SessionOptions options = options_for({}, dtype);
    options.dummy_shape = shape;
    options.load.layers = 2;
    options.load.seed = seed;
    engine::Session session(program(), options);
    session.begin(1, 8);
    HostTensor ids(DType::i64, {1, 5});
    for (int i = 0; i < 5; ++i) ids.set(i, 100 + i);
    return session.read_logits(session.last_logits(session.run(ids)));
  };
  for (const char* shape : {"SmolLM2-135M", "Qwen2.5-0.5B"}) {
    const auto first = answer(1, DType::bf16, shape);
    EXPECT_EQ(first, answer(1, DType::bf16, shape));
    EXPECT_NE(first, answer(2, DType::bf16, shape));
    double sum = 0;
    for (const float v : first) {
      ASSERT_TRUE(std::isfinite(v));
      sum += static_cast<double>(v) * v;
    }
    EXPECT_GT(sum / static_cast<double>(first.size()), 1e-4);
    EXPECT_LT(sum / static_cast<double>(first.size()), 1e4);
  }
}

TEST(Model, ADirectoryWithoutItsFiles) {
  const Scratch scratch;
  expect_message("config.json", [&] { load(scratch.path()); });
  std::filesystem::copy(test_model("qwen3-base") / "config.json", scratch.path() / "config.json");
  expect_message(scratch.path().string(), [&] { load(scratch.path()); });
  scratch.write("model.safetensors", "short");
  expect_message("HeaderTooSmall", [&] { load(scratch.path()); });
}

}  // namespace
}  // namespace tilewright::test
