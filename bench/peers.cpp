// The engine's arms beside its peers: the same shapes, dtype (bf16) and threads, taking turns round by round. A peer
// that is not installed is named with the way to get it. Weights are random and differ between arms: outputs are not
// compared here, `tilewright check` does that.
#include "peers/peers.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>

#include "base/cpu.h"
#include "base/error.h"
#include "measure/statistics.h"
#include "report/envelope.h"
#include "report/table.h"
#include "support/arm_run.h"
#include "support/temporary_folder.h"

namespace {

using namespace tilewright;
using bench::Absent;
using bench::Peer;
using bench::PeerOptions;
using bench::Regime;

struct Options {
  std::vector<std::string> shapes = {"Qwen3-0.6B", "Qwen3-1.7B"};
  std::vector<std::string> regimes = {"prefill 128", "prefill 512", "decode 64 64", "decode 32 4096"};
  std::vector<std::string> arms = {"eager", "fused", "fused+graph"};
  std::string device = "host", fuse = "all", report_file;
  int rounds = 10;
  PeerOptions peers;
};

// How many times the best peer the best arm must be, where this is stated of the instruction set and the regime.
std::optional<double> bar_of(const std::string& shape, const Regime& regime) {
  const bool small = shape == "Qwen3-0.6B", avx512 = active_isa() >= IsaLevel::avx512;
  if (shape != "Qwen3-0.6B" && shape != "Qwen3-1.7B") return {};
  if (regime.decode && regime.context == 64) return avx512 ? (small ? 1.15 : 1.1) : (small ? 1.25 : 1.15);
  if (regime.decode && regime.context == 4096) return avx512 ? 2 : 1.5;
  if (!regime.decode && (regime.tokens == 128 || regime.tokens == 512)) {
    if (active_isa() < IsaLevel::avx512_bf16) return 1.4;
    return regime.tokens == 128 ? (small ? 1.2 : 1.25) : (small ? 1.5 : 1.25);
  }
  return {};
}

Peer engine_arm(std::shared_ptr<const engine::LoadedModel> loaded, const engine::SessionOptions& session,
                const Options& options, const std::string& name, const Regime& regime) {
  const std::int64_t length = regime.decode ? regime.context + regime.tokens + 1 : regime.tokens;
  const measure::Arm kind = measure::parse_arms({&name, 1})[0];
  const auto arm = std::make_shared<bench::ArmRun>(std::move(loaded), session, kind, options.fuse, length);
  if (regime.decode) arm->fill_cache();
  return {name,
          fmt::format("tilewright, {}, {} threads, {}, --fuse {}", options.device, options.peers.threads,
                      isa_name(active_isa()), measure::fuse_list(kind, options.fuse)),
          [arm](const Regime& wanted) {
            return wanted.tokens / (wanted.decode ? arm->decode_seconds(wanted.tokens, wanted.context)
                                                  : arm->prefill_seconds(wanted.tokens));
          }};
}

std::string interval_text(const measure::Estimate& e) {
  return e.interval ? fmt::format("{:.2f} [{:.2f} .. {:.2f}]", e.value, e.low(), e.high())
                    : fmt::format("{:.2f} [no claim]", e.value);
}

Json ratio_json(const measure::Estimate& ratio) {
  return {
      {"value", ratio.value}, {"low", ratio.low()}, {"high", ratio.high()}, {"interval", ratio.interval.has_value()}};
}

// Samples of all rounds by arm, and why an arm has none.
struct Samples {
  std::vector<std::vector<double>> rates;
  std::vector<std::string> failures;
  // The one with the highest median of [begin, end), or end. Peers of another dtype are beside the point.
  std::size_t best(const std::vector<Peer>& arms, std::size_t begin, std::size_t end) const {
    std::size_t best = end;
    for (std::size_t i = begin; i < end; ++i)
      if (!arms[i].name.ends_with("f32") && failures[i].empty() &&
          (best == end || measure::median(rates[i]) > measure::median(rates[best])))
        best = i;
    return best;
  }
};

Samples take_turns(const Regime& regime, const std::vector<Peer>& arms, int rounds) {
  Samples samples{std::vector<std::vector<double>>(arms.size()), std::vector<std::string>(arms.size())};
  const auto sample = [&](std::size_t arm) {
    if (!samples.failures[arm].empty()) return 0.0;
    try {
      return arms[arm].rate(regime);
    } catch (const std::exception& error) {
      samples.failures[arm] = error.what();
      return 0.0;
    }
  };
  for (std::size_t arm = 0; arm < arms.size(); ++arm) sample(arm);  // warm-up
  for (int round = 0; round < rounds; ++round)
    for (std::size_t i = 0; i < arms.size(); ++i) {
      const std::size_t arm =
          (i + static_cast<std::size_t>(round)) % arms.size();  // nobody always runs behind the same
      samples.rates[arm].push_back(sample(arm));
    }
  return samples;
}

// Rows of a regime. `own`: the first so many arms are the engine's; each peer's ratio is the best of them against it.
Json report_regime(const std::string& shape, const Regime& regime, const std::vector<Peer>& arms, std::size_t own,
                   const Samples& samples, report::Table& table, report::Table& bars) {
  const std::size_t winner = samples.best(arms, 0, own), rival = samples.best(arms, own, arms.size());
  Json rows = Json::array();
  for (std::size_t arm = 0; arm < arms.size(); ++arm) {
    Json row = {{"shape", shape}, {"regime", regime.text}, {"arm", arms[arm].name}};
    if (!samples.failures[arm].empty()) {
      table.add_row({shape, regime.text, arms[arm].name, "failed", ""});
      row["failed"] = samples.failures[arm];
      fmt::print(stderr, "{} {} {}: {}\n", shape, regime.text, arms[arm].name, samples.failures[arm]);
      rows.push_back(std::move(row));
      continue;
    }
    const measure::Estimate rate = measure::estimate_median(samples.rates[arm]);
    row["tok_s"] = rate.value;
    row["best_tok_s"] = measure::highest(samples.rates[arm]);
    row["low"] = rate.low();
    row["high"] = rate.high();
    std::string ratio_text;
    if (arm >= own && winner < own) {
      const measure::Estimate ratio = measure::estimate_ratio(samples.rates[winner], samples.rates[arm]);
      row["ratio"] = ratio_json(ratio);
      row["ratio"]["of"] = arms[winner].name;
      ratio_text = interval_text(ratio);
    }
    table.add_row({shape, regime.text, arms[arm].name,
                   fmt::format("{:.1f} [{:.1f} .. {:.1f}]", rate.value, rate.low(), rate.high()), ratio_text});
    rows.push_back(std::move(row));
  }
  if (winner < own && rival < arms.size()) {
    const measure::Estimate ratio = measure::estimate_ratio(samples.rates[winner], samples.rates[rival]);
    const double best = measure::highest(samples.rates[winner]) / measure::highest(samples.rates[rival]);
    const std::optional<double> bar = bar_of(shape, regime);
    bars.add_row({shape, regime.text, arms[winner].name, arms[rival].name, interval_text(ratio),
                  fmt::format("{:.2f}", best), bar ? fmt::format("{:.2f}", *bar) : "",
                  !bar                  ? ""
                  : ratio.value >= *bar ? "met"
                                        : "NOT MET"});
  }
  return rows;
}

int run(const Options& options) {
  const Program program;
  std::vector<Regime> regimes;
  for (const std::string& text : options.regimes) regimes.push_back(bench::parse_regime(text));
  const CpuInfo cpu = cpu_info();
  fmt::print("{}, {} ({} here at best), {} threads, bf16, {} rounds, tokens per second: median and 95 % interval\n",
             cpu.model, isa_name(active_isa()), isa_name(detected_isa()), options.peers.threads, options.rounds);
  std::fflush(stdout);
  std::vector<Absent> absent;
  Json rows = Json::array(), about = Json::object();
  using report::Align;
  report::Table table({{"shape"}, {"regime"}, {"arm"}, {"tok/s", Align::right}, {"best arm / it", Align::right}});
  report::Table bars({{"shape"},
                      {"regime"},
                      {"best arm"},
                      {"best peer"},
                      {"ratio", Align::right},
                      {"of the best rounds", Align::right},
                      {"bar", Align::right},
                      {""}});
  for (const std::string& shape : options.shapes) {
    absent.clear();
    const engine::SessionOptions session = bench::arm_options(shape, options.device, options.peers.threads);
    const auto loaded = bench::load_for_arms(program, session);
    const std::vector<Peer> peers = bench::find_peers(options.peers, shape, absent);
    for (const Regime& regime : regimes) {
      std::vector<Peer> arms;
      for (const std::string& name : options.arms) arms.push_back(engine_arm(loaded, session, options, name, regime));
      const std::size_t own = arms.size();
      arms.insert(arms.end(), peers.begin(), peers.end());
      for (const Peer& arm : arms) about[arm.name] = arm.about;
      const Samples samples = take_turns(regime, arms, options.rounds);
      for (Json& row : report_regime(shape, regime, arms, own, samples, table, bars)) rows.push_back(std::move(row));
      fmt::print(stderr, "{} {} done\n", shape, regime.text);
    }
  }
  fmt::print("{}\n{}\n", table.text(140), bars.text(140));
  for (const auto& [name, text] : about.items()) fmt::print("{}: {}\n", name, text.get<std::string>());
  Json absent_json = Json::array();
  for (const Absent& a : absent) {
    fmt::print("{} is not measured: {}. {}\n", a.name, a.reason, a.how);
    absent_json.push_back({{"name", a.name}, {"reason", a.reason}, {"how", a.how}});
  }
  if (!options.report_file.empty())
    report::write_report(options.report_file, {.kind = "peers",
                                               .result = {{"isa", std::string(isa_name(active_isa()))},
                                                          {"threads", options.peers.threads},
                                                          {"rounds", options.rounds},
                                                          {"dtype", "bf16"},
                                                          {"rows", rows},
                                                          {"arms", about},
                                                          {"absent", absent_json}}});
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  PeerOptions& peers = options.peers;
  CLI::App app("The engine's arms beside its peers");
  app.add_option("--shapes", options.shapes, "published shapes")->capture_default_str()->delimiter(',');
  app.add_option("--regimes", options.regimes, "\"prefill TOKENS\" or \"decode TOKENS CONTEXT\"")
      ->capture_default_str()
      ->delimiter(',');
  app.add_option("--arms", options.arms, "the engine's arms")->capture_default_str()->delimiter(',');
  app.add_option("--fuse", options.fuse, "switches of the fused arms")->capture_default_str();
  app.add_option("--rounds", options.rounds, "rounds; under 6 nothing is claimed")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  app.add_option("--threads", peers.threads, "threads of every arm")->capture_default_str()->check(CLI::Range(1, 1024));
  app.add_option("--device", options.device, "the engine's device")->capture_default_str();
  app.add_option("--peers", peers.directory, "what tools/setup_peers.sh built")->capture_default_str();
  app.add_option("--python", peers.python, "python with torch and transformers")
      ->envname("PYTHON")
      ->capture_default_str();
  app.add_option("--torch-script", peers.torch_script, "torch's driver")->capture_default_str();
  app.add_option("--torch", peers.torch_modes,
                 "torch's arms: eager, compile, frozen; with a dash and static, dynamic or f32 behind them, too")
      ->capture_default_str()
      ->delimiter(',');
  app.add_option("--llama", peers.llama_modes, "llama.cpp's arms: fa (flash attention), nofa; with -nommap, too")
      ->capture_default_str()
      ->delimiter(',');
  app.add_flag("--no-torch", peers.no_torch, "without torch");
  app.add_flag("--no-llama", peers.no_llama, "without llama.cpp");
  app.add_option("--report-file", options.report_file, "write the rows as JSON");
  CLI11_PARSE(app, argc, argv);
  // Nothing that an earlier run left in the user's cache counts.
  const bench::TemporaryFolder cache;
  ::setenv("XDG_CACHE_HOME", cache.path().c_str(), 1);
  try {
    return run(options);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
