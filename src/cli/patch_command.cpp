#include "cli/patch_command.h"

#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "cli/command_line.h"
#include "cli/exit_code.h"
#include "cli/interrupt.h"
#include "cli/model_options.h"
#include "cli/patch_texts.h"
#include "cli/shell_quote.h"
#include "cli/usage.h"
#include "engine/program.h"
#include "hub/fetch/http_client.h"
#include "hub/patch/auto_map.h"
#include "hub/patch/patch.h"
#include "port/built_in_families.h"
#include "report/envelope.h"

namespace tilewright::cli {
namespace {

struct PatchFlags : ModelOptions {
  std::string family, source_root, output_dir, format = "text";
  std::vector<std::string> auto_map, copy;
  bool force = false, status = false, quiet = false;
};

void print_status(const PatchFlags& flags) {
  const std::vector<std::pair<const char*, bool>> others = {{"--family", !flags.family.empty()},
                                                            {"--auto-map", !flags.auto_map.empty()},
                                                            {"--copy", !flags.copy.empty()},
                                                            {"--source-root", !flags.source_root.empty()},
                                                            {"--output-dir", !flags.output_dir.empty()},
                                                            {"--force", flags.force}};
  for (const auto& [name, given] : others)
    if (given) throw WrongUsage("patch", fmt::format("--status changes nothing, so it takes no {}", name));
  const std::string model = model_directory(flags, "patch").string();
  const hub::PatchStatus status = hub::patch_status(model);
  std::fputs(
      (flags.format == "json" ? json_line(patch_status_json(status, model)) : status_text(status, model)).c_str(),
      stdout);
}

std::map<std::string, std::string> auto_map_of(const PatchFlags& flags) {
  std::map<std::string, std::string> out;
  for (const std::string& text : flags.auto_map) {
    std::pair<std::string, std::string> entry;
    try {
      entry = hub::parse_auto_map_flag(text);
    } catch (const Error& error) {
      const ErrorText& e = error.text();
      throw WrongUsage("patch", fmt::format("--auto-map {}: {}{}", text, e.what,
                                            e.expected.empty() ? "" : "; expected " + e.expected));
    }
    if (!out.insert(entry).second) throw WrongUsage("patch", "--auto-map sets " + entry.first + " twice");
  }
  return out;
}

std::map<std::string, std::string> copies_of(const PatchFlags& flags) {
  std::map<std::string, std::string> out;
  for (const std::string& text : flags.copy) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
      throw WrongUsage("patch",
                       fmt::format("--copy {}: expected DEST=SRC, such as modeling_x.py=src/modeling_x.py", text));
    const std::string destination = std::filesystem::path(text.substr(0, equals)).lexically_normal().string();
    if (!out.emplace(destination, text.substr(equals + 1)).second)
      throw WrongUsage("patch", "--copy has two files for " + destination);
  }
  return out;
}

void run(const PatchFlags& flags) {
  if (flags.status) return print_status(flags);
  hub::PatchRequest request{.family = flags.family,
                            .auto_map = auto_map_of(flags),
                            .copy = copies_of(flags),
                            .source_root = flags.source_root,
                            .output_dir = flags.output_dir,
                            .force = flags.force};
  request.model = model_directory(flags, "patch");
  const Program program;
  const std::atomic<bool>& interrupted = listen_for_interrupt();
  hub::PatchResult result;
  try {
    result = hub::patch_model(request, port::built_in_families(program.families), report::tool_version(),
                              hub::process_environment(), hub::stop_when(interrupted));
  } catch (const hub::Interrupted&) {
    fmt::print(stderr, "tilewright: interrupted; {}\n",
               hub::left_unfinished(request.model) ? "the next patch or unpatch ends what an earlier one began"
                                                   : "what was begun is taken back");
    throw ExitCode{130};
  }
  if (!flags.quiet) std::fputs(patch_text(result).c_str(), stderr);
  std::fputs((flags.format == "json" ? json_line(patch_result_json(result)) : export_line(result.path.string()) + "\n")
                 .c_str(),
             stdout);
}

}  // namespace

void add_patch_command(CLI::App& app) {
  Command command(app, "patch",
                  "Pin a model directory to code that is here: no remote code, a backup of each original");
  auto flags = std::make_shared<PatchFlags>();
  command.add_option("MODEL", flags->model, "Model directory (default: $MODEL_PATH)");
  command
      .add_option("--family", flags->family,
                  "Built-in family to pin to, also by the name of a size (default: config.json's model_type)")
      .not_empty();
  command
      .add_option("--auto-map", flags->auto_map,
                  "NAME=MODULE.CLASS: Python code of the directory that transformers shall load; may be repeated")
      .once_each();
  command.add_option("--copy", flags->copy, "DEST=SRC: put the file SRC into the model as DEST; may be repeated")
      .once_each();
  command
      .add_option("--source-root", flags->source_root,
                  "Folder that SRC of --copy counts from (default: the current one)")
      .not_empty();
  command
      .add_option("--output-dir", flags->output_dir,
                  "Leave MODEL as it is: make this folder an overlay of links in which only changed files are real")
      .not_empty();
  command.add_flag("--force", flags->force, "Replace an --output-dir that is not empty");
  command.add_flag("--status", flags->status,
                   "Only list changed and added files, and files that are not as they were pinned");
  command.add_flag("--quiet", flags->quiet, "Say nothing on stderr but errors");
  command
      .add_option("--format", flags->format, "text: one line for the shell, export MODEL_PATH=…; json: what was done")
      .one_of({"text", "json"})
      .show_default();
  command.footer(
      "eval \"$(tilewright patch MODEL)\" sets $MODEL_PATH, the default MODEL of every command.\n"
      "`tilewright unpatch` takes a patch back; an overlay is simply deleted. docs/patching.md tells what is written.\n"
      "Exit 0: patched (or it was already), or --status; 1: an error, nothing was changed; 2: wrong usage; 130: "
      "interrupted.");
  command.on_run([flags] { run(*flags); });
}

}  // namespace tilewright::cli
