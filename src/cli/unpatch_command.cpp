#include "cli/unpatch_command.h"

#include <cstdio>
#include <memory>
#include <string>

#include "cli/command_line.h"
#include "cli/exit_code.h"
#include "cli/interrupt.h"
#include "cli/model_options.h"
#include "cli/patch_texts.h"
#include "hub/patch/patch.h"

namespace tilewright::cli {
namespace {

struct UnpatchFlags : ModelOptions {
  std::string format = "text";
  bool quiet = false;
};

void run(const UnpatchFlags& flags) {
  const std::string model = model_directory(flags, "unpatch").string();
  const std::atomic<bool>& interrupted = listen_for_interrupt();  // it is short: Ctrl-C lets it come to its end
  const hub::UnpatchResult result = hub::unpatch_model(model);
  if (!flags.quiet) std::fputs(unpatch_text(result, model).c_str(), stderr);
  if (flags.format == "json") std::fputs(json_line(unpatch_result_json(result, model)).c_str(), stdout);
  if (interrupted) throw ExitCode{130};
}

}  // namespace

void add_unpatch_command(CLI::App& app) {
  Command command(app, "unpatch", "Restore a model directory as it was before `patch`");
  auto flags = std::make_shared<UnpatchFlags>();
  command.add_option("MODEL", flags->model, "Model directory (default: $MODEL_PATH)");
  command.add_flag("--quiet", flags->quiet, "Say nothing on stderr but errors");
  command.add_option("--format", flags->format, "text: nothing on stdout; json: what was done")
      .one_of({"text", "json"})
      .show_default();
  command.footer(
      "Originals come back as they were: bytes, modes, links as links. Files of yours stay; one that you changed "
      "after\n"
      "the patch is kept beside the original. Also restores what PyPTO-Gym left (*.pypto_orig, *.hf_orig).\n"
      "Exit 0: restored, or it was not patched; 1: an error; 2: wrong usage; 130: restored, and interrupted.");
  command.on_run([flags] { run(*flags); });
}

}  // namespace tilewright::cli
