#include "engine/generate.h"

#include <gtest/gtest.h>

#include "models/model_fixture.h"

namespace tilewright::test {
namespace {

using engine::FinishReason;
using engine::GenerateRequest;
using engine::GenerateResult;
using engine::Session;
using Ids = std::vector<std::int64_t>;

Ids counting(std::int64_t count, std::int64_t vocabulary) {
  Ids out;
  for (std::int64_t i = 0; i < count; ++i) out.push_back((7 * i + 3) % vocabulary);
  return out;
}

HostTensor row(const Ids& ids) {
  HostTensor out(DType::i64, {1, static_cast<std::int64_t>(ids.size())});
  for (std::size_t i = 0; i < ids.size(); ++i) out.set(static_cast<std::int64_t>(i), static_cast<double>(ids[i]));
  return out;
}

// The law behind the cache: running a prompt at once, in pieces, or token by token gives the same logits, also across
// the border of a bucket (256), with a window and without. f32 noise of differently ordered sums: below 1e-3 for logits
// near 10.
TEST(Session, PiecesEqualTheWhole) {
  for (const char* name : {"qwen3-base", "qwen2-window", "llama-bias"}) {
    Session session(program(), options_for(test_model(name), DType::f32));
    const Ids ids = counting(264, session.model().info().vocab_size);
    const auto logits_of = [&](const std::vector<std::size_t>& pieces) {
      session.begin(1, static_cast<std::int64_t>(ids.size()));
      std::vector<float> last;
      auto at = ids.begin();
      for (const std::size_t piece : pieces) {
        const auto end = at + static_cast<std::ptrdiff_t>(piece);
        last = session.read_logits(session.last_logits(session.run(row(Ids(at, end)))));
        at = end;
      }
      EXPECT_EQ(at, ids.end());
      return last;
    };
    const auto whole = logits_of({264});
    std::vector<std::size_t> steps(12, 1);
    steps.insert(steps.begin(), 252);
    for (const auto& pieces : {std::vector<std::size_t>{100, 164}, std::vector<std::size_t>{255, 2, 7}, steps}) {
      const auto other = logits_of(pieces);
      ASSERT_EQ(other.size(), whole.size());
      for (std::size_t i = 0; i < whole.size(); ++i)
        ASSERT_NEAR(other[i], whole[i], 1e-3) << name << " in " << pieces.size() << " pieces, logit " << i;
    }
  }
}

TEST(Session, RowsOfABatchAreIndependent) {
  Session session(program(), options_for(test_model("qwen3-base"), DType::f32));
  const Ids a = counting(9, 151), b = counting(9, 100);
  HostTensor both(DType::i64, {2, 9});
  for (std::size_t i = 0; i < 9; ++i) {
    both.set(static_cast<std::int64_t>(i), static_cast<double>(a[i]));
    both.set(static_cast<std::int64_t>(9 + i), static_cast<double>(b[i]));
  }
  session.begin(2, 9);
  const auto joint = session.read_logits(session.last_logits(session.run(both)));
  session.begin(1, 9);
  const auto alone = session.read_logits(session.last_logits(session.run(row(b))));
  for (std::size_t i = 0; i < alone.size(); ++i) EXPECT_NEAR(joint[alone.size() + i], alone[i], 1e-4);
}

TEST(Session, RefusesWhatDoesNotFit) {
  Session session(program(), options_for(test_model("qwen3-base")));
  session.begin(1, 10);
  EXPECT_EQ(session.room(), 256);
  expect_message("longer than the context", [&] { session.run(row(counting(257, 151))); });
  expect_message("vocabulary", [&] { session.run(row({3, 151})); });
  expect_message("vocabulary", [&] { session.run(row({-1})); });
}

TEST(Session, NoMemoryForTheCache) {
  engine::SessionOptions options = options_for(bard());
  options.device_options.memory_limit = std::size_t{40} << 20;
  Session session(program(), options);
  const std::string message = message_of([&] { session.begin(64, 1024); });
  for (const char* part : {"key-value cache", "1024 positions", "--ctx"})
    EXPECT_NE(message.find(part), std::string::npos) << message;
  session.begin(1, 16);  // the session goes on
  EXPECT_EQ(session.read_logits(session.last_logits(session.run(row({1, 2, 3})))).size(), 4096u);
}

TEST(Session, UnknownDeviceAndSwitch) {
  engine::SessionOptions options = options_for(bard());
  options.device = "hots";
  expect_message("host", [&] { Session session(program(), options); });
  options.device = "host";
  options.fuse = "rms_norn";
  expect_message("rms_norm", [&] { Session session(program(), options); });
}

// A composite that is switched on and has no kernel falls back, and the log says so and why.
TEST(Session, CallsOfSwitchedOnCompositesAreCounted) {
  engine::SessionOptions options = options_for(test_model("qwen3-base"));
  options.fuse = "attention";
  Session session(program(), options);
  session.begin(1, 8);
  session.run(row({1, 2, 3}));
  const auto& kernels = session.fallbacks().kernels();
  ASSERT_EQ(kernels.size(), 1u);  // nothing else is on
  EXPECT_EQ(kernels[0].op->schema.name, "attention");
  EXPECT_EQ(kernels[0].count, 3);  // layers
  for (const auto& [key, count] : session.fallbacks().counts()) EXPECT_NE(key.op, "attention") << key.reason;
}

// ---------------------------------------------------------------- generate

GenerateRequest request_of(Ids prompt, std::int64_t new_tokens) {
  GenerateRequest out;
  out.prompt = std::move(prompt);
  out.max_new_tokens = new_tokens;
  return out;
}

TEST(Generate, HostAndDeviceChooseTheSameGreedyTokens) {
  Session session(program(), options_for(bard(), DType::f32));
  GenerateRequest request = request_of({416, 308, 11}, 20);
  const Ids on_device = engine::generate(session, request).tokens;
  request.sampling.sample = true;
  request.sampling.top_k = 1;
  EXPECT_EQ(engine::generate(session, request).tokens, on_device);
}

TEST(Generate, TheSeedDecides) {
  Session session(program(), options_for(bard()));
  GenerateRequest request = request_of({416, 308, 11}, 16);
  request.sampling = {.sample = true, .temperature = 1.0, .seed = 5};
  const Ids first = engine::generate(session, request).tokens;
  EXPECT_EQ(engine::generate(session, request).tokens, first);
  request.sampling.seed = 6;
  EXPECT_NE(engine::generate(session, request).tokens, first);
}

TEST(Generate, StopsAtAnyEndToken) {
  Session session(program(), options_for(bard(), DType::f32));
  GenerateRequest request = request_of({416, 308, 11}, 12);
  const Ids all = engine::generate(session, request).tokens;
  request.end_tokens = {9999, all[5]};
  Ids shown;
  request.on_token = [&](std::int64_t token) { shown.push_back(token); };
  const GenerateResult r = engine::generate(session, request);
  const auto first = std::find(all.begin(), all.end(), all[5]);
  EXPECT_EQ(r.reason, FinishReason::stop);
  EXPECT_EQ(r.tokens, Ids(all.begin(), first + 1));
  EXPECT_EQ(shown, Ids(all.begin(), first));
}

TEST(Generate, AnInterruptKeepsWhatThereIs) {
  Session session(program(), options_for(bard()));
  std::atomic<bool> flag{false};
  GenerateRequest request = request_of({416, 308, 11}, 50);
  int seen = 0;
  request.on_token = [&](std::int64_t) { flag = ++seen == 4; };
  request.interrupted = &flag;
  const GenerateResult r = engine::generate(session, request);
  EXPECT_EQ(r.reason, FinishReason::interrupted);
  EXPECT_EQ(r.tokens.size(), 4u);
}

TEST(Generate, FiguresFit) {
  Session session(program(), options_for(bard()));
  const GenerateResult r = engine::generate(session, request_of({416, 308, 11}, 10));
  EXPECT_EQ(r.reason, FinishReason::length);
  ASSERT_EQ(r.tokens.size(), 10u);
  EXPECT_GT(r.first_token_s, 0);
  EXPECT_DOUBLE_EQ(r.prefill_tok_s, 3 / r.first_token_s);
  EXPECT_DOUBLE_EQ(r.decode_tok_s, 9 / r.after_first_s);
}

TEST(Generate, ThePromptMustFitTheContext) {
  Session session(program(), options_for(bard()));  // context 1,024
  const std::string message = message_of([&] { engine::generate(session, request_of(counting(1025, 4096), 1)); });
  for (const char* part : {"longer than the context", "1024", "1025"})
    EXPECT_NE(message.find(part), std::string::npos) << message;
  expect_message("empty", [&] { engine::generate(session, request_of({}, 1)); });
  GenerateRequest request = request_of(counting(20, 4096), 4);
  request.context = 10;
  expect_message("--ctx", [&] { engine::generate(session, request); });
  request.context = 2000;
  expect_message("--ctx", [&] { engine::generate(session, request); });
}

TEST(Generate, NewTokensAreCutToTheContext) {
  Session session(program(), options_for(bard()));
  GenerateRequest request = request_of(counting(20, 4096), 100);
  request.context = 24;
  const GenerateResult r = engine::generate(session, request);
  EXPECT_EQ(r.tokens.size(), 5u);  // four that are run after the prompt, and the last one's
  EXPECT_EQ(r.reason, FinishReason::length);
  EXPECT_EQ(engine::generate(session, request_of(counting(1024, 4096), 7)).tokens.size(), 1u);
}

// A dynamic scaling stretches the context, so that a longer prompt is none too long.
TEST(Generate, DynamicScalingStretchesTheContext) {
  Session session(program(), options_for(test_model("qwen3-dynamic")));
  EXPECT_GT(session.model().info().context, 30);
  EXPECT_EQ(engine::generate(session, request_of(counting(30, 90), 3)).tokens.size(), 3u);
}

TEST(Generate, DummyModelsRun) {
  engine::SessionOptions options = options_for({});
  options.dummy_shape = "SmolLM2-135M";
  options.load.layers = 1;
  Session session(program(), options);
  EXPECT_EQ(engine::generate(session, request_of({104, 105}, 6)).tokens.size(), 6u);
}

}  // namespace
}  // namespace tilewright::test
