#include "hub/gguf/gguf_config.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "gguf/tiny_gguf.h"
#include "hub/gguf/gguf_tokenizer.h"
#include "safetensors/scratch.h"

namespace tilewright::hub {
namespace {

struct Parsed {
  std::string bytes;
  GgufContent gguf;
  explicit Parsed(const GgufBuilder& builder)
      : bytes(builder.bytes()),
        gguf(GgufContent::parse(std::as_bytes(std::span(bytes.data(), bytes.size())), "m.gguf")) {}
};

nlohmann::ordered_json config_of(const GgufBuilder& builder) {
  const Parsed parsed(builder);
  return published_config(parsed.gguf, read_gguf_model(parsed.gguf), DType::bf16);
}

TEST(GgufConfig, SaysWhatTheMetadataSays) {
  const auto config = config_of(
      tiny_gguf("qwen2").f32("qwen2.rope.freq_base", 1e6f).f32("qwen2.attention.layer_norm_rms_epsilon", 1e-6f));
  EXPECT_EQ(config.at("model_type"), "qwen2");
  EXPECT_EQ(config.at("architectures").at(0), "Qwen2ForCausalLM");
  EXPECT_EQ(config.at("rope_theta"), 1e6);
  EXPECT_EQ(config.at("rms_norm_eps"), 1e-6);
  EXPECT_EQ(config.at("head_dim"), 2);
  EXPECT_EQ(config.at("num_key_value_heads"), 1);
  EXPECT_EQ(config.at("max_position_embeddings"), 16);
  EXPECT_EQ(config.at("tie_word_embeddings"), true);
  EXPECT_EQ(config.at("torch_dtype"), "bfloat16");
  EXPECT_EQ(config.at("eos_token_id"), 0);
  EXPECT_FALSE(config.contains("bos_token_id"));
  EXPECT_FALSE(config.contains("attention_bias"));  // the family has biases always
  EXPECT_TRUE(config.at("rope_scaling").is_null());

  EXPECT_EQ(config_of(tiny_gguf("llama").f32_tensor("output.weight", {5, 4}, std::vector<float>(20)))
                .at("tie_word_embeddings"),
            false);
  EXPECT_EQ(config_of(tiny_gguf("llama").f32_tensor("blk.0.attn_q.bias", {4}, {1, 2, 3, 4})).at("attention_bias"),
            true);
  EXPECT_EQ(config_of(tiny_gguf("qwen3").u32("qwen3.attention.key_length", 8)).at("head_dim"), 8);
  EXPECT_EQ(config_of(tiny_gguf("llama", {"llama.attention.head_count_kv"})).at("num_key_value_heads"), 2);
}

TEST(GgufConfig, CarriesRopeScaling) {
  const Json linear =
      config_of(tiny_gguf("llama").text("llama.rope.scaling.type", "linear").f32("llama.rope.scaling.factor", 4))
          .at("rope_scaling");
  EXPECT_EQ(linear, Json({{"rope_type", "linear"}, {"factor", 4.0}}));
  EXPECT_EQ(config_of(tiny_gguf("llama").f32("llama.rope.scale_linear", 2)).at("rope_scaling").at("factor"), 2.0);
  const auto yarn = config_of(tiny_gguf("qwen2")
                                  .text("qwen2.rope.scaling.type", "yarn")
                                  .f32("qwen2.rope.scaling.factor", 4)
                                  .u32("qwen2.rope.scaling.original_context_length", 32768))
                        .at("rope_scaling");
  EXPECT_EQ(yarn.at("rope_type"), "yarn");
  EXPECT_EQ(yarn.at("original_max_position_embeddings"), 32768);
  EXPECT_TRUE(config_of(tiny_gguf("llama").f32_tensor("rope_freqs.weight", {1}, {1})).at("rope_scaling").is_null());
}

// The divisors a converter writes, computed in 32 bits as it does.
std::vector<float> divisors(double factor, double low, double high, double original, double theta, int head_dim) {
  std::vector<float> out;
  for (int i = 0; i < head_dim; i += 2) {
    const float frequency =
        1 / std::pow(static_cast<float>(theta), static_cast<float>(i) / static_cast<float>(head_dim));
    const double length = 2 * std::numbers::pi / frequency;
    const double smooth = (original / length - low) / (high - low);
    out.push_back(static_cast<float>(length < original / high  ? 1
                                     : length > original / low ? factor
                                                               : 1 / ((1 - smooth) / factor + smooth)));
  }
  return out;
}

TEST(GgufConfig, FindsLlama3ParametersAgain) {
  for (const int head_dim : {64, 128})
    for (const double factor : {8.0, 32.0}) {
      const Json found =
          llama3_rope_scaling(divisors(factor, 1, 4, 8192, 500000, head_dim), 500000, head_dim, "m.gguf");
      EXPECT_EQ(found, Json({{"rope_type", "llama3"},
                             {"factor", factor},
                             {"low_freq_factor", 1.0},
                             {"high_freq_factor", 4.0},
                             {"original_max_position_embeddings", 8192}}));
    }
}

// Other parameters come back up to the scale that does not matter: the formula gives the same divisors.
TEST(GgufConfig, FitsOtherLlama3Parameters) {
  for (const auto& [low, high, original] : {std::tuple{1.0, 8.0, 4096.0}, {2.0, 8.0, 16384.0}, {1.0, 2.5, 8192.0}}) {
    const auto given = divisors(16, low, high, original, 500000, 128);
    const Json found = llama3_rope_scaling(given, 500000, 128, "m.gguf");
    const auto again = divisors(found.at("factor"), found.at("low_freq_factor"), found.at("high_freq_factor"),
                                found.at("original_max_position_embeddings"), 500000, 128);
    for (std::size_t i = 0; i < given.size(); ++i)
      EXPECT_NEAR(again[i], given[i], 2e-4 * given[i]);  // the original length is a whole number
  }
}

TEST(GgufConfig, RefusesDivisorsOfAnotherKind) {
  auto spoiled = divisors(8, 1, 4, 8192, 500000, 128);
  spoiled[10] = 1.5f;
  expect_message("not a rope scaling", [&] { llama3_rope_scaling(spoiled, 500000, 128, "m.gguf"); });
  spoiled = divisors(8, 1, 4, 8192, 500000, 128);
  spoiled[60] = NAN;
  expect_message("not a rope scaling", [&] { llama3_rope_scaling(spoiled, 500000, 128, "m.gguf"); });
  expect_message("not a rope scaling",
                 [&] { llama3_rope_scaling(std::vector<float>(64, 2.0f), 500000, 128, "m.gguf"); });
}

GgufVocabulary vocabulary_of(const Parsed& parsed) { return read_gguf_vocabulary(parsed.gguf, "llama", 100); }

TEST(GgufTokenizer, WritesTheSectionsOfItsFamily) {
  const auto json_of = [](const std::string& pre) {
    const Parsed parsed(tiny_gguf("llama", {"tokenizer.ggml.pre"}).text("tokenizer.ggml.pre", pre));
    return parse_json(tokenizer_json(vocabulary_of(parsed)), "tokenizer.json");
  };
  const Json qwen = json_of("qwen2"), llama = json_of("llama-bpe"), smol = json_of("smollm"), gpt = json_of("gpt-2");
  EXPECT_EQ(qwen.at("normalizer").at("type"), "NFC");
  const std::string expression = qwen.at("pre_tokenizer").at("pretokenizers").at(0).at("pattern").at("Regex");
  EXPECT_EQ(expression,
            "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| "
            "?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+");
  EXPECT_EQ(qwen.at("pre_tokenizer").at("pretokenizers").at(1).at("use_regex"), false);
  EXPECT_EQ(qwen.at("model").at("ignore_merges"), false);
  EXPECT_TRUE(llama.at("normalizer").is_null());
  EXPECT_EQ(llama.at("model").at("ignore_merges"), true);
  EXPECT_NE(llama.dump().find("\\\\p{N}{1,3}"), std::string::npos);
  EXPECT_EQ(smol.at("pre_tokenizer").at("pretokenizers").at(0),
            Json({{"type", "Digits"}, {"individual_digits", true}}));
  EXPECT_EQ(gpt.at("pre_tokenizer").at("use_regex"), true);
  for (const Json& json : {qwen, llama, smol, gpt}) {
    EXPECT_EQ(json.at("version"), "1.0");
    EXPECT_EQ(json.at("decoder").at("type"), "ByteLevel");
    EXPECT_EQ(json.at("model").at("vocab"), Json({{"<|im_end|>", 0}, {"a", 1}, {"b", 2}, {"ab", 3}}));  // no filler
    EXPECT_EQ(json.at("model").at("merges"), Json::parse(R"([["a","b"]])"));
    ASSERT_EQ(json.at("added_tokens").size(), 1u);
    EXPECT_EQ(json.at("added_tokens").at(0).at("special"), true);
  }
}

TEST(GgufTokenizer, PutsBosAndEosWhereTheFileAsksForThem) {
  const Parsed parsed(tiny_gguf("llama")
                          .u32("tokenizer.ggml.bos_token_id", 0)
                          .flag("tokenizer.ggml.add_bos_token", true)
                          .flag("tokenizer.ggml.add_eos_token", true));
  const Json processor =
      parse_json(tokenizer_json(vocabulary_of(parsed)), "").at("post_processor").at("processors").at(1);
  EXPECT_EQ(processor.at("type"), "TemplateProcessing");
  EXPECT_EQ(processor.at("single").size(), 3u);
  EXPECT_EQ(processor.at("special_tokens").at("<|im_end|>").at("ids").at(0), 0);
  const Parsed none(tiny_gguf("llama").u32("tokenizer.ggml.bos_token_id", 0));
  EXPECT_EQ(parse_json(tokenizer_json(vocabulary_of(none)), "").at("post_processor").at("type"), "ByteLevel");
  // An id outside the vocabulary is no token.
  const Parsed outside(
      tiny_gguf("llama").u32("tokenizer.ggml.bos_token_id", 4'000'000'000u).flag("tokenizer.ggml.add_bos_token", true));
  EXPECT_EQ(vocabulary_of(outside).bos, -1);
  EXPECT_FALSE(vocabulary_of(outside).add_bos);
}

TEST(GgufTokenizer, ListsEveryEndOfATurn) {
  const auto builder =
      tiny_gguf("llama", {"tokenizer.ggml.tokens", "tokenizer.ggml.token_type", "tokenizer.ggml.merges"})
          .texts("tokenizer.ggml.tokens", {"<|endoftext|>", "<|im_end|>", "<|eot_id|>", "x"})
          .i32s("tokenizer.ggml.token_type", {3, 3, 1, 3})
          .texts("tokenizer.ggml.merges", {})
          .u32("tokenizer.ggml.eot_token_id", 3);
  const Parsed parsed(builder);
  EXPECT_EQ(vocabulary_of(parsed).ends, (std::vector<std::int64_t>{0, 3, 1}));  // "<|eot_id|>" is ordinary text here
  EXPECT_EQ(generation_config_json(vocabulary_of(parsed)).at("eos_token_id"), nlohmann::ordered_json({0, 3, 1}));
}

// tools/make_gguf_fixtures.py: the merges that the reference derives from the same scores.
TEST(GgufTokenizer, RebuildsSentencePieceMergesFromScores) {
  const auto directory = std::filesystem::path(TILEWRIGHT_SOURCE_DIR) / "tests/gguf/fixtures";
  const GgufFile file = GgufFile::open(directory / "tiny_llama.gguf");
  const GgufVocabulary vocabulary = read_gguf_vocabulary(file.content, "llama", 1000);
  const Json json = parse_json(tokenizer_json(vocabulary), "");
  EXPECT_EQ(json.at("model").at("merges"), read_json_file(directory / "merges.json"));
  EXPECT_EQ(json.at("model").at("byte_fallback"), true);
  EXPECT_EQ(json.at("model").at("unk_token"), "<unk>");
  EXPECT_EQ(json.at("normalizer").at("normalizers").at(0), Json({{"type", "Prepend"}, {"prepend", "▁"}}));
  EXPECT_EQ(json.at("post_processor").at("type"),
            "TemplateProcessing");  // these files add <s> unless they say otherwise
  EXPECT_EQ(json.at("decoder").at("decoders").size(), 4u);
}

}  // namespace
}  // namespace tilewright::hub
