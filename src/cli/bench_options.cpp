#include "cli/bench_options.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/nearest.h"
#include "cli/command_line.h"
#include "cli/number_list.h"
#include "cli/usage.h"
#include "measure/arm.h"
#include "report/bench/bench_tables.h"
#include "report/table.h"

namespace tilewright::cli {
namespace {

constexpr int kMostRounds = 100000;
constexpr int kColumns = 100;

std::string step_complaint(const std::string& text, const std::vector<std::string>& steps) {
  for (const std::string& word : word_list(text)) {
    if (std::find(steps.begin(), steps.end(), word) != steps.end()) continue;
    const std::string near = nearest(word, steps);
    return fmt::format("unknown step {}, expected {}{}", word.empty() ? "\"\"" : word, fmt::join(steps, ", "),
                       near.empty() ? "" : "; did you mean " + near + "?");
  }
  return "";
}

std::string arms_complaint(const std::string& text) {
  try {
    measure::parse_arms(word_list(text));
    return "";
  } catch (const Error& error) {
    const ErrorText& e = error.text();
    return fmt::format("{}, found {}, expected {}{}", e.what, e.found, e.expected, e.fix.empty() ? "" : "; " + e.fix);
  }
}

}  // namespace

bool BenchFlags::skips(const std::string& step) const {
  const std::vector<std::string> words = word_list(skip);
  return std::find(words.begin(), words.end(), step) != words.end();
}

void add_bench_options(CLI::App& parser, BenchFlags& flags, const std::vector<std::string>& skippable) {
  Command command(parser);
  add_model_options(parser, flags, true);
  command
      .add_option("--regime", flags.regime, "What tok/s means: decode, prefill or diffusion; auto chooses and says why")
      .one_of({"auto", "prefill", "decode", "diffusion"})
      .show_default();
  command.add_option("--seq", flags.seq, "Prefill: prompt lengths, a list such as 16,128,512")
      .check(number_list_complaint)
      .show_default();
  command.add_option("--prompt-len", flags.prompt_len, "Decode: tokens before the first one that is timed")
      .range(1, std::int64_t{1} << 31)
      .show_default();
  command.add_option("--gen", flags.gen, "Decode: tokens to generate, a list")
      .check(number_list_complaint)
      .show_default();
  command.add_option("--batch", flags.batch, "Sequences side by side, a list")
      .check(number_list_complaint)
      .show_default();
  command.add_option("--arms", flags.arms, "What is compared: eager, graph, fused, fused+graph")
      .check(arms_complaint)
      .show_default();
  command.add_option("--warmup", flags.warmup, "Iterations of each arm that are not counted")
      .range(0, kMostRounds)
      .show_default();
  command
      .add_option("--iters", flags.iters,
                  "Rounds; in each, every arm is timed once. Under 6 there is no interval and no claim")
      .range(1, kMostRounds)
      .show_default();
  command.add_option("--seed", flags.seed, "Seed of the prompts").check(whole_number_complaint).show_default();
  command
      .add_option("--golden", flags.goldens,
                  "Compare with this golden, too, before measuring; those in the model's folder are found there")
      .once_each();
  command.add_option("--skip", flags.skip, fmt::format("Steps to leave out: {}", fmt::join(skippable, ", ")))
      .check([skippable](const std::string& text) { return step_complaint(text, skippable); });
  command.add_option("--format", flags.format, "What goes to stdout").one_of({"table", "json"}).show_default();
  command.add_flag("--quiet", flags.quiet, "No progress on stderr");
}

port::MeasurementOptions measurement_options(const BenchFlags& flags, const std::string& command) {
  port::MeasurementOptions out;
  measure::BenchOptions& b = out.bench;
  b.model = session_options_but_model(flags, command);
  b.regime = flags.regime;
  b.seq = number_list(flags.seq);
  b.gen = number_list(flags.gen);
  b.batch = number_list(flags.batch);
  b.prompt_len = flags.prompt_len;
  b.arms = word_list(flags.arms);
  b.warmup = flags.warmup;
  b.iters = flags.iters;
  b.seed = flags.seed;
  b.read_limits = !flags.skips("limits");
  if (flags.fuse == "none" && std::any_of(b.arms.begin(), b.arms.end(), [](const std::string& arm) {
        return arm.find("fused") != std::string::npos;
      }))
    throw WrongUsage(command, "--fuse none leaves nothing for the fused arms; leave them out of --arms");
  for (const std::string& golden : flags.goldens) out.goldens.emplace_back(golden);
  return out;
}

void print_report(const Json& envelope, const BenchFlags& flags) {
  const std::string text =
      flags.format == "json"
          ? envelope.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"
          : report::bench_tables(envelope, {.width = kColumns, .colour = report::wants_colour(STDOUT_FILENO)});
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

}  // namespace tilewright::cli
