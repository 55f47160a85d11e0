#include "cli/ask_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <random>

#include "base/error.h"
#include "base/process_memory.h"
#include "cli/ask_prompt.h"
#include "cli/command_line.h"
#include "cli/exit_code.h"
#include "cli/fusion_report.h"
#include "cli/interrupt.h"
#include "cli/model_notes.h"
#include "cli/model_options.h"
#include "cli/number_list.h"
#include "cli/standard_input.h"
#include "cli/usage.h"
#include "engine/generate.h"
#include "hub/generation_config.h"
#include "report/envelope.h"

namespace tilewright::cli {
namespace {

constexpr std::int64_t kDefaultNewTokens = 512;
constexpr std::int64_t kMostTokens = std::int64_t{1} << 31;

struct Options : ModelOptions {
  std::string prompt;
  bool raw = false;
  std::optional<std::int64_t> max_new_tokens, top_k, context;
  std::optional<double> temperature, top_p, min_p, repetition_penalty;
  std::optional<std::uint64_t> seed;
};

std::string prompt_of(const Options& options) {
  if (options.prompt != "-") return options.prompt;
  std::string text = read_standard_input();
  if (text.ends_with('\n')) {  // the one that `echo` and editors add, in either spelling
    text.pop_back();
    if (text.ends_with('\r')) text.pop_back();
  }
  return text;
}

std::uint64_t random_seed() {
  std::random_device device;
  return device() & 0x7fffffffu;  // short enough to type again
}

// Flags win over the model's generation_config.json, which wins over the reference's defaults.
engine::Sampling sampling_of(const Options& options, const hub::GenerationConfig& defaults) {
  engine::Sampling out;
  out.temperature = options.temperature.value_or(defaults.temperature);
  out.top_k = options.top_k.value_or(defaults.top_k);
  out.top_p = options.top_p.value_or(defaults.top_p);
  out.min_p = options.min_p.value_or(defaults.min_p);
  out.repetition_penalty = options.repetition_penalty.value_or(defaults.repetition_penalty);
  out.sample = defaults.do_sample || options.temperature || options.top_k || options.top_p || options.min_p;
  out.seed = options.seed.value_or(0);
  if (!options.seed && !out.greedy()) out.seed = random_seed();
  engine::check_sampling(out);
  return out;
}

// Settings of the model's generation_config.json that change what the reference generates and are not applied here.
std::string ignored_settings(const hub::GenerationConfig& c) {
  const std::pair<bool, const char*> all[] = {{c.typical_p != 1, "typical_p"},
                                              {c.no_repeat_ngram_size != 0, "no_repeat_ngram_size"},
                                              {c.min_new_tokens.value_or(0) != 0, "min_new_tokens"},
                                              {!c.stop_strings.empty(), "stop_strings"},
                                              {!c.suppress_tokens.empty(), "suppress_tokens"},
                                              {!c.bad_words_ids.empty(), "bad_words_ids"}};
  std::string out;
  for (const auto& [set, name] : all)
    if (set) out += (out.empty() ? "" : ", ") + std::string(name);
  return out;
}

std::vector<std::int64_t> all_end_tokens(std::vector<std::int64_t> a, const std::vector<std::int64_t>& b,
                                         const std::vector<std::int64_t>& c) {
  a.insert(a.end(), b.begin(), b.end());
  a.insert(a.end(), c.begin(), c.end());
  std::sort(a.begin(), a.end());
  a.erase(std::unique(a.begin(), a.end()), a.end());
  return a;
}

// Writes the answer as it comes; a reader that has gone away ends the program by SIGPIPE as usual.
class Answer {
 public:
  void add(const std::string& part) {
    if (part.empty()) return;
    text_ += part;
    std::fwrite(part.data(), 1, part.size(), stdout);
    flush();
  }
  void end_line() {
    if (!text_.empty() && text_.back() == '\n') return;
    std::fputc('\n', stdout);
    flush();
  }
  const std::string& text() const { return text_; }

