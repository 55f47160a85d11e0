#include "hub/chat/chat_template_source.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/error.h"

namespace tilewright::hub {
namespace {

class ChatTemplateSource : public ::testing::Test {
 protected:
  void SetUp() override {
    dir_ = std::filesystem::path(::testing::TempDir()) /
           ("chat_source_" + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
    std::filesystem::remove_all(dir_);
    std::filesystem::create_directories(dir_ / "additional_chat_templates");
  }
  void TearDown() override { std::filesystem::remove_all(dir_); }
  void write(const char* name, const std::string& text) { std::ofstream(dir_ / name) << text; }
  std::string found(bool with_tools = false) {
    const auto chat = load_chat_template(dir_, with_tools);
    return chat ? chat->source() : "none";
  }
  std::string error() {
    try {
      load_chat_template(dir_, false);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }
  std::filesystem::path dir_;
};

TEST_F(ChatTemplateSource, FilesAreAskedInOrder) {
  EXPECT_EQ(found(), "none");
  write("chat_template.json", R"({"chat_template": "legacy"})");
  EXPECT_EQ(found(), "legacy");
  write("tokenizer_config.json", R"({"chat_template": null})");
  EXPECT_EQ(found(), "legacy");
  write("tokenizer_config.json", R"({"chat_template": "config"})");
  EXPECT_EQ(found(), "config");
  write("chat_template.jinja", "file\n");
  EXPECT_EQ(found(), "file\n");
  write("additional_chat_templates/tool_use.jinja", "tools");
  EXPECT_EQ(found(false), "file\n");
  EXPECT_EQ(found(true), "tools");
}

TEST_F(ChatTemplateSource, NamedTemplates) {
  write("tokenizer_config.json",
        R"({"chat_template": [{"name": "default", "template": "d"}, {"name": "tool_use", "template": "t"}]})");
  EXPECT_EQ(found(false), "d");
  EXPECT_EQ(found(true), "t");
  write("tokenizer_config.json", R"({"chat_template": [{"name": "rag", "template": "r"}]})");
  EXPECT_NE(error().find("rag"), std::string::npos);
  for (const char* bad : {"3", "{}", "[1]", R"([{"name": "default"}])"}) {
    write("tokenizer_config.json", std::string(R"({"chat_template": )") + bad + "}");
    EXPECT_NE(error().find("tokenizer_config.json"), std::string::npos) << bad;
  }
}

TEST_F(ChatTemplateSource, ErrorsNameTheFileAndLine) {
  write("chat_template.jinja", "a\n{% include 'x' %}");
  EXPECT_NE(error().find("chat_template.jinja:2"), std::string::npos) << error();
}

TEST_F(ChatTemplateSource, SpecialTokens) {
  write(
      "tokenizer_config.json",
      R"({"bos_token": "<s>", "eos_token": {"content": "</s>", "lstrip": false}, "add_bos_token": true, "pad_token": null})");
  write("special_tokens_map.json", R"({"eos_token": "other", "unk_token": "<unk>"})");
  EXPECT_EQ(special_tokens(dir_),
            OrderedJson::parse(R"({"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"})"));
}

TEST_F(ChatTemplateSource, RenderChatGivesTheVariablesOfTransformers) {
  write("tokenizer_config.json", R"({"bos_token": "<s>"})");
  write("chat_template.jinja",
        "{{ bos_token }}{{ tools is none }}{{ documents is none }}{{ add_generation_prompt }}{{ extra }}{{ messages "
        "}}{{ pad_token is defined }}");
  const auto messages =
      OrderedJson::parse(R"([{"role": "user", "content": null, "x": 1}, {"role": "assistant", "reasoning": "r"}])");
  EXPECT_EQ(render_chat(dir_, messages, nullptr, {{"extra", "E"}}),
            "<s>TrueTrueTrueE[{'role': 'user', 'x': 1}, {'thinking': 'r', 'role': 'assistant', 'reasoning': 'r', "
            "'reasoning_content': 'r'}]False");
  EXPECT_THROW(render_chat(dir_, OrderedJson::parse("{}")), Error);
  EXPECT_THROW(render_chat(dir_, OrderedJson::parse("[1]")), Error);
  EXPECT_THROW(render_chat(dir_, messages, OrderedJson::parse("{}")), Error);
  std::filesystem::remove(dir_ / "chat_template.jinja");
  EXPECT_THROW(render_chat(dir_, messages), Error);
}

}  // namespace
}  // namespace tilewright::hub
