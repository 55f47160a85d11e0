// The real SmolLM2-135M, imported from GGUF as f32, continues as the reference implementation reading the GGUF itself
// does. `make smol` fetches and imports it (build/smol/model); without it the test is reported as not run.
// TILEWRIGHT_SMOL names another import.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "base/json.h"
#include "engine/generate.h"
#include "hub/chat/chat_template_source.h"
#include "hub/tokenizer/tokenizer.h"
#include "models/model_fixture.h"

namespace tilewright::test {
namespace {

std::filesystem::path imported_model() {
  const char* named = std::getenv("TILEWRIGHT_SMOL");
  return named ? std::filesystem::path(named) : source_dir() / "build/smol/model";
}

std::string rendered(const std::filesystem::path& model, const std::string& prompt) {
  hub::OrderedJson message = hub::OrderedJson::object();
  message["role"] = "user";
  message["content"] = prompt;
  hub::OrderedJson messages = hub::OrderedJson::array();
  messages.push_back(std::move(message));
  return hub::render_chat(model, messages);
}

TEST(SmolLM2, ContinuesAsTheReference) {
  const auto model = imported_model();
  const auto file = source_dir() / "tests/real/smollm2_greedy.json";
  if (!std::filesystem::exists(model / "model.safetensors"))
    GTEST_SKIP() << "not run: no import in " << model << " (make smol)";
  ASSERT_TRUE(std::filesystem::exists(file));
  const Json rows = read_json_file(file)["rows"];
  ASSERT_GE(rows.size(), 10u);
  const hub::Tokenizer tokenizer = hub::Tokenizer::load(model);
  engine::SessionOptions options = options_for(model, DType::f32);
  options.device_options.threads = 2;
  engine::Session session(program(), options);
  for (const Json& row : rows) {
    const std::string prompt = row["prompt"];
    const bool chat = row["chat"];
    const auto ids = tokenizer.encode(chat ? rendered(model, prompt) : prompt, !chat);
    engine::GenerateRequest request;
    request.prompt.assign(ids.begin(), ids.end());
    EXPECT_EQ(request.prompt, row["prompt_ids"].get<std::vector<std::int64_t>>()) << prompt;
    const auto expected = row["greedy_ids"].get<std::vector<std::int64_t>>();
    request.max_new_tokens = static_cast<std::int64_t>(expected.size());
    EXPECT_EQ(engine::generate(session, request).tokens, expected) << prompt;
  }
}

}  // namespace
}  // namespace tilewright::test
