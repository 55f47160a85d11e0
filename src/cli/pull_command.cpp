#include "cli/pull_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "base/json.h"
#include "base/number_text.h"
#include "base/terminal_text.h"
#include "cli/command_line.h"
#include "cli/exit_code.h"
#include "cli/interrupt.h"
#include "cli/shell_quote.h"
#include "cli/usage.h"
#include "hub/fetch/names.h"
#include "hub/fetch/pull.h"
#include "port/model_name.h"
#include "port/pull_progress.h"
#include "report/table.h"

namespace tilewright::cli {
namespace {

constexpr int kColumns = 100, kMostWorkers = 256;

struct Options {
  std::string model, output_dir, revision, token, format = "text";
  std::vector<std::string> allow, ignore;
  int workers = 8;
  bool dry_run = false, force = false, quiet = false;
};

std::string quoted(const std::string& text) { return "\"" + one_line(text) + "\""; }

hub::PullRequest request_of(const Options& options) {
  const port::ModelId name = port::model_id(options.model);
  const std::string& id = name.id;
  if (!hub::is_repository_id(id)) {
    if (id.find("://") != std::string::npos)
      throw WrongUsage("pull", quoted(id) + " is an address; name the repository alone, ORG/NAME");
    const bool path = id.starts_with("/") || id.starts_with(".") || id.starts_with("~") || id.ends_with("/") ||
                      std::count(id.begin(), id.end(), '/') > 1;
    throw WrongUsage("pull",
                     path ? quoted(id) +
                                " looks like a local path; pull takes a repository of the hub, ORG/NAME, and "
                                "what is here already needs none"
                          : quoted(id) + " is no repository of the hub, expected ORG/NAME, such as Qwen/Qwen3-1.7B");
  }
  if (!name.revision.empty() && !options.revision.empty() && name.revision != options.revision)
    throw WrongUsage("pull", "two revisions: " + quoted(name.revision) + " and --revision " + quoted(options.revision));
  hub::PullRequest out;
  out.id = id;
  if (!name.revision.empty()) out.revision = name.revision;
  if (!options.revision.empty()) out.revision = options.revision;
  out.allow = options.allow;
  out.ignore = options.ignore;
  out.output_dir = options.output_dir;
  out.workers = options.workers;
  out.dry_run = options.dry_run;
  out.force = options.force;
  return out;
}

Json result_json(const hub::PullRequest& request, const hub::PullResult& result) {
  Json files = Json::array();
  for (const hub::PulledFile& each : result.files)
    files.push_back({{"path", each.file.path},
                     {"size", each.file.size},
                     {"hash", each.file.etag()},
                     {"status", std::string(hub::pulled_status_name(each.status))},
                     {"received", each.received}});
  return {{"id", request.id},
          {"revision", request.revision},
          {"commit", result.commit},
          {"path", result.path.string()},
          {"from_disk", result.from_disk},
          {"dry_run", request.dry_run},
          {"files", std::move(files)}};
}

// Long names go on in the next row.
void add_file(report::Table& table, const hub::PulledFile& each) {
  constexpr int kNameCells = 72;
  std::string rest = one_line(each.file.path);
  std::string size = bytes_text(static_cast<double>(each.file.size));
  std::string status(hub::pulled_status_name(each.status));
  do {
    const std::string part = cut_to_width(rest, kNameCells);
    table.add_row({part, std::move(size), std::move(status)});
    size = status = "";
    rest.erase(0, part.size());
  } while (!rest.empty());
}

std::string dry_run_text(const hub::PullRequest& request, const hub::PullResult& result) {
  report::Table table({{"file"}, {"size", report::Align::right}, {"state"}});
  double bytes = 0, to_fetch = 0;
  std::size_t count = 0;
  for (const hub::PulledFile& each : result.files) {
    add_file(table, each);
    const auto size = static_cast<double>(each.file.size);
    bytes += size;
    if (each.status != hub::PulledFile::Status::to_fetch) continue;
    to_fetch += size;
    ++count;
  }
  const std::size_t here = result.files.size() - count;
  return table.text(kColumns) + fmt::format("\n{} file{}, {}: {} here ({}), {} to fetch ({})\n{} at {}\n",
                                            result.files.size(), result.files.size() == 1 ? "" : "s", bytes_text(bytes),
                                            here, bytes_text(bytes - to_fetch), count, bytes_text(to_fetch), request.id,
                                            result.commit.empty() ? request.revision : "commit " + result.commit);
}

std::string output_of(const Options& options, const hub::PullRequest& request, const hub::PullResult& result) {
  if (options.format == "json")
    return result_json(request, result).dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  return options.dry_run ? dry_run_text(request, result) : export_line(result.path.string()) + "\n";
}

void run(const Options& options) {
  const hub::PullRequest request = request_of(options);
  std::optional<std::string> token;
  if (!options.token.empty()) token = hub::usable_token(options.token, "--token");
  const hub::HubSettings settings = hub::hub_settings(hub::process_environment(), token);
  const std::atomic<bool>& interrupted = listen_for_interrupt();
  std::string out;
  try {
    port::PullProgress progress("pull " + request.id,
                                Progress::on_stderr(options.quiet || options.dry_run || !settings.progress));
    const hub::PullResult result = hub::pull(settings, request, progress, {.interrupted = &interrupted});
    progress.end(port::pull_outcome(result));
    out = output_of(options, request, result);
  } catch (const hub::Interrupted&) {
    fmt::print(stderr, "tilewright: interrupted{}\n",
               options.dry_run ? "" : "; the same command goes on from what is here now");
    throw ExitCode{130};
  }
  std::fwrite(out.data(), 1, out.size(), stdout);
}

}  // namespace

void add_pull_command(CLI::App& app) {
  Command command(app, "pull",
                  "Fetch a model from the hub; stdout is one line for the shell: eval \"$(tilewright pull ORG/NAME)\"");
  auto options = std::make_shared<Options>();
  command.add_option("ORG/NAME", options->model, "Repository of the hub; ORG/NAME@REVISION is understood, too")
      .not_empty()
      .required();
  command
      .add_option("--output-dir", options->output_dir,
                  "Plain directory for the files (default: the cache that all tools share, $HF_HUB_CACHE)")
      .not_empty();
  command.add_option("--revision", options->revision, "Branch, tag or commit (default: main)").not_empty();
  command
      .add_option("--token", options->token,
                  "Access token; others may see it in the list of processes: better set HF_TOKEN")
      .not_empty();
  command
      .add_option("--allow-pattern", options->allow,
                  "Only files whose names match, such as '*.json' (* crosses folders); may be repeated")
      .not_empty()
      .once_each();
  command.add_option("--ignore-pattern", options->ignore, "No files whose names match; may be repeated")
      .not_empty()
      .once_each();
  command.add_option("--max-workers", options->workers, "Files at once").range(1, kMostWorkers).show_default();
  command.add_flag("--dry-run", options->dry_run, "List names, sizes and what is here; write nothing");
  command.add_flag("--force", options->force, "Fetch files again that are here; patched ones stay");
  command.add_option("--format", options->format, "What goes to stdout: the line for the shell, or JSON")
      .one_of({"text", "json"})
      .show_default();
  command.add_flag("--quiet", options->quiet, "No progress on stderr; warnings stay");
  command.footer(
      "Every file is checked (SHA-256 or git's SHA-1) while it comes. A pull that was ended goes on where it was.\n"
      "Variables: HF_ENDPOINT, HF_TOKEN, HF_HOME, HF_HUB_CACHE, HF_HUB_OFFLINE and others, see docs/pulling.md.\n"
      "Exit 0: all that was asked for is here and right; 1: an error; 2: wrong usage; 130: interrupted.");
  command.on_run([options] { run(*options); });
}

}  // namespace tilewright::cli
