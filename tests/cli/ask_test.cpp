#include <gtest/gtest.h>

#include <fstream>

#include "base/json.h"
#include "base/mapped_file.h"
#include "cli/run_program.h"
#include "safetensors/scratch.h"

namespace tilewright::test {
namespace {

using hub::Scratch;

const std::filesystem::path kBard = TILEWRIGHT_SOURCE_DIR "/assets/bard";

std::vector<std::string> ask(const std::filesystem::path& model, const std::string& prompt,
                             const std::vector<std::string>& more = {}) {
  std::vector<std::string> out{"ask",       model, "--prompt",      prompt, "--dtype",          "f32",
                               "--threads", "1",   "--temperature", "0",    "--max-new-tokens", "40"};
  out.insert(out.end(), more.begin(), more.end());
  return out;
}

Json bard_texts() { return read_json_file(TILEWRIGHT_SOURCE_DIR "/tests/models/data/bard_texts.json")["texts"]; }

// A copy of the model that ships, with some files changed.
std::filesystem::path copy_of_bard(const Scratch& scratch) {
  std::filesystem::copy(kBard, scratch.path() / "bard", std::filesystem::copy_options::recursive);
  return scratch.path() / "bard";
}

void change_json(const std::filesystem::path& file, const std::string& key, const Json& value) {
  Json json = read_json_file(file);
  json[key] = value;
  std::ofstream(file) << json.dump();
}

Json report_of(const Scratch& scratch, std::vector<std::string> arguments, const RunOptions& options = {}) {
  const auto file = scratch.path() / "report.json";
  arguments.insert(arguments.end(), {"--report-file", file});
  const Outcome o = run_program(arguments, options);
  EXPECT_EQ(o.code, 0) << o.err;
  return read_json_file(file);
}

TEST(Ask, StdoutIsTheAnswerAlone) {
  for (const Json& text : bard_texts()) {
    const Outcome o = run_program(ask(kBard, text["prompt"]));
    EXPECT_EQ(o.code, 0) << o.err;
    std::string expected = text["text"];
    if (expected.back() != '\n') expected += '\n';
    EXPECT_EQ(o.out, expected);
    for (const char* part : {"load ", "first token after", "tok/s", "peak memory", "f32", "1 thread"})
      EXPECT_NE(o.err.find(part), std::string::npos) << o.err;
    EXPECT_EQ(o.err.find('\r'), std::string::npos);  // no bar where there is no terminal
  }
}

TEST(Ask, ThePromptMayComeFromStdin) {
  const std::string prompt = bard_texts()[0]["prompt"];
  const Outcome direct = run_program(ask(kBard, prompt));
  EXPECT_EQ(run_program(ask(kBard, "-"), {.input = prompt}).out, direct.out);
  EXPECT_EQ(run_program(ask(kBard, "-"), {.input = prompt + "\n"}).out, direct.out);
  EXPECT_EQ(run_program(ask(kBard, "-"), {.input = prompt + "\r\n"}).out, direct.out);
}

TEST(Ask, SettingsOfTheModelThatAreNotAppliedAreNamed) {
  const Scratch scratch;
  const auto model = copy_of_bard(scratch);
  EXPECT_EQ(run_program(ask(model, "To be")).err.find("not applied"), std::string::npos);
  change_json(model / "generation_config.json", "typical_p", 0.5);
  change_json(model / "generation_config.json", "stop_strings", {"O!"});
  const std::string note = "generation_config.json sets typical_p, stop_strings, which is not applied";
  EXPECT_NE(run_program(ask(model, "To be")).err.find(note), std::string::npos);
}

TEST(Ask, TheModelMayComeFromTheEnvironment) {
  std::vector<std::string> arguments = ask(kBard, "To be, or not");
  const Outcome direct = run_program(arguments);
  arguments.erase(arguments.begin() + 1);
  EXPECT_EQ(run_program(arguments, {.environment = {{"MODEL_PATH", kBard}}}).out, direct.out);
}

TEST(Ask, TheReportHoldsWhatItPromises) {
  const Scratch scratch;
  const Json report = report_of(scratch, ask(kBard, "To be, or not"));
  for (const char* field : {"kind", "schema", "version", "command", "tool", "machine", "seeds", "created", "result"})
    EXPECT_TRUE(report.contains(field)) << field;
  EXPECT_EQ(report["kind"], "ask");
  EXPECT_EQ(report["command"][1], "ask");
  const Json& r = report["result"];
  const Json text = bard_texts()[0];
  EXPECT_EQ(r["prompt_ids"], text["prompt_ids"]);
  EXPECT_EQ(r["output_ids"], text["greedy_ids"]);
  EXPECT_EQ(r["text"], text["text"]);
  EXPECT_EQ(r["finish_reason"], "length");
  EXPECT_EQ(r["device"], "host");
  EXPECT_EQ(r["dtype"], "f32");
  EXPECT_EQ(r["threads"], 1);
  EXPECT_TRUE(r["fallbacks"].empty());
  for (const char* number : {"load_s", "ttft_s", "prefill_tok_s", "decode_tok_s", "peak_memory_bytes"})
    EXPECT_GT(r[number].get<double>(), 0) << number;
  EXPECT_TRUE(r.contains("seed"));
}

TEST(Ask, AReportThatCannotBeWrittenIsAnError) {
  EXPECT_EQ(run_program(ask(kBard, "hi", {"--report-file", "/nowhere/report.json"})).code, 1);
}

TEST(Ask, FallbacksAreReported) {
  const Scratch scratch;
  for (const char* list : {"all", "rms_norm,attention"}) {
    const Json report = report_of(scratch, ask(kBard, "To be, or not", {"--fuse", list}));
    EXPECT_EQ(report["result"]["output_ids"], bard_texts()[0]["greedy_ids"]);
    for (const Json& each : report["result"]["fallbacks"])
      for (const char* field : {"op", "candidate", "reason", "count"}) EXPECT_TRUE(each.contains(field));
  }
}

TEST(Ask, TheSeedDecidesAndIsShown) {
  std::vector<std::string> arguments{"ask", kBard, "--prompt", "KING", "--threads", "1", "--max-new-tokens", "20"};
  const Outcome free = run_program(arguments);
  const std::size_t at = free.err.find("seed ");
  ASSERT_NE(at, std::string::npos) << free.err;  // bard's generation_config asks for sampling
  const std::string seed = free.err.substr(at + 5, free.err.find('\n', at) - at - 5);
  arguments.insert(arguments.end(), {"--seed", seed});
  EXPECT_EQ(run_program(arguments).out, free.out);
  arguments.back() = "12345";
  EXPECT_NE(run_program(arguments).out, free.out);
}

TEST(Ask, DummyWeightsNeedNoModelAndPrintIds) {
  const Outcome o = run_program({"ask", "--weights", "dummy", "--shape", "SmolLM2-135M", "--layers", "1", "--prompt",
                                 "hi", "--threads", "1", "--max-new-tokens", "5"},
                                {.environment = {{"MODEL_PATH", "/nowhere"}}});
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(std::count(o.out.begin(), o.out.end(), ' '), 4) << o.out;
  EXPECT_EQ(o.out.find_first_not_of("0123456789 \n"), std::string::npos) << o.out;
}

TEST(Ask, CtrlCKeepsWhatWasGenerated) {
  const Scratch scratch;
  const auto file = scratch.path() / "report.json";
  bool sent = false;
  const Outcome o = run_program({"ask", kBard, "--prompt", "KING", "--threads", "1", "--max-new-tokens", "1000",
                                 "--seed", "1", "--report-file", file},
                                {.on_output = [&](pid_t child, const std::string& text) {
                                  if (!sent && text.size() > 10) sent = kill(child, SIGINT) == 0;
                                }});
  ASSERT_TRUE(sent);
  EXPECT_EQ(o.code, 130) << o.err;
  EXPECT_GT(o.out.size(), 10u);
  EXPECT_NE(o.err.find("interrupted"), std::string::npos) << o.err;
  const Json report = read_json_file(file);
  EXPECT_EQ(report["result"]["finish_reason"], "interrupted");
  EXPECT_LT(report["result"]["output_ids"].size(), 1000u);
}

TEST(Ask, AReaderThatGoesAwayEndsIt) {
  const Outcome o = run_program({"ask", kBard, "--prompt", "KING", "--threads", "1", "--max-new-tokens", "1000"},
                                {.leave_after_first_output = true});
  EXPECT_EQ(o.code, 128 + SIGPIPE);  // as with every writer of a pipe
}

bool whole_characters(const std::string& text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const std::size_t length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    for (std::size_t k = 1; k < length; ++k)
      if (i + k >= text.size() || (static_cast<unsigned char>(text[i + k]) & 0xc0) != 0x80) return false;
    i += length;
  }
  return true;
}

// The spellings of two tokens that follow each other in an answer are exchanged with those of the two bytes of "é": the
// model says the same ids, and whoever reads along never sees half a character.
TEST(Ask, StreamingNeverBreaksACharacter) {
  const Scratch scratch;
  const auto model = copy_of_bard(scratch);
  Json tokenizer = read_json_file(model / "tokenizer.json");
  Json& vocabulary = tokenizer["model"]["vocab"];
  const auto spelling = [&](std::int64_t id) {
    for (const auto& [token, each] : vocabulary.items())
      if (each == id) return token;
    return std::string();
  };
  const auto foreign = [](const Json& prompt, const Json& id) {
    return std::find(prompt.begin(), prompt.end(), id) == prompt.end();
  };
  std::string prompt;
  for (const Json& text : bard_texts()) {
    const Json &ids = text["greedy_ids"], &asked = text["prompt_ids"];
    for (std::size_t i = 0; prompt.empty() && i + 1 < ids.size(); ++i) {
      if (ids[i] == ids[i + 1] || !foreign(asked, ids[i]) || !foreign(asked, ids[i + 1])) continue;
      const std::string first = spelling(ids[i]), second = spelling(ids[i + 1]);
      if (first.size() < 3 || second.size() < 3) continue;  // pieces that the prompt's own merges need
      std::swap(vocabulary[first], vocabulary["\u00c3"]);
      std::swap(vocabulary[second], vocabulary["\u00a9"]);
      prompt = text["prompt"];
    }
  }
  ASSERT_FALSE(prompt.empty());
  std::ofstream(model / "tokenizer.json") << tokenizer.dump();
  int reads = 0;
  const Outcome o = run_program(ask(model, prompt), {.on_output = [&](pid_t, const std::string& so_far) {
                                  ++reads;
                                  EXPECT_TRUE(whole_characters(so_far)) << so_far;
                                }});
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_GT(reads, 1);
  EXPECT_NE(o.out.find("\u00e9"), std::string::npos) << o.out;
}

// ---------------------------------------------------------------- end tokens

TEST(Ask, EveryEndTokenStops) {
  const Json text = bard_texts()[0];
  const std::int64_t second = text["greedy_ids"][1];
  {
    const Scratch scratch;
    const auto model = copy_of_bard(scratch);
    change_json(model / "generation_config.json", "eos_token_id", {7, second});
    const Json r = report_of(scratch, ask(model, text["prompt"]))["result"];
    EXPECT_EQ(r["finish_reason"], "stop");
    EXPECT_EQ(r["output_ids"].size(), 2u);
  }
  {
    const Scratch scratch;
    const auto model = copy_of_bard(scratch);
    change_json(model / "config.json", "eos_token_id", second);
    EXPECT_EQ(report_of(scratch, ask(model, text["prompt"]))["result"]["output_ids"].size(), 2u);
  }
  {
    const Scratch scratch;
    const auto model = copy_of_bard(scratch);
    const Json vocabulary = read_json_file(model / "tokenizer.json")["model"]["vocab"];
    for (const auto& [token, id] : vocabulary.items())
      if (id == second) change_json(model / "tokenizer_config.json", "eos_token", token);
    EXPECT_EQ(report_of(scratch, ask(model, text["prompt"]))["result"]["output_ids"].size(), 2u);
  }
}

// ---------------------------------------------------------------- chat

TEST(Ask, ChatModelsAreAskedThroughTheirTemplate) {
  const Scratch scratch;
  const auto model = copy_of_bard(scratch);
  std::ofstream(model / "chat_template.jinja") << "{% for m in messages %}{{ m.role }}: {{ m.content }}{% endfor %}!";
  const Json chat = report_of(scratch, ask(model, "To be"))["result"]["prompt_ids"];
  const Json raw = report_of(scratch, ask(model, "To be", {"--raw"}))["result"]["prompt_ids"];
  EXPECT_EQ(chat, report_of(scratch, ask(kBard, "user: To be!"))["result"]["prompt_ids"]);
  EXPECT_EQ(raw, report_of(scratch, ask(kBard, "To be"))["result"]["prompt_ids"]);
  EXPECT_NE(chat, raw);
}

// ---------------------------------------------------------------- bad models: a message, nothing lost

void expect_refused(const std::filesystem::path& model, const std::string& part) {
  const Outcome o = run_program(ask(model, "hi"));
  EXPECT_EQ(o.code, 1) << o.err;
  EXPECT_EQ(o.out, "");
  EXPECT_NE(o.err.find(part), std::string::npos) << "wanted: " << part << "\ngot: " << o.err;
}

TEST(Ask, BadModelsAreRefused) {
  const auto spoiled = [](const std::function<void(const std::filesystem::path&)>& spoil, const std::string& part) {
    const Scratch scratch;
    const auto model = copy_of_bard(scratch);
    spoil(model);
    expect_refused(model, part);
  };
  spoiled([](const auto& m) { change_json(m / "config.json", "model_type", "qwen4"); }, "qwen3");
  spoiled([](const auto& m) { change_json(m / "config.json", "hidden_size", nullptr); }, "hidden_size");
  spoiled([](const auto& m) { change_json(m / "config.json", "hidden_size", 257); }, "[4096, 257]");
  spoiled([](const auto& m) { std::filesystem::resize_file(m / "model.safetensors", 100000); }, "model.safetensors");
  spoiled([](const auto& m) { std::filesystem::remove(m / "model.safetensors"); }, "safetensors");
  spoiled([](const auto& m) { std::filesystem::remove(m / "tokenizer.json"); }, "tokenizer.json");
  spoiled([](const auto& m) { std::ofstream(m / "config.json") << "{\"a\": "; }, "config.json");
  spoiled([](const auto& m) { change_json(m / "generation_config.json", "top_p", "high"); }, "top_p");
  spoiled([](const auto& m) { change_json(m / "tokenizer.json", "model", {{"type", "WordPiece"}}); }, "WordPiece");
  spoiled([](const auto& m) { std::ofstream(m / "chat_template.jinja") << "a\n{% import 'x' as y %}"; },
          "chat_template.jinja:2");
}

TEST(Ask, AnUnreadableDirectoryIsRefused) {
  if (geteuid() == 0) GTEST_SKIP() << "root reads everything";
  const Scratch scratch;
  const auto model = copy_of_bard(scratch);
  std::filesystem::permissions(model, std::filesystem::perms::none);
  expect_refused(model, "cannot be read");
  std::filesystem::permissions(model, std::filesystem::perms::owner_all);
}

// ---------------------------------------------------------------- check

TEST(Check, PrintsTheVerdictLast) {
  const Outcome good = run_program({"check", kBard, "--golden", kBard / "golden.safetensors", "--threads", "1"});
  EXPECT_EQ(good.code, 0) << good.err;
  EXPECT_NE(good.out.find("\nverdict: equal\n"), std::string::npos) << good.out;
  EXPECT_EQ(good.out.rfind('\n', good.out.size() - 2) + 1, good.out.find("verdict:")) << good.out;

  const Scratch scratch;
  const auto model = copy_of_bard(scratch);
  change_json(model / "config.json", "rms_norm_eps", 0.5);
  const Outcome bad = run_program({"check", model, "--golden", kBard / "golden.safetensors", "--threads", "1"});
  EXPECT_EQ(bad.code, 1);
  EXPECT_NE(bad.out.find("\nverdict: different"), std::string::npos) << bad.out;
}

// Config and weights are enough.
TEST(Check, NeedsNoTokenizer) {
  const std::string model = TILEWRIGHT_SOURCE_DIR "/tests/models/data/llama-base";
  const Outcome o = run_program({"check", model, "--golden", model + "/golden.safetensors", "--dtype", "bf16"});
  EXPECT_EQ(o.code, 0) << o.out << o.err;
}

}  // namespace
}  // namespace tilewright::test
