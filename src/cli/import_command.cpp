#include "cli/import_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string>

#include "cli/command_line.h"
#include "hub/gguf/import_gguf.h"

namespace tilewright::cli {
namespace {

struct Options {
  std::string file, output_dir, dtype;
  bool force = false;
};

void run(const Options& options) {
  hub::GgufImport request{.file = options.file, .output_dir = options.output_dir, .force = options.force};
  if (!options.dtype.empty()) request.dtype = dtype_from_name(options.dtype);
  const bool terminal = ::isatty(STDERR_FILENO) == 1;
  int shown = -1;
  if (terminal)
    request.progress = [&](std::uint64_t done, std::uint64_t total) {
      const int percent = static_cast<int>(static_cast<double>(done) * 100 / static_cast<double>(total));
      if (percent == shown) return;
      shown = percent;
      fmt::print(stderr, "\rwriting weights: {:3}% of {:.0f} MB", percent, static_cast<double>(total) / 1e6);
      std::fflush(stderr);
    };
  try {
    hub::import_gguf(request);
  } catch (...) {
    if (shown >= 0) std::fputs("\n", stderr);
    throw;
  }
  if (shown >= 0) std::fputs("\n", stderr);
  fmt::print("{}\n", options.output_dir);
}

}  // namespace

void add_import_command(CLI::App& app) {
  auto options = std::make_shared<Options>();
  Command command(app, "import", "Write a GGUF file as a Hugging Face model directory");
  command.add_option("file", options->file, "the GGUF file").required();
  command.add_option("--output-dir", options->output_dir, "the directory to write; must be empty or absent")
      .required()
      .not_empty();
  command
      .add_option("--dtype", options->dtype,
                  "dtype of the weights (default: the file's float type, f32 if it is quantised)")
      .one_of({"f32", "f16", "bf16"});
  command.add_flag("--force", options->force, "replace the model in a directory that is not empty");
  command.on_run([options] { run(*options); });
}

}  // namespace tilewright::cli
