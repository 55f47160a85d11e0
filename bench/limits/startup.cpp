// What a user waits for before the first token: loading weights, the memory they take, the command's own start.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <vector>

#include "base/error.h"
#include "limits/row_groups.h"
#include "support/child.h"
#include "support/dummy_directory.h"
#include "support/model_run.h"

namespace tilewright::bench {
namespace {

std::filesystem::path this_program() { return std::filesystem::read_symlink("/proc/self/exe"); }

// Brings a file into the page cache, by reading it: what a mapping touches later is not yet mapped, but in memory.
void warm(const std::filesystem::path& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  std::vector<char> buffer(std::size_t{4} << 20);
  while (::read(file, buffer.data(), buffer.size()) > 0) {
  }
  ::close(file);
}

Json start(const std::filesystem::path& directory, int threads) {
  warm(directory / "model.safetensors");
  Child child({this_program().string(), "--threads", std::to_string(threads), "--first-token", directory.string()},
              true);
  const std::string line = child.read_line();
  if (child.wait() != 0 || line.empty())
    fail({.what = "the process that makes the first tokens failed",
          .where = directory.string(),
          .expected = "",
          .found = line,
          .fix = ""});
  return parse_json(line, "first_token");
}

void add_model(LimitsRun& run, const Program& program, const std::string& name, const std::string& shape,
               bool with_load) {
  const std::string load = fmt::format("load {}, cached, until a first token can start", name);
  const std::string resident = fmt::format("memory {}, VmRSS after tokens / weights", name);
  const std::string peak = fmt::format("memory {}, VmHWM / weights", name);
  if (!run.wants_any({load, resident, peak})) return;
  const auto directory = this_program().parent_path() / ("dummy-" + shape);
  write_dummy_directory(program.families, shape, directory);
  std::vector<Json> starts;
  start(directory, run.options().threads);
  for (int i = 0; i < 7; ++i) starts.push_back(start(directory, run.options().threads));
  std::size_t next = 0;
  const auto each = [&](auto value) { return [&, value] { return value(starts[next++ % starts.size()]); }; };
  run.record({.what = load, .unit = "s", .bar = with_load ? std::optional(1.5) : std::nullopt, .at_most = true}, 7,
             each([](const Json& j) { return j.at("load_s").get<double>(); }));
  run.record({.what = resident, .unit = "x", .bar = 1.15, .at_most = true}, 7, each([](const Json& j) {
               return j.at("vmrss_bytes").get<double>() / j.at("weight_bytes").get<double>();
             }));
  run.record({.what = peak, .unit = "x", .bar = 1.3, .at_most = true}, 7, each([](const Json& j) {
               return j.at("vmhwm_bytes").get<double>() / j.at("weight_bytes").get<double>();
             }));
}

void add_help(LimitsRun& run) {
  const std::string what = "tilewright --help";
  if (!run.wants(what)) return;
  const auto command = this_program().parent_path().parent_path() / "tilewright";
  if (!std::filesystem::exists(command))
    return run.not_run(what, "no " + command.string() + ": build the target tilewright");
  run.record({.what = what, .unit = "ms", .unit_size = 1e-3, .bar = 30, .at_most = true}, run.options().rounds, [&] {
    const double begin = target::seconds_now();
    Child child({command.string(), "--help"});
    child.read_all();
    TW_CHECK(child.wait() == 0);
    return target::seconds_now() - begin;
  });
}

}  // namespace

void add_startup_rows(LimitsRun& run) {
  const Program program;
  add_model(run, program, "0.6B (1.2 GB)", "Qwen3-0.6B", false);
  add_model(run, program, "1.7B (3.4 GB)", "Qwen3-1.7B", true);
  add_help(run);
}

}  // namespace tilewright::bench
