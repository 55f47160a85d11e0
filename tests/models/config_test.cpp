// config.json in every published spelling. What each field does was tried on the reference implementation; the goldens
// prove it end to end, these tests say where a difference comes from.
#include <gtest/gtest.h>

#include "models/core/family.h"
#include "models/model_fixture.h"

namespace tilewright::test {
namespace {

Json base(const std::string& family) {
  return {{"model_type", family},        {"vocab_size", 100},      {"hidden_size", 64},
          {"intermediate_size", 96},     {"num_hidden_layers", 4}, {"num_attention_heads", 4},
          {"num_key_value_heads", 2},    {"head_dim", 16},         {"max_position_embeddings", 128},
          {"rms_norm_eps", 1e-5},        {"hidden_act", "silu"},   {"rope_theta", 500.0},
          {"tie_word_embeddings", false}};
}

nn::DecoderConfig read(const Json& json) {
  return models::read_config(program().families.of_config(json, "config.json"), json, "config.json");
}

nn::DecoderConfig read_with(const std::string& family, const Json& changes) {
  Json json = base(family);
  for (const auto& [key, value] : changes.items()) json[key] = value;
  return read(json);
}

nn::DecoderConfig read_without(const std::string& family, const std::string& key) {
  Json json = base(family);
  json.erase(key);
  return read(json);
}

const std::string kFamilies[] = {"qwen3", "qwen2", "llama"};

TEST(Config, PlainFields) {
  const nn::DecoderConfig c = read(base("llama"));
  EXPECT_EQ(c.family, "llama");
  EXPECT_EQ(c.q_size(), 64);
  EXPECT_EQ(c.kv_size(), 32);
  EXPECT_EQ(c.rms_eps, 1e-5);
  EXPECT_EQ(c.rope.theta, 500.0);
  EXPECT_EQ(c.rope.type, nn::RopeType::plain);
  EXPECT_EQ(c, read(base("llama")));
  EXPECT_NE(nn::to_string(c).find("head_dim 16"), std::string::npos);
}

TEST(Config, ANeededFieldIsNamed) {
  for (const std::string& family : kFamilies)
    for (const char* field :
         {"vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads"}) {
      expect_message(field, [&] { read_without(family, field); });
      expect_message(field, [&] { read_with(family, {{field, "many"}}); });
      expect_message(field, [&] { read_with(family, {{field, nullptr}}); });
    }
  expect_message("model_type", [] { read(Json{{"vocab_size", 3}}); });
}

TEST(Config, AnUnknownFamilyNamesTheNearest) {
  const std::string message = message_of([] { read(base("qwen3_5")); });
  EXPECT_NE(message.find("qwen3"), std::string::npos) << message;
  EXPECT_NE(message.find("qwen3_5"), std::string::npos) << message;
  EXPECT_NE(message.find("never run"), std::string::npos) << message;
}

TEST(Config, WhatAMissingFieldMeans) {
  EXPECT_EQ(read_without("llama", "num_key_value_heads").kv_heads, 4);
  EXPECT_EQ(read_with("qwen3", {{"num_key_value_heads", nullptr}}).kv_heads, 4);
  Json many = base("qwen2");
  many["num_attention_heads"] = 64;
  many.erase("num_key_value_heads");
  EXPECT_EQ(read(many).kv_heads, 32);  // the class's default, however many heads there are
  EXPECT_EQ(read_without("llama", "head_dim").head_dim, 16);
  EXPECT_EQ(read_with("llama", {{"head_dim", nullptr}, {"hidden_size", 128}}).head_dim, 32);
  EXPECT_EQ(read_without("qwen3", "head_dim").head_dim, 128);
  EXPECT_EQ(read_without("qwen2", "head_dim").head_dim, 16);
  EXPECT_EQ(read_without("llama", "rms_norm_eps").rms_eps, 1e-6);
  EXPECT_EQ(read_without("llama", "rope_theta").rope.theta, 10000.0);
  EXPECT_FALSE(read_without("llama", "tie_word_embeddings").tied);
  EXPECT_EQ(read_without("llama", "max_position_embeddings").max_positions, 2048);
}

TEST(Config, ImpossibleNumbers) {
  expect_message("num_key_value_heads", [] { read_with("llama", {{"num_key_value_heads", 3}}); });
  expect_message("num_hidden_layers", [] { read_with("llama", {{"num_hidden_layers", 0}}); });
  expect_message("num_hidden_layers", [] { read_with("llama", {{"num_hidden_layers", 1e12}}); });
  expect_message("head_dim", [] { read_with("llama", {{"head_dim", 15}}); });
  expect_message("num_attention_heads", [] { read_with("llama", {{"num_attention_heads", 0}}); });
  expect_message("vocab_size", [] { read_with("llama", {{"vocab_size", -1}}); });
  expect_message("rope_theta", [] { read_with("llama", {{"rope_theta", 0}}); });
  expect_message("hidden_size", [] { read_with("llama", {{"hidden_size", 9e18}}); });
}

TEST(Config, BiasesFollowTheFamily) {
  for (const std::string& family : kFamilies) {
    const nn::DecoderConfig without = read(base(family));
    EXPECT_EQ(without.qkv_bias, family == "qwen2");
    EXPECT_FALSE(without.o_bias);
    EXPECT_FALSE(without.mlp_bias);
    EXPECT_EQ(without.qk_norm, family == "qwen3");
    const nn::DecoderConfig with = read_with(family, {{"attention_bias", true}, {"mlp_bias", true}});
    EXPECT_TRUE(with.qkv_bias);
    EXPECT_EQ(with.o_bias, family != "qwen2");
    EXPECT_EQ(with.mlp_bias, family == "llama");
  }
}

TEST(Config, Activations) {
  const std::pair<const char*, nn::Activation> names[] = {{"silu", nn::Activation::silu},
                                                          {"swish", nn::Activation::silu},
                                                          {"gelu", nn::Activation::gelu},
                                                          {"gelu_new", nn::Activation::gelu_tanh},
                                                          {"gelu_pytorch_tanh", nn::Activation::gelu_tanh},
                                                          {"relu", nn::Activation::relu}};
  for (const auto& [name, activation] : names)
    EXPECT_EQ(read_with("llama", {{"hidden_act", name}}).activation, activation) << name;
  expect_message("mish", [] { read_with("llama", {{"hidden_act", "mish"}}); });
}

TEST(Config, EndTokensAndDtype) {
  EXPECT_EQ(read_with("llama", {{"eos_token_id", 7}}).end_tokens, (std::vector<std::int64_t>{7}));
  EXPECT_EQ(read_with("llama", {{"eos_token_id", {7, 9}}}).end_tokens, (std::vector<std::int64_t>{7, 9}));
  EXPECT_TRUE(read_with("llama", {{"eos_token_id", nullptr}}).end_tokens.empty());
  expect_message("eos_token_id", [] { read_with("llama", {{"eos_token_id", "end"}}); });
  EXPECT_EQ(read_with("llama", {{"torch_dtype", "float16"}}).stated_dtype, DType::f16);
  EXPECT_EQ(read_with("llama", {{"torch_dtype", "float16"}, {"dtype", "bfloat16"}}).stated_dtype, DType::bf16);
  EXPECT_FALSE(read_with("llama", {{"dtype", "auto"}}).stated_dtype.has_value());
  expect_message("gptq", [] { read_with("llama", {{"quantization_config", {{"quant_method", "gptq"}}}}); });
}

// ---------------------------------------------------------------- rotary settings

TEST(Config, WhichRotarySettingsCount) {
  const Json linear{{"rope_type", "linear"}, {"factor", 2.0}};
  Json with_theta = linear;
  with_theta["rope_theta"] = 7.0;
  // rope_scaling beats rope_parameters, whose theta is lost.
  nn::RopeConfig rope = read_with("llama", {{"rope_scaling", linear},
                                            {"rope_parameters", {{"rope_type", "default"}, {"rope_theta", 9.0}}}})
                            .rope;
  EXPECT_EQ(rope.type, nn::RopeType::linear);
  EXPECT_EQ(rope.theta, 500.0);
  // Theta: inside the one that counts, then at top level, then 10000.
  EXPECT_EQ(read_with("llama", {{"rope_scaling", with_theta}}).rope.theta, 7.0);
  EXPECT_EQ(read_with("llama", {{"rope_parameters", with_theta}}).rope.theta, 7.0);
  EXPECT_EQ(read_with("llama", {{"rope_parameters", linear}}).rope.theta, 500.0);
  Json bare = base("llama");
  bare.erase("rope_theta");
  bare["rope_scaling"] = linear;
  bare["rope_parameters"] = {{"rope_type", "default"}, {"rope_theta", 9.0}};
  EXPECT_EQ(read(bare).rope.theta, 10000.0);
  // Nothing said in rope_scaling leaves rope_parameters.
  for (const Json& nothing : {Json(nullptr), Json(Json::object())})
    EXPECT_EQ(read_with("llama", {{"rope_scaling", nothing}, {"rope_parameters", with_theta}}).rope.theta, 7.0);
  // `type` and `rope_type` are one key.
  EXPECT_EQ(read_with("llama", {{"rope_scaling", {{"type", "linear"}, {"factor", 4}}}}).rope.factor, 4.0);
}

TEST(Config, RotaryMistakes) {
  expect_message("longrope", [] { read_with("llama", {{"rope_scaling", {{"rope_type", "longrope"}}}}); });
  for (const char* type : {"linear", "dynamic", "yarn", "llama3"})
    expect_message("factor", [&] { read_with("llama", {{"rope_scaling", {{"rope_type", type}}}}); });
  expect_message("low_freq_factor", [] {
    read_with("llama", {{"rope_scaling", {{"rope_type", "llama3"}, {"factor", 8}}}});
  });
  expect_message("rope_scaling", [] { read_with("llama", {{"rope_scaling", 4}}); });
  expect_message("full_attention", [] {
    read_with("qwen3", {{"rope_parameters", {{"full_attention", {{"rope_type", "default"}}}}}});
  });
  expect_message("factor", [] { read_with("llama", {{"rope_scaling", {{"rope_type", "linear"}, {"factor", -1}}}}); });
}

TEST(Config, Yarn) {
  const auto yarn = [](Json more, Json top = Json::object()) {
    more["rope_type"] = "yarn";
    if (!more.contains("factor")) more["factor"] = 4.0;
    top["rope_scaling"] = more;
    return read_with("qwen3", top).rope;
  };
  const double plain = 0.1 * std::log(4.0) + 1;
  EXPECT_DOUBLE_EQ(yarn(Json::object()).attention_factor, plain);
  EXPECT_EQ(yarn(Json::object()).original_positions, 128);  // max_position_embeddings stands in
  EXPECT_EQ(yarn({{"original_max_position_embeddings", 32}}).original_positions, 32);
  EXPECT_EQ(
      yarn({{"original_max_position_embeddings", 32}}, {{"original_max_position_embeddings", 16}}).original_positions,
      16);
  EXPECT_EQ(yarn({{"attention_factor", 1.5}}).attention_factor, 1.5);
  EXPECT_EQ(yarn({{"attention_factor", nullptr}}).attention_factor, plain);
  EXPECT_DOUBLE_EQ(yarn({{"mscale", 1}, {"mscale_all_dim", 0.5}}).attention_factor, plain / (0.05 * std::log(4.0) + 1));
  EXPECT_DOUBLE_EQ(yarn({{"mscale", 2}}).attention_factor, plain);  // one alone says nothing
  EXPECT_EQ(yarn({{"factor", nullptr}, {"original_max_position_embeddings", 32}}).factor, 4.0);
  EXPECT_EQ(yarn({{"beta_fast", nullptr}, {"beta_slow", 0}}).beta_fast, 32);
  EXPECT_EQ(yarn({{"beta_slow", 0}}).beta_slow, 1);
  EXPECT_TRUE(yarn(Json::object()).truncate);
  EXPECT_FALSE(yarn({{"truncate", false}}).truncate);
  EXPECT_FALSE(yarn({{"truncate", nullptr}}).truncate);  // a null is no true
}

TEST(Config, LengthsThatScalingAllows) {
  EXPECT_EQ(read(base("llama")).context(), 128);
  EXPECT_EQ(read_with("llama", {{"rope_scaling", {{"rope_type", "dynamic"}, {"factor", 4}}}}).context(), 512);
  EXPECT_EQ(read_with("qwen3", {{"rope_scaling", {{"rope_type", "yarn"}, {"factor", 4}}}}).context(), 512);
  EXPECT_EQ(read_with("llama", {{"rope_scaling",
                                 {{"rope_type", "llama3"},
                                  {"factor", 8},
                                  {"low_freq_factor", 1},
                                  {"high_freq_factor", 4},
                                  {"original_max_position_embeddings", 16}}}})
                .context(),
            128);
}

// ---------------------------------------------------------------- sliding windows

TEST(Config, Windows) {
  using Windows = std::vector<std::int64_t>;
  for (const char* family : {"qwen3", "qwen2"}) {
    const auto windows = [&](const Json& changes) { return read_with(family, changes).windows; };
    const Windows full{0, 0, 0, 0};
    EXPECT_EQ(windows(Json::object()), full);
    EXPECT_EQ(windows({{"sliding_window", 8}}), full);  // counts only with use_sliding_window
    EXPECT_EQ(windows({{"sliding_window", 8}, {"use_sliding_window", true}}), full);  // 28 full layers at the bottom
    EXPECT_EQ(windows({{"sliding_window", 8}, {"use_sliding_window", true}, {"max_window_layers", 1}}),
              (Windows{0, 8, 8, 8}));
    EXPECT_EQ(windows({{"sliding_window", nullptr}, {"use_sliding_window", true}, {"max_window_layers", 1}}), full);
    const Json types{"sliding_attention", "full_attention", "full_attention", "sliding_attention"};
    EXPECT_EQ(
        windows(
            {{"sliding_window", 8}, {"use_sliding_window", true}, {"max_window_layers", 1}, {"layer_types", types}}),
        (Windows{8, 0, 0, 8}));
    expect_message("layer 0", [&] { windows({{"sliding_window", 8}, {"layer_types", types}}); });
    expect_message("chunked", [&] { windows({{"layer_types", {"chunked", "chunked", "chunked", "chunked"}}}); });
    expect_message("layer_types", [&] { windows({{"layer_types", {"full_attention"}}}); });
  }
  EXPECT_EQ(read_with("llama", {{"sliding_window", 8}, {"use_sliding_window", true}, {"max_window_layers", 0}}).windows,
            (Windows{0, 0, 0, 0}));
}

// ---------------------------------------------------------------- published sizes

TEST(Shapes, AllReadAndHaveTheirPublishedSize) {
  // Parameters in millions, as the model cards say, ± 3 %.
  const std::pair<const char*, double> sizes[] = {
      {"Qwen3-0.6B", 596},        {"Qwen3-1.7B", 1720},   {"Qwen3-4B", 4022},      {"Qwen3-8B", 8190},
      {"Qwen3-14B", 14770},       {"Qwen3-32B", 32760},   {"Qwen2.5-0.5B", 494},   {"Qwen2.5-1.5B", 1540},
      {"Qwen2.5-3B", 3090},       {"Qwen2.5-7B", 7610},   {"Qwen2.5-14B", 14700},  {"Qwen2.5-32B", 32500},
      {"Qwen2.5-72B", 72700},     {"Llama-2-7B", 6740},   {"Llama-3.1-8B", 8030},  {"Llama-3.1-70B", 70600},
      {"Llama-3.1-405B", 405900}, {"Llama-3.2-1B", 1236}, {"Llama-3.2-3B", 3213},  {"SmolLM2-135M", 134.5},
      {"SmolLM2-360M", 361.8},    {"SmolLM2-1.7B", 1711}, {"TinyLlama-1.1B", 1100}};
  for (const auto& [name, millions] : sizes) {
    const auto [family, shape] = program().families.shape(name);
    const nn::DecoderConfig c = models::read_config(*family, parse_json(shape->config, name), name);
    double elements = 0;
    for (int s = 0; s < nn::kSlots; ++s) {
      const auto slot = static_cast<nn::Slot>(s);
      if (const auto dims = nn::slot_shape(c, slot))
        elements +=
            static_cast<double>(dims->elements()) * (nn::is_layer_slot(slot) ? static_cast<double>(c.layers) : 1);
    }
    EXPECT_NEAR(elements / 1e6 / millions, 1.0, 0.03) << name;
  }
  for (const models::Family& family : program().families.families())
    for (const models::PublishedShape& shape : family.shapes)
      EXPECT_NO_THROW(models::read_config(family, parse_json(shape.config, shape.name), shape.name)) << shape.name;
}

TEST(Shapes, AreFoundInAnySpelling) {
  for (const char* name : {"Qwen3-1.7B", "qwen3-1.7b", "qwen3_1_7b"}) {
    EXPECT_EQ(program().families.shape(name).shape->name, "Qwen3-1.7B");
    ASSERT_NE(program().families.find(name), nullptr);
    EXPECT_EQ(program().families.find(name)->model_type, "qwen3");
  }
  expect_message("did you mean Qwen3-1.7B", [] { program().families.shape("Qwen3-1.8B"); });
  EXPECT_THROW(program().families.shape("Qwen3-17B"), Error);  // not the 1.7B
  EXPECT_EQ(program().families.find("nothing"), nullptr);
}

}  // namespace
}  // namespace tilewright::test
