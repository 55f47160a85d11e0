#include "cli/model_options.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "base/error.h"
#include "cli/command_line.h"
#include "cli/usage.h"

namespace tilewright::cli {
namespace {

constexpr int kMostThreads = 1024;

// At most ten lines a second would be too few for a second's load: a line per percent that is overwritten.
std::function<void(std::uint64_t, std::uint64_t)> loading_progress() {
  if (!isatty(STDERR_FILENO)) return {};
  return [shown = -1](std::uint64_t done, std::uint64_t total) mutable {
    const int percent = total ? static_cast<int>(100 * done / total) : 100;
    if (percent == shown) return;
    shown = percent;
    std::fprintf(stderr, "\rloading %3d %%%s", percent, percent == 100 ? "\r\033[K" : "");
    std::fflush(stderr);
  };
}

// Better known before minutes of work than after them.
void require_report_folder(const std::filesystem::path& file) {
  std::error_code error;
  const std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
  const bool is_folder = std::filesystem::is_directory(file, error);
  if (!is_folder && std::filesystem::is_directory(folder, error)) return;
  fail({.what = "the report cannot be written there",
        .where = file.string(),
        .expected = "--report-file: a file in a folder that exists",
        .found = is_folder ? "a folder" : "no such folder",
        .fix = ""});
}

}  // namespace

void add_model_options(CLI::App& parser, ModelOptions& options, bool with_dummy) {
  Command command(parser);
  command.add_option("MODEL", options.model, "Model directory: config.json, *.safetensors … (default: $MODEL_PATH)");
  command.add_option("--device", options.device, "Device to run on; `tilewright doctor` lists them").show_default();
  command.add_option("--dtype", options.dtype, "Compute dtype").one_of({"auto", "f32", "f16", "bf16"}).show_default();
  command.add_option("--threads", options.threads, "Processor threads, the caller counted (default: all)")
      .range(1, kMostThreads);
  command
      .add_option(
          "--fuse", options.fuse,
          "Composite operators that may run a fused kernel: none, all or names, comma separated; auto: what was "
          "measured to be faster here, measured now if it never was; found: chains that `tilewright fuse` found in "
          "this model")
      .show_default();
  command.add_option("--fuse-file", options.fuse_file, "Chains of a file that `tilewright fuse --save` wrote");
  command.add_option("--report-file", options.report_file, "Write a JSON report to this file");
  if (!with_dummy) return;
  command.add_option("--weights", options.weights, "Where weights come from: the model's files, or seeded random ones")
      .one_of({"file", "dummy"})
      .show_default();
  command.add_option("--shape", options.shape, "Published shape for --weights dummy, such as Qwen3-1.7B");
  command.add_option("--layers", options.layers, "Only the first so many layers");
}

std::filesystem::path model_directory(const ModelOptions& options, const std::string& command) {
  std::string name = options.model;
  std::string where = "MODEL";
  if (name.empty()) {
    const char* from_environment = std::getenv("MODEL_PATH");
    if (!from_environment || !*from_environment) throw WrongUsage(command, "name a MODEL directory, or set MODEL_PATH");
    name = from_environment;
    where = "MODEL_PATH";
  }
  const std::filesystem::path path(name);
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (error || !std::filesystem::is_directory(status))
    fail({.what = std::filesystem::exists(status) ? "this is not a directory" : "no such directory",
          .where = name,
          .expected = where + ": a directory with config.json and *.safetensors",
          .found = "",
          .fix = ""});
  if (access(path.c_str(), R_OK | X_OK) != 0)
    fail({.what = "the directory cannot be read",
          .where = name,
          .expected = "",
          .found = "",
          .fix = "check its permissions"});
  return path;
}

engine::SessionOptions session_options(const ModelOptions& options, const std::string& command) {
  engine::SessionOptions out;
  if (options.dummy()) {
    if (options.shape.empty()) throw WrongUsage(command, "--weights dummy needs --shape NAME");
    if (!options.model.empty()) throw WrongUsage(command, "--weights dummy takes no MODEL, but --shape");
    out.dummy_shape = options.shape;
  } else {
    if (!options.shape.empty()) throw WrongUsage(command, "--shape needs --weights dummy");
    out.model = model_directory(options, command);
  }
  if (!options.report_file.empty()) require_report_folder(options.report_file);
  if (options.dtype != "auto") out.load.dtype = dtype_from_name(options.dtype);
  out.load.layers = options.layers;
  out.load.progress = loading_progress();
  out.device = options.device;
  out.device_options.threads = options.threads;
  out.fuse = options.fuse;
  out.fuse_file = options.fuse_file;
  return out;
}

Json chains_json(const engine::Session& session) {
  if (!session.chains()) return nullptr;
  const opgraph::ChainRewriter::Counts& counts = session.chains()->counts();
  Json unchanged = Json::array();
  for (const auto& [reason, count] : counts.unchanged) unchanged.push_back({{"reason", reason}, {"count", count}});
  return {{"fused", counts.fused},
          {"launches_dropped", counts.dropped},
          {"remade", counts.remade},
          {"unchanged", std::move(unchanged)}};
}

}  // namespace tilewright::cli
