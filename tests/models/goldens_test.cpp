// Every model of tests/models/data and the one that ships equal the reference implementation.
#include <gtest/gtest.h>

#include <fstream>

#include "engine/generate.h"
#include "engine/golden_check.h"
#include "hub/safetensors/safetensors_file.h"
#include "hub/safetensors/safetensors_writer.h"
#include "models/model_fixture.h"

namespace tilewright::test {
namespace {

using engine::CheckResult;
using engine::Verdict;

std::vector<std::string> model_names() {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(test_model("")))
    if (std::filesystem::exists(entry.path() / "golden.safetensors")) out.push_back(entry.path().filename().string());
  std::sort(out.begin(), out.end());
  return out;
}

std::string describe(const CheckResult& r) {
  return r.reason + ", worst error " + std::to_string(r.worst_error) + ", greedy " + std::to_string(r.greedy_equal) +
         " of " + std::to_string(r.greedy_tokens);
}

CheckResult check(const std::filesystem::path& model, const std::filesystem::path& golden, DType dtype,
                  const std::string& device = "host", int threads = 1, const std::string& fuse = "none") {
  engine::SessionOptions options = options_for(model, dtype);
  options.fuse = fuse;
  options.device = device;
  options.device_options.threads = threads;
  engine::Session session(program(), options);
  return engine::check_golden(session, hub::read_golden(golden));
}

class Goldens : public testing::TestWithParam<std::string> {};

TEST_P(Goldens, F32) {
  const CheckResult r = check(test_model(GetParam()), test_model(GetParam()) / "golden.safetensors", DType::f32);
  EXPECT_EQ(r.verdict, Verdict::equal) << describe(r);
  EXPECT_EQ(r.greedy_equal, r.greedy_tokens);  // no gap of these models is below f32's noise
}

TEST_P(Goldens, Bf16) {
  const CheckResult r = check(test_model(GetParam()), test_model(GetParam()) / "golden.safetensors", DType::bf16);
  EXPECT_EQ(r.verdict, Verdict::equal) << describe(r);
}

// Every composite as the kernel that serves it, in a prompt, token by token and over the cache.
TEST_P(Goldens, F32Fused) {
  const auto golden = test_model(GetParam()) / "golden.safetensors";
  const CheckResult r = check(test_model(GetParam()), golden, DType::f32, "host", 1, "all");
  EXPECT_EQ(r.verdict, Verdict::equal) << describe(r);
  EXPECT_EQ(r.greedy_equal, r.greedy_tokens);
}

TEST_P(Goldens, Bf16Fused) {
  const auto golden = test_model(GetParam()) / "golden.safetensors";
  const CheckResult r = check(test_model(GetParam()), golden, DType::bf16, "host", 1, "all");
  EXPECT_EQ(r.verdict, Verdict::equal) << describe(r);
}

INSTANTIATE_TEST_SUITE_P(All, Goldens, testing::ValuesIn(model_names()), [](const auto& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

TEST(GoldensList, NoneIsMissing) { EXPECT_GE(model_names().size(), 40u); }

TEST(Golden, BardInEveryDtypeAndOnTwoThreads) {
  const auto golden = bard() / "golden.safetensors";
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    const CheckResult r = check(bard(), golden, dtype);
    EXPECT_EQ(r.verdict, Verdict::equal) << dtype_name(dtype) << ": " << describe(r);
  }
  const CheckResult two = check(bard(), golden, DType::f32, "host", 2);
  EXPECT_EQ(two.verdict, Verdict::equal) << describe(two);
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    const CheckResult r = check(bard(), golden, dtype, "host", 2, "all");
    EXPECT_EQ(r.verdict, Verdict::equal) << dtype_name(dtype) << ": " << describe(r);
  }
}

// Buffers of host:opaque cannot be read outside launches: nothing in loading or running reads device memory by itself.
TEST(Golden, WithoutReadableBuffers) {
  const CheckResult r =
      check(test_model("qwen3-base"), test_model("qwen3-base") / "golden.safetensors", DType::f32, "host:opaque");
  EXPECT_EQ(r.verdict, Verdict::equal) << describe(r);
}

TEST(Golden, BardContinuesAsTheReference) {
  engine::Session session(program(), options_for(bard(), DType::f32));
  const Json texts = read_json_file(test_model("bard_texts.json"));
  ASSERT_GE(texts["texts"].size(), 8u);
  for (const Json& text : texts["texts"]) {
    engine::GenerateRequest request;
    request.prompt = text["prompt_ids"].get<std::vector<std::int64_t>>();
    const auto expected = text["greedy_ids"].get<std::vector<std::int64_t>>();
    request.max_new_tokens = static_cast<std::int64_t>(expected.size());
    EXPECT_EQ(engine::generate(session, request).tokens, expected) << text["prompt"];
  }
}

// ---------------------------------------------------------------- what must not pass

// A copy of a test model whose tensors `a` and `b` have changed places.
void copy_with_swapped(const std::string& name, const std::string& a, const std::string& b,
                       const std::filesystem::path& to) {
  std::filesystem::copy(test_model(name), to, std::filesystem::copy_options::recursive);
  const auto file = hub::SafetensorsFile::open(test_model(name) / "model.safetensors");
  std::vector<hub::TensorToWrite> tensors;
  for (const hub::TensorView& v : file.tensors()) {
    const hub::TensorView& from = v.name == a ? file.get(b) : v.name == b ? file.get(a) : v;
    tensors.push_back({.name = v.name, .dtype = *from.dtype, .shape = from.shape, .bytes = from.bytes});
  }
  std::filesystem::remove(to / "model.safetensors");
  hub::write_safetensors(to / "model.safetensors", tensors);
}

TEST(Golden, TwoSwappedTensorsAreFound) {
  const std::pair<const char*, const char*> swaps[] = {
      {"model.layers.0.mlp.gate_proj.weight", "model.layers.0.mlp.up_proj.weight"},
      {"model.layers.0.self_attn.k_proj.weight", "model.layers.0.self_attn.v_proj.weight"},
      {"model.layers.0.mlp.down_proj.weight", "model.layers.1.mlp.down_proj.weight"},
      {"model.layers.0.self_attn.q_norm.weight", "model.layers.0.self_attn.k_norm.weight"},
      {"model.layers.1.input_layernorm.weight", "model.layers.1.post_attention_layernorm.weight"},
  };
  for (const auto& [a, b] : swaps) {
    const Scratch scratch;
    copy_with_swapped("qwen3-base", a, b, scratch.path() / "model");
    for (const DType dtype : {DType::f32, DType::bf16}) {
      const CheckResult r = check(scratch.path() / "model", test_model("qwen3-base") / "golden.safetensors", dtype);
      EXPECT_EQ(r.verdict, Verdict::different) << a << " and " << b << " in " << dtype_name(dtype);
      EXPECT_FALSE(r.reason.empty());
    }
  }
}

TEST(Golden, OfAnotherModelIsRefused) {
  const std::string family =
      message_of([] { check(bard(), test_model("llama-base") / "golden.safetensors", DType::f32); });
  EXPECT_NE(family.find("another family"), std::string::npos) << family;
  const std::string vocabulary =
      message_of([] { check(bard(), test_model("qwen3-base") / "golden.safetensors", DType::f32); });
  EXPECT_NE(vocabulary.find("vocabulary"), std::string::npos) << vocabulary;
}

// ---------------------------------------------------------------- how a verdict is reached

hub::Golden golden_of(const std::string& name) { return hub::read_golden(test_model(name) / "golden.safetensors"); }

CheckResult judged(const hub::Golden& golden, const std::string& name, DType dtype) {
  engine::Session session(program(), options_for(test_model(name), dtype));
  return engine::check_golden(session, golden);
}

TEST(Verdict, WithoutBf16ErrorHalfPrecisionIsNotJudged) {
  hub::Golden golden = golden_of("qwen3-base");
  golden.bf16_error.reset();
  for (const DType dtype : {DType::bf16, DType::f16}) {
    const CheckResult r = judged(golden, "qwen3-base", dtype);
    EXPECT_EQ(r.verdict, Verdict::not_judged);
    EXPECT_FALSE(r.bound.has_value());
  }
  EXPECT_EQ(judged(golden, "qwen3-base", DType::f32).verdict, Verdict::equal);
}

TEST(Verdict, AWrongTokenCountsWhereTheGapIsClearAndWithoutGaps) {
  hub::Golden golden = golden_of("qwen3-base");
  std::int64_t& token = golden.greedy_ids.data<std::int64_t>()[3];
  token = (token + 1) % golden.logits.shape[2];
  golden.top2_gap->data<float>()[3] = 1.0f;
  CheckResult r = judged(golden, "qwen3-base", DType::f32);
  EXPECT_EQ(r.verdict, Verdict::different);
  ASSERT_TRUE(r.first_judged_difference.has_value());
  EXPECT_EQ(r.first_judged_difference->step, 3);
  EXPECT_EQ(r.first_judged_difference->row, 0);
  EXPECT_EQ(r.first_judged_difference->expected, token);

  golden.top2_gap.reset();
  EXPECT_EQ(judged(golden, "qwen3-base", DType::f32).verdict, Verdict::different);
}

TEST(Verdict, AWrongTokenAtATieIsReportedOnly) {
  hub::Golden golden = golden_of("qwen3-base");
  // The last step, so that no later one continues from the changed token.
  const std::int64_t last = golden.greedy_ids.shape[1] - 1;
  std::int64_t& token = golden.greedy_ids.data<std::int64_t>()[last];
  token = (token + 1) % golden.logits.shape[2];
  golden.top2_gap->data<float>()[last] = 0.0f;
  const CheckResult r = judged(golden, "qwen3-base", DType::f32);
  EXPECT_EQ(r.verdict, Verdict::equal);
  ASSERT_TRUE(r.first_difference.has_value());
  EXPECT_FALSE(r.first_difference->judged);
  EXPECT_EQ(r.greedy_equal, r.greedy_tokens - 1);
}

TEST(Verdict, TheWorstLogitIsFound) {
  hub::Golden golden = golden_of("qwen3-base");
  const std::int64_t vocabulary = golden.logits.shape[2], length = golden.logits.shape[1];
  golden.logits.data<float>()[(1 * length + 2) * vocabulary + 5] += 0.5f;
  const CheckResult r = judged(golden, "qwen3-base", DType::f32);
  EXPECT_EQ(r.verdict, Verdict::different);
  EXPECT_EQ(r.worst_place, (std::vector<std::int64_t>{1, 2, 5}));
  EXPECT_NEAR(r.worst_error, 0.5, 1e-3);  // the model's own error is below 1e-3 of logits near 10
}

}  // namespace
}  // namespace tilewright::test