 private:
  void flush() {
    if (std::fflush(stdout) != 0)
      fail({.what = "the answer could not be written", .where = "stdout", .expected = "", .found = "", .fix = ""});
  }
  std::string text_;
};

void print_figures(const engine::Session& session, const engine::GenerateRequest& request,
                   const engine::GenerateResult& r, const Options& options, int threads) {
  fmt::print(
      stderr,
      "load {:.2f} s; prompt {} tokens, first token after {:.3f} s ({:.1f} tok/s); {} tokens in {:.2f} s ({:.1f} "
      "tok/s); {}; peak memory {} MiB; {}, {}, {} thread{}{}\n",
      session.load_seconds(), request.prompt.size(), r.first_token_s, r.prefill_tok_s, r.tokens.size(),
      r.first_token_s + r.after_first_s, r.decode_tok_s, finish_reason_name(r.reason), peak_resident_bytes() >> 20,
      options.device, dtype_name(session.model().info().dtype), threads, threads == 1 ? "" : "s",
      request.sampling.greedy() ? "" : fmt::format(", seed {}", request.sampling.seed));
}

void write_report(const Options& options, engine::Session& session, const engine::GenerateRequest& request,
                  const engine::GenerateResult& r, const std::string& text) {
  if (options.report_file.empty()) return;
  report::write_report(options.report_file,
                       {.kind = "ask",
                        .seeds = {{"sampling", request.sampling.seed}, {"weights", 0}},
                        .result = {{"prompt_ids", request.prompt},
                                   {"output_ids", r.tokens},
                                   {"text", text},
                                   {"finish_reason", std::string(finish_reason_name(r.reason))},
                                   {"load_s", session.load_seconds()},
                                   {"ttft_s", r.first_token_s},
                                   {"prefill_tok_s", r.prefill_tok_s},
                                   {"decode_tok_s", r.decode_tok_s},
                                   {"peak_memory_bytes", peak_resident_bytes()},
                                   {"device", options.device},
                                   {"dtype", std::string(dtype_name(session.model().info().dtype))},
                                   {"threads", session.device().threads()},
                                   {"seed", request.sampling.seed},
                                   {"fused", fused_json(session.fallbacks())},
                                   {"fallbacks", fallbacks_json(session.fallbacks())},
                                   {"tuning", tuning_json(session.tuner())},
                                   {"found_chains", chains_json(session)}}});
}

void run(const Options& options) {
  const engine::SessionOptions flags = session_options(options, "ask");
  // Cheap mistakes are found before the weights are loaded.
  const hub::GenerationConfig defaults =
      options.dummy() ? hub::GenerationConfig{} : hub::GenerationConfig::load(flags.model);
  engine::GenerateRequest request;
  request.sampling = sampling_of(options, defaults);
  const std::unique_ptr<PromptText> text =
      options.dummy() ? dummy_prompt_text() : model_prompt_text(flags.model, options.raw);
  request.prompt = text->encode(prompt_of(options));
  request.max_new_tokens = options.max_new_tokens.value_or(defaults.max_new_tokens.value_or(kDefaultNewTokens));
  request.context = options.context.value_or(0);

  const Program program;
  engine::Session session(program, flags);
  print_model_notes(session.model().info());
  if (const std::string ignored = ignored_settings(defaults); !ignored.empty())
    fmt::print(stderr, "note: generation_config.json sets {}, which is not applied\n", ignored);
  if (!options.dummy())
    request.end_tokens = all_end_tokens(defaults.eos_token_ids, session.model().info().end_tokens, text->end_tokens());

  Answer answer;
  request.on_token = [&](std::int64_t token) { answer.add(text->push(token)); };
  request.interrupted = &listen_for_interrupt();
  const engine::GenerateResult result = engine::generate(session, request);
  answer.add(text->finish());
  answer.end_line();
  print_figures(session, request, result, options, session.device().threads());
  std::fputs(tuning_text(session.tuner()).c_str(), stderr);
  std::fputs(fusion_text(session.fallbacks()).c_str(), stderr);
  write_report(options, session, request, result, answer.text());
  if (result.reason == engine::FinishReason::interrupted) throw ExitCode{130};
}

}  // namespace

void add_ask_command(CLI::App& app) {
  Command command(app, "ask", "Answer a prompt with a model; the answer alone goes to stdout");
  auto options = std::make_shared<Options>();
  add_model_options(command, *options, true);
  command.add_option("--prompt", options->prompt, "Text to answer or continue; - reads standard input").required();
  command.add_flag("--raw", options->raw, "Continue the text as it is, without the model's chat template");
  command
      .add_option("--max-new-tokens", options->max_new_tokens,
                  "Tokens to generate at most (default: the model's, else 512)")
      .range(1, kMostTokens);
  command.add_option("--ctx", options->context, "Positions to reserve (default: prompt + new tokens)")
      .range(1, kMostTokens);
  const char* kOwn = " (default: the model's generation_config.json)";
  command.add_option("--temperature", options->temperature, std::string("0 takes the best token") + kOwn);
  command.add_option("--top-k", options->top_k, std::string("Sample from the k best tokens; 0: from all") + kOwn)
      .range(0, kMostTokens);
  command.add_option("--top-p", options->top_p,
                     std::string("Sample from the best tokens that hold this probability") + kOwn);
  command.add_option("--min-p", options->min_p,
                     std::string("Drop tokens below this share of the best one's probability") + kOwn);
  command.add_option("--repetition-penalty", options->repetition_penalty,
                     std::string("Divide logits of tokens seen before") + kOwn);
  command.add_option("--seed", options->seed, "Seed of the sampling (default: random, shown with the figures)")
      .check(whole_number_complaint);
  command.on_run([options] { run(*options); });
}

}  // namespace tilewright::cli
