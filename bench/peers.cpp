// The engine beside its peers: the same shapes, dtype (bf16) and threads, arms interleaved round by round. A peer that
// is not installed is named with the way to get it. Weights are random and differ between arms: outputs are not
// compared here, `tilewright check` does that.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <sstream>

#include "base/cpu.h"
#include "base/error.h"
#include "base/json.h"
#include "measure/statistics.h"
#include "report/envelope.h"
#include "report/table.h"
#include "support/child.h"
#include "support/model_run.h"

namespace {

using namespace tilewright;

struct Options {
  std::vector<std::string> shapes = {"Qwen3-0.6B", "Qwen3-1.7B"};
  std::vector<std::string> regimes = {"prefill 16", "prefill 128", "prefill 512", "decode 128 64"};
  std::string peers_directory = "build/peers", torch_script = "bench/peers/torch_peer.py", python = "python3";
  std::string device = "host", report_file;
  int threads = 2, rounds = 10;
  bool torch_compile = false, torch_f32 = false, no_torch = false, no_llama = false;
};

struct Regime {
  std::string text;
  bool decode = false;
  int tokens = 0, context = 0;
};
Regime parse_regime(const std::string& text) {
  std::istringstream words(text);
  std::string kind;
  Regime regime{.text = text};
  words >> kind >> regime.tokens;
  regime.decode = kind == "decode";
  if ((kind != "decode" && kind != "prefill") || regime.tokens < 1 || (regime.decode && !(words >> regime.context)))
    fail({.what = "not a regime",
          .where = text,
          .expected = "\"prefill TOKENS\" or \"decode TOKENS CONTEXT\"",
          .found = "",
          .fix = ""});
  return regime;
}

// One thing that runs a shape. Returns tokens per second; throws Error if it cannot.
struct Arm {
  std::string name, about;
  std::function<double(const Regime&)> rate;
};
struct Absent {
  std::string name, reason, how;
};

std::string text_of(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

Arm engine_arm(const Program& program, const Options& options, const std::string& shape, std::int64_t max_len) {
  const auto run = std::make_shared<bench::ModelRun>(program, options.device, options.threads, shape, max_len);
  return {"tilewright",
          fmt::format("eager, {}, {} threads, {}", options.device, options.threads, isa_name(active_isa())),
          [run](const Regime& regime) {
            return regime.tokens / (regime.decode ? run->decode_seconds(regime.tokens, regime.context)
                                                  : run->prefill_seconds(regime.tokens));
          }};
}

std::optional<Arm> llama_arm(const Options& options, const std::string& shape, std::vector<Absent>& absent) {
  const std::filesystem::path directory = options.peers_directory;
  const std::string program = (directory / "llama-bench").string(),
                    model = (directory / (shape + "-bf16.gguf")).string();
  for (const std::string& needed : {program, model})
    if (!std::filesystem::exists(needed)) {
      absent.push_back(
          {"llama.cpp", "no " + needed, "tools/setup_peers.sh builds it (PyPI packages llama-cpp-python and gguf)"});
      return {};
    }
  return Arm{
      "llama.cpp", text_of(directory / "llama-bench.flags"), [=, threads = options.threads](const Regime& regime) {
        std::vector<std::string> argv = {program, "-m", model, "-t", std::to_string(threads), "-r", "1", "-o", "json"};
        const auto add = [&](std::initializer_list<std::string> more) { argv.insert(argv.end(), more); };
        if (regime.decode)
          add({"-p", "0", "-n", std::to_string(regime.tokens), "-d", std::to_string(regime.context)});
        else
          add({"-p", std::to_string(regime.tokens), "-n", "0"});
        bench::Child child(argv);
        const std::string out = child.read_all();
        if (const int status = child.wait(); status != 0)
          fail({.what = fmt::format("llama-bench ended with status {}", status),
                .where = program,
                .expected = "",
                .found = "",
                .fix = ""});
        return parse_json(out, "llama-bench").at(0).at("avg_ts").get<double>();
      }};
}

std::optional<Arm> torch_arm(const Options& options, const std::string& shape, const std::string& name,
                             const std::vector<std::string>& more, std::vector<Absent>& absent) {
  std::vector<std::string> argv = {options.python, options.torch_script, "--shape",
                                   shape,          "--threads",          std::to_string(options.threads)};
  argv.insert(argv.end(), more.begin(), more.end());
  std::shared_ptr<bench::Child> child;
  std::string first;
  try {
    child = std::make_shared<bench::Child>(argv);
    first = child->read_line();
  } catch (const Error& error) {
    first.clear();
  }
  if (first.empty()) {
    absent.push_back(
        {name, options.python + " cannot run it",
         "install the PyPI packages torch (a CPU build) and transformers in a virtual environment and give --python"});
    return {};
  }
  const Json ready = parse_json(first, options.torch_script);
  return Arm{name, ready.at("ready").get<std::string>() + ", " + ready.at("isa").get<std::string>(),
             [child](const Regime& regime) {
               child->write_line(regime.text);
               const std::string line = child->read_line();
               if (line.empty())
                 fail({.what = "torch has ended", .where = "torch_peer.py", .expected = "", .found = "", .fix = ""});
               const Json answer = parse_json(line, "torch_peer.py");
               if (answer.contains("error"))
                 fail({.what = answer["error"].get<std::string>(),
                       .where = "torch_peer.py",
                       .expected = "",
                       .found = "",
                       .fix = ""});
               return regime.tokens / answer.at("seconds").get<double>();
             }};
}

std::string interval_text(const measure::Estimate& e) {
  return e.interval ? fmt::format("{:.2f} [{:.2f} .. {:.2f}]", e.value, e.low(), e.high())
                    : fmt::format("{:.2f} [no claim]", e.value);
}

Json run_regime(const std::string& shape, const Regime& regime, const std::vector<Arm>& arms, int rounds,
                report::Table& table) {
  std::vector<std::vector<double>> rates(arms.size());
  std::vector<std::string> failures(arms.size());
  const auto sample = [&](std::size_t arm) {
    if (!failures[arm].empty()) return 0.0;
    try {
      return arms[arm].rate(regime);
    } catch (const std::exception& error) {
      failures[arm] = error.what();
      return 0.0;
    }
  };
  for (std::size_t arm = 0; arm < arms.size(); ++arm) sample(arm);  // warm-up
  for (int round = 0; round < rounds; ++round)
    for (std::size_t i = 0; i < arms.size(); ++i) {
      const std::size_t arm =
          (i + static_cast<std::size_t>(round)) % arms.size();  // nobody always runs behind the same one
      rates[arm].push_back(sample(arm));
    }
  Json rows = Json::array();
  for (std::size_t arm = 0; arm < arms.size(); ++arm) {
    Json row = {{"shape", shape}, {"regime", regime.text}, {"arm", arms[arm].name}};
    if (!failures[arm].empty()) {
      table.add_row({shape, regime.text, arms[arm].name, "failed", ""});
      row["failed"] = failures[arm];
      fmt::print(stderr, "{} {} {}: {}\n", shape, regime.text, arms[arm].name, failures[arm]);
    } else {
      const measure::Estimate rate = measure::estimate_median(rates[arm]);
      row["tok_s"] = rate.value;
      row["best_tok_s"] = measure::highest(rates[arm]);
      row["low"] = rate.low();
      row["high"] = rate.high();
      std::string ratio_text;
      if (arm > 0 && failures[0].empty()) {
        const measure::Estimate ratio = measure::estimate_ratio(rates[0], rates[arm]);
        row["ratio"] = {{"value", ratio.value},
                        {"low", ratio.low()},
                        {"high", ratio.high()},
                        {"rounds", rounds},
                        {"interval", ratio.interval.has_value()}};
        ratio_text = interval_text(ratio);
      }
      table.add_row({shape, regime.text, arms[arm].name,
                     fmt::format("{:.1f} [{:.1f} .. {:.1f}]", rate.value, rate.low(), rate.high()), ratio_text});
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

int run(const Options& options) {
  const Program program;
  std::vector<Regime> regimes;
  std::int64_t max_len = 1;
  for (const std::string& text : options.regimes) {
    regimes.push_back(parse_regime(text));
    max_len = std::max<std::int64_t>(max_len, regimes.back().tokens + regimes.back().context);
  }
  const CpuInfo cpu = cpu_info();
  fmt::print("{}, {} ({} here at best), {} threads, bf16, {} rounds, tokens per second: median and 95 % interval\n",
             cpu.model, isa_name(active_isa()), isa_name(detected_isa()), options.threads, options.rounds);
  std::fflush(stdout);
  std::vector<Absent> absent;
  Json rows = Json::array(), about = Json::object();
  using report::Align;
  report::Table table({{"shape"}, {"regime"}, {"arm"}, {"tok/s", Align::right}, {"tilewright / it", Align::right}});
  for (const std::string& shape : options.shapes) {
    absent.clear();
    std::vector<Arm> arms = {engine_arm(program, options, shape, max_len)};
    const auto add = [&](std::optional<Arm> arm) {
      if (arm) arms.push_back(std::move(*arm));
    };
    if (!options.no_llama) add(llama_arm(options, shape, absent));
    if (!options.no_torch) add(torch_arm(options, shape, "torch", {}, absent));
    if (options.torch_f32) add(torch_arm(options, shape, "torch f32", {"--dtype", "float32"}, absent));
    if (options.torch_compile) add(torch_arm(options, shape, "torch.compile", {"--compile"}, absent));
    for (const Arm& arm : arms) about[arm.name] = arm.about;
    for (const Regime& regime : regimes)
      for (Json& row : run_regime(shape, regime, arms, options.rounds, table)) rows.push_back(std::move(row));
  }
  fmt::print("{}", table.text(120));
  for (const auto& [name, text] : about.items()) fmt::print("{}: {}\n", name, text.get<std::string>());
  Json absent_json = Json::array();
  for (const Absent& a : absent) {
    fmt::print("{} is not measured: {}. {}\n", a.name, a.reason, a.how);
    absent_json.push_back({{"name", a.name}, {"reason", a.reason}, {"how", a.how}});
  }
  if (!options.report_file.empty())
    report::write_report(options.report_file, {.kind = "peers",
                                               .result = {{"threads", options.threads},
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
  CLI::App app("The engine beside its peers");
  app.add_option("--shapes", options.shapes, "published shapes")->capture_default_str()->delimiter(',');
  app.add_option("--regimes", options.regimes, "\"prefill TOKENS\" or \"decode TOKENS CONTEXT\"")
      ->capture_default_str()
      ->delimiter(',');
  app.add_option("--rounds", options.rounds, "rounds; under 6 nothing is claimed")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  app.add_option("--threads", options.threads, "threads of every arm")
      ->capture_default_str()
      ->check(CLI::Range(1, 1024));
  app.add_option("--device", options.device, "the engine's device")->capture_default_str();
  app.add_option("--peers", options.peers_directory, "what tools/setup_peers.sh built")->capture_default_str();
  app.add_option("--python", options.python, "python with torch and transformers")
      ->envname("PYTHON")
      ->capture_default_str();
  app.add_option("--torch-script", options.torch_script, "torch's driver")->capture_default_str();
  app.add_flag("--torch-compile", options.torch_compile, "torch.compile, too (30 s a shape)");
  app.add_flag("--torch-f32", options.torch_f32, "torch in f32, too");
  app.add_flag("--no-torch", options.no_torch, "without torch");
  app.add_flag("--no-llama", options.no_llama, "without llama.cpp");
  app.add_option("--report-file", options.report_file, "write the rows as JSON");
  CLI11_PARSE(app, argc, argv);
  try {
    return run(options);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
