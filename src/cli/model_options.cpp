#include "cli/model_options.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>

#include "base/error.h"
#include "base/progress.h"
#include "cli/command_line.h"
#include "cli/usage.h"
#include "port/resolve_model.h"

namespace tilewright::cli {
namespace {

constexpr int kMostThreads = 1024;

std::function<void(std::uint64_t, std::uint64_t)> loading_progress() {
  if (!isatty(STDERR_FILENO)) return {};
  auto progress = std::make_shared<Progress>(Progress::on_stderr(false));
  progress->begin("loading");
  return [progress](std::uint64_t done, std::uint64_t total) {
    progress->update(done, total);
    if (done >= total) progress->hide();
  };
}

}  // namespace

void add_model_options(CLI::App& parser, ModelOptions& options, bool with_dummy) {
  Command command(parser);
  command.add_option(
      "MODEL", options.model,
      "Model directory (config.json, *.safetensors …), or ORG/NAME that was pulled (default: $MODEL_PATH)");
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

ModelName model_name_of(const ModelOptions& options, const std::string& command) {
  if (!options.model.empty()) return {options.model, "MODEL"};
  const char* from_environment = std::getenv("MODEL_PATH");
  if (!from_environment || !*from_environment) throw WrongUsage(command, "name a MODEL directory, or set MODEL_PATH");
  return {from_environment, "MODEL_PATH"};
}

std::filesystem::path model_directory(const ModelOptions& options, const std::string& command) {
  const ModelName name = model_name_of(options, command);
  return port::resolve_model(name.name, name.from);
}

std::string model_or_file(const std::string& name) {
  // "folder/tokenizer.json" that is not there is a file all the same.
  const bool file = name.ends_with(".json") || name.ends_with(".jinja");
  return !file && port::names_repository(name) ? port::resolve_model(name, "MODEL").string() : name;
}

void require_folder_of(const std::filesystem::path& file, const std::string& flag) {
  std::error_code error;
  const std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
  const bool is_folder = std::filesystem::is_directory(file, error);
  if (!is_folder && std::filesystem::is_directory(folder, error)) return;
  fail({.what = "the report cannot be written there",
        .where = file.string(),
        .expected = flag + ": a file in a folder that exists",
        .found = is_folder ? "a folder" : "no such folder",
        .fix = ""});
}

engine::SessionOptions session_options_but_model(const ModelOptions& options, const std::string& command) {
  engine::SessionOptions out;
  if (options.dummy()) {
    if (options.shape.empty()) throw WrongUsage(command, "--weights dummy needs --shape NAME");
    if (!options.model.empty()) throw WrongUsage(command, "--weights dummy takes no MODEL, but --shape");
    out.dummy_shape = options.shape;
  } else if (!options.shape.empty()) {
    throw WrongUsage(command, "--shape needs --weights dummy");
  }
  if (!options.report_file.empty()) require_folder_of(options.report_file, "--report-file");
  if (options.dtype != "auto") out.load.dtype = dtype_from_name(options.dtype);
  out.load.layers = options.layers;
  out.device = options.device;
  out.device_options.threads = options.threads;
  out.fuse = options.fuse;
  out.fuse_file = options.fuse_file;
  return out;
}

engine::SessionOptions session_options(const ModelOptions& options, const std::string& command) {
  engine::SessionOptions out = session_options_but_model(options, command);
  if (!options.dummy()) {
    out.model = model_directory(options, command);
    out.name = port::model_name(out.model);
  }
  out.load.progress = loading_progress();
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
