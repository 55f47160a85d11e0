#include "peers/peers.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>

#include "base/cpu.h"
#include "base/error.h"
#include "base/json.h"
#include "support/child.h"

namespace tilewright::bench {
namespace {

std::string text_of(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

bool held_to_avx2() { return active_isa() == IsaLevel::avx2; }
bool contains(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

std::optional<Peer> llama_peer(const PeerOptions& options, const std::string& shape, const std::string& mode,
                               std::vector<Absent>& absent) {
  const std::filesystem::path directory = options.directory;
  const char* const built = held_to_avx2() ? "llama-bench-avx2" : "llama-bench";
  const std::string program = (directory / built).string(), model = (directory / (shape + "-bf16.gguf")).string(),
                    name = "llama.cpp " + mode;
  for (const std::string& needed : {program, model})
    if (!std::filesystem::exists(needed)) {
      absent.push_back(
          {name, "no " + needed, "tools/setup_peers.sh builds it (PyPI packages llama-cpp-python and gguf)"});
      return {};
    }
  std::vector<std::string> argv = {program, "-m", model, "-t",  std::to_string(options.threads),
                                   "-r",    "1",  "-o",  "json"};
  argv.insert(argv.end(), {"-fa", mode.starts_with("nofa") ? "off" : "on"});
  if (contains(mode, "-nommap")) argv.insert(argv.end(), {"-lm", "none"});
  return Peer{
      name, text_of(directory / (std::string(built) + ".flags")), [argv](const Regime& regime) {
        std::vector<std::string> all = argv;
        if (regime.decode)
          all.insert(all.end(), {"-p", "0", "-n", std::to_string(regime.tokens), "-d", std::to_string(regime.context)});
        else
          all.insert(all.end(), {"-p", std::to_string(regime.tokens), "-n", "0"});
        Child child(all);
        const std::string out = child.read_all();
        if (const int status = child.wait(); status != 0)
          fail({.what = fmt::format("llama-bench ended with status {}", status),
                .where = argv[0],
                .expected = "",
                .found = "",
                .fix = ""});
        return parse_json(out, "llama-bench").at(0).at("avg_ts").get<double>();
      }};
}

std::optional<Peer> torch_peer(const PeerOptions& options, const std::string& shape, const std::string& mode,
                               std::vector<Absent>& absent) {
  const std::string name = "torch " + mode;
  std::vector<std::string> argv = {
      options.python, options.torch_script,          "--shape", shape, "--threads", std::to_string(options.threads),
      "--mode",       mode.substr(0, mode.find('-'))};
  for (const char* cache : {"static", "dynamic"})
    if (contains(mode, cache)) argv.insert(argv.end(), {"--cache", cache});
  if (contains(mode, "f32")) argv.insert(argv.end(), {"--dtype", "float32"});
  std::shared_ptr<Child> child;
  std::string first;
  try {
    child = std::make_shared<Child>(argv);
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
  return Peer{name, ready.at("ready").get<std::string>() + ", " + ready.at("isa").get<std::string>(),
              [child, script = options.torch_script](const Regime& regime) {
                child->write_line(regime.text);
                const std::string line = child->read_line();
                const auto failed = [&](const std::string& what) {
                  fail({.what = what, .where = script, .expected = "", .found = "", .fix = ""});
                };
                if (line.empty()) failed("torch has ended");
                const Json answer = parse_json(line, script);
                if (answer.contains("error")) failed(answer["error"].get<std::string>());
                return regime.tokens / answer.at("seconds").get<double>();
              }};
}

}  // namespace

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

std::vector<Peer> find_peers(const PeerOptions& options, const std::string& shape, std::vector<Absent>& absent) {
  if (held_to_avx2()) {
    ::setenv("ATEN_CPU_CAPABILITY", "avx2", 1);  // also what inductor compiles for
    ::setenv("ONEDNN_MAX_CPU_ISA", "AVX2", 1);
    ::setenv("MKL_ENABLE_INSTRUCTIONS", "AVX2", 1);
  }
  std::vector<Peer> peers;
  const auto add = [&](std::optional<Peer> peer) {
    if (peer) peers.push_back(std::move(*peer));
  };
  if (!options.no_llama)
    for (const std::string& mode : options.llama_modes) add(llama_peer(options, shape, mode, absent));
  if (!options.no_torch)
    for (const std::string& mode : options.torch_modes) add(torch_peer(options, shape, mode, absent));
  return peers;
}

}  // namespace tilewright::bench
