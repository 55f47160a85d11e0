#include "engine/smoke_gate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "hub/safetensors/safetensors_file.h"
#include "hub/safetensors/safetensors_writer.h"
#include "hub/tokenizer/tokenizer.h"
#include "models/model_fixture.h"

namespace tilewright::test {
namespace {

using engine::SmokeCheck;
using engine::SmokeResult;
using Bytes = std::vector<std::byte>;

// A copy of bard whose tensors `change` has been at: name → bytes (bf16).
void spoil(const std::filesystem::path& folder, const std::function<void(std::map<std::string, Bytes>&)>& change,
           bool with_golden) {
  for (const auto& entry : std::filesystem::directory_iterator(bard()))
    if (entry.path().extension() != ".safetensors")
      std::filesystem::create_symlink(entry.path(), folder / entry.path().filename());
  if (with_golden) std::filesystem::create_symlink(bard() / "golden.safetensors", folder / "golden.safetensors");
  const auto file = hub::SafetensorsFile::open(bard() / "model.safetensors");
  std::map<std::string, Bytes> bytes;
  for (const hub::TensorView& view : file.tensors()) bytes[view.name] = {view.bytes.begin(), view.bytes.end()};
  change(bytes);
  std::vector<hub::TensorToWrite> tensors;
  for (const hub::TensorView& view : file.tensors())
    tensors.push_back({.name = view.name, .dtype = *view.dtype, .shape = view.shape, .bytes = bytes[view.name]});
  hub::write_safetensors(folder / "model.safetensors", tensors);
}

SmokeResult gate(const std::filesystem::path& model, engine::SmokeRequest request = {}) {
  engine::Session session(program(), options_for(model));
  request.model = model;
  return engine::smoke_gate(session, request);
}

const SmokeCheck& check_of(const SmokeResult& result, const std::string& name) {
  for (const SmokeCheck& check : result.checks)
    if (check.name == name) return check;
  ADD_FAILURE() << "no check " << name;
  static const SmokeCheck none;
  return none;
}

void fill_bf16(Bytes& bytes, const std::function<float()>& value) {
  for (std::size_t i = 0; i + 1 < bytes.size(); i += 2) {
    const float v = value();
    std::uint32_t bits;
    std::memcpy(&bits, &v, 4);
    const auto high = static_cast<std::uint16_t>(bits >> 16);
    std::memcpy(bytes.data() + i, &high, 2);
  }
}

TEST(SmokeGate, BardPasses) {
  const SmokeResult result = gate(bard());
  EXPECT_TRUE(result.passed()) << engine::smoke_json(result).dump(1);
  for (const char* name : {"finite logits", "passage", "text", "cycle", "golden.safetensors"}) check_of(result, name);
  const SmokeCheck& passage = check_of(result, "passage");
  EXPECT_NEAR(*passage.bound, 0.85 * std::log(4096.0), 1e-12);
  EXPECT_LT(*passage.value, 0.8 * *passage.bound) << "the passage should not sit at the border";
  EXPECT_GT(*passage.value, 1);
}

// What the passage says does not depend on how it is computed: in pieces of the cache's own, token by token.
TEST(SmokeGate, ThePassagesMeanIsThatOfSingleSteps) {
  engine::Session session(program(), options_for(bard(), DType::f32));
  const double whole = *check_of(engine::smoke_gate(session, {.model = bard()}), "passage").value;
  const auto tokens = hub::Tokenizer::load(bard()).encode(engine::smoke_passage(), true);
  session.begin(1, static_cast<std::int64_t>(tokens.size()));
  double sum = 0;
  for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
    HostTensor id(DType::i64, {1, 1});
    id.data<std::int64_t>()[0] = tokens[i];
    const auto logits = session.read_logits(session.last_logits(session.run(id)));
    double all = 0;
    for (const float logit : logits) all += std::exp(static_cast<double>(logit));
    sum += std::log(all) - static_cast<double>(logits[static_cast<std::size_t>(tokens[i + 1])]);
  }
  EXPECT_NEAR(whole, sum / static_cast<double>(tokens.size() - 1), 1e-4);  // sums of f32 in another order
}

TEST(SmokeGate, RandomWeightsFailOnTheirTextAlone) {
  const Scratch scratch;
  std::mt19937 random(1);
  for (const float deviation : {0.02f, 0.2f}) {
    std::filesystem::create_directory(scratch.path() / std::to_string(deviation));
    std::normal_distribution<float> normal(0, deviation);
    spoil(
        scratch.path() / std::to_string(deviation),
        [&](auto& tensors) {
          for (auto& [name, bytes] : tensors)
            if (name.find("norm") == std::string::npos) fill_bf16(bytes, [&] { return normal(random); });
        },
        false);
    const SmokeResult result = gate(scratch.path() / std::to_string(deviation));
    EXPECT_FALSE(result.passed());
    EXPECT_FALSE(check_of(result, "passage").passed);
    EXPECT_TRUE(check_of(result, "finite logits").passed);
  }
}

TEST(SmokeGate, SwappedTensorsFailWhereAGoldenLies) {
  const std::string layer = "model.layers.2.";
  const std::pair<std::string, std::string> swaps[] = {
      {layer + "mlp.gate_proj.weight", layer + "mlp.up_proj.weight"},
      {layer + "self_attn.k_proj.weight", layer + "self_attn.v_proj.weight"},
      {layer + "input_layernorm.weight", layer + "post_attention_layernorm.weight"},
      {"model.layers.1.mlp.down_proj.weight", "model.layers.3.mlp.down_proj.weight"},
      {layer + "self_attn.q_norm.weight", layer + "self_attn.k_norm.weight"}};
  for (const auto& [a, b] : swaps) {
    const Scratch scratch;
    spoil(
        scratch.path(),
        [&](auto& tensors) {
          ASSERT_TRUE(tensors.contains(a) && tensors.contains(b)) << a;
          ASSERT_EQ(tensors[a].size(), tensors[b].size());
          ASSERT_NE(tensors[a], tensors[b]);
          std::swap(tensors[a], tensors[b]);
        },
        true);
    const SmokeResult result = gate(scratch.path());
    EXPECT_FALSE(result.passed()) << a << " and " << b;
    const SmokeCheck& golden = check_of(result, "golden.safetensors");
    EXPECT_FALSE(golden.passed) << golden.note;
    EXPECT_GT(*golden.value, *golden.bound);
  }
}

TEST(SmokeGate, NanWeightsFail) {
  const Scratch scratch;
  spoil(
      scratch.path(),
      [](auto& tensors) {
        Bytes& bytes = tensors["model.layers.4.mlp.down_proj.weight"];
        Bytes one(bytes.begin(), bytes.begin() + 2);
        fill_bf16(one, [] { return std::nanf(""); });
        std::copy(one.begin(), one.end(), bytes.begin());
      },
      true);
  const SmokeResult result = gate(scratch.path());
  EXPECT_FALSE(result.passed());
  EXPECT_FALSE(check_of(result, "finite logits").passed);
  EXPECT_FALSE(check_of(result, "golden.safetensors").passed);
  engine::smoke_json(result).dump();  // an infinite error is no reason to fail here
}

TEST(SmokeGate, WithoutTokenizerTheGoldenDecides) {
  const SmokeResult good = gate(test_model("llama-base"));
  EXPECT_TRUE(good.passed()) << engine::smoke_json(good).dump(1);
  EXPECT_FALSE(check_of(good, "passage").value);
  EXPECT_NE(check_of(good, "passage").note.find("not judged"), std::string::npos);
  check_of(good, "golden.safetensors");
  const SmokeResult bad =
      gate(test_model("llama-base"), {.goldens = {test_model("llama-smollm2") / "golden.safetensors"}});
  EXPECT_FALSE(bad.passed());
}

TEST(SmokeGate, DamagedFilesAreFailedChecks) {
  const Scratch scratch;
  for (const char* name : {"config.json", "model.safetensors"})
    std::filesystem::create_symlink(bard() / name, scratch.path() / name);
  scratch.write("tokenizer.json", "{}");
  scratch.write("other_golden.safetensors", "nothing");
  const SmokeResult result = gate(scratch.path());
  EXPECT_FALSE(check_of(result, "tokenizer").passed);
  EXPECT_FALSE(check_of(result, "other_golden.safetensors").passed);
}

// Half a model's layers write no sense, which is not the port's fault.
TEST(SmokeGate, ACutModelIsJudgedByItsLogitsOnly) {
  engine::SessionOptions options = options_for(bard());
  options.load.layers = 1;
  engine::Session session(program(), options);
  const SmokeResult result = engine::smoke_gate(session, {.model = bard(), .cut = true});
  EXPECT_TRUE(result.passed()) << engine::smoke_json(result).dump(1);
  EXPECT_NE(check_of(result, "golden.safetensors").note.find("cut"), std::string::npos);
}

TEST(SmokeGate, AnInterruptIsNeitherPassedNorFailed) {
  const std::atomic<bool> now{true};
  const SmokeResult result = gate(bard(), {.interrupted = &now});
  EXPECT_TRUE(result.interrupted);
  EXPECT_FALSE(result.passed());
  EXPECT_EQ(engine::smoke_json(result)["ran"], false);
}

TEST(SmokeGate, JsonComesBack) {
  SmokeResult result;
  result.checks = {{.name = "passage", .value = 1.5, .bound = 2.0, .passed = false, .note = "n"},
                   {.name = "cycle", .warning = true}};
  const Json json = engine::smoke_json(result);
  EXPECT_EQ(engine::smoke_json(engine::smoke_from_json(json, "")), json);
  EXPECT_EQ(json["passed"], false);
  SmokeResult skipped;
  skipped.skipped = "random weights";
  EXPECT_EQ(engine::smoke_json(skipped), Json({{"skipped", "random weights"}}));
  EXPECT_EQ(engine::smoke_from_json(engine::smoke_json(skipped), "").skipped, "random weights");
  expect_message("checks", [] { engine::smoke_from_json({{"ran", true}}, "r.json"); });
}

TEST(TokenCycle, IsFoundAtTheEndOnly) {
  using Ids = std::vector<std::int64_t>;
  const auto repeated = [](Ids head, const Ids& block, int times) {
    for (int i = 0; i < times; ++i) head.insert(head.end(), block.begin(), block.end());
    return head;
  };
  EXPECT_FALSE(engine::token_cycle(Ids{}));
  EXPECT_FALSE(engine::token_cycle(repeated({}, {7}, 11)));
  EXPECT_EQ(engine::token_cycle(repeated({}, {7}, 12))->period, 1);
  const auto four = engine::token_cycle(repeated({9, 9, 1}, {1, 2, 3, 4}, 3));
  ASSERT_TRUE(four);
  EXPECT_EQ(four->period, 4);
  EXPECT_EQ(four->repeats, 3);
  EXPECT_FALSE(engine::token_cycle(repeated({}, {1, 2, 3, 4}, 2)));
  Ids then = repeated({}, {1, 2, 3, 4}, 5);
  then.push_back(9);
  EXPECT_FALSE(engine::token_cycle(then));
  Ids counting;
  for (int i = 0; i < 32; ++i) counting.push_back(i);
  EXPECT_FALSE(engine::token_cycle(counting));
  // A cut last block still shows the period.
  Ids cut = repeated({}, {1, 2, 3, 4, 5}, 3);
  cut.push_back(1);
  EXPECT_EQ(engine::token_cycle(cut)->period, 5);
}

}  // namespace
}  // namespace tilewright::test
