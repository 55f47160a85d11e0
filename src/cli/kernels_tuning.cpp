#include "cli/kernels_tuning.h"

#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "cli/command_line.h"
#include "engine/program.h"
#include "engine/tune.h"
#include "report/envelope.h"
#include "report/table.h"

namespace tilewright::cli {
namespace {

struct Options {
  std::string device = "host", format = "text", report_file;
  int threads = 0;
};

// "qk_norm_rope": the first word of a key.
std::string op_of(const ops::Decision& d) { return d.key.substr(0, d.key.find(' ')); }
// The rest, without the list of candidates.
std::string call_of(const ops::Decision& d) {
  const std::size_t begin = std::min(d.key.find(' '), d.key.size()), end = std::min(d.key.find(" |"), d.key.size());
  return begin < end ? d.key.substr(begin + 1, end - begin - 1) : std::string();
}

std::string gain_text(const ops::DecidedArm& arm) {
  if (arm.name == ops::kDecomposition) return "";
  return arm.gain.interval ? fmt::format("{:.2f} ({:.2f}–{:.2f})", arm.gain.median, arm.gain.low, arm.gain.high)
                           : fmt::format("{:.2f}", arm.gain.median);
}

void print(const ops::TuningStore& store) {
  const ops::TuningDevice& device = store.device();
  fmt::print("{}, {}, {}, {} thread{}\n{}\n\n", device.device, device.processor, device.level, device.threads,
             device.threads == 1 ? "" : "s", store.file().string());
  if (store.decisions().empty()) {
    fmt::print("Nothing is decided yet: `tilewright ask MODEL --prompt … --fuse auto` measures what it needs.\n");
    return;
  }
  for (const ops::Decision& d : store.decisions()) {
    fmt::print("{} {}\n", op_of(d), call_of(d));
    report::Table table({{"run as"},
                         {"median µs", report::Align::right},
                         {"times faster (95 %)", report::Align::right},
                         {fmt::format("{} rounds", d.rounds)}});
    for (const ops::DecidedArm& arm : d.arms)
      table.add_row(
          {arm.name, fmt::format("{:.2f}", arm.seconds * 1e6), gain_text(arm), arm.name == d.choice ? "chosen" : ""});
    std::fputs((table.text() + "\n").c_str(), stdout);
  }
  fmt::print(
      "~n: extents of one class, 1, 2 to 4, 5 to 16, then powers of two; c, s, x: contiguous, unit columns, "
      "other.\n");
}

void run(const Options& options) {
  const Program program;
  const auto device = program.devices.open(options.device, {.threads = options.threads});
  const ops::TuningStore store(ops::user_tuning_folder(), engine::tuning_device(*device));
  Json decisions = Json::array();
  for (const ops::Decision& d : store.decisions()) decisions.push_back(ops::decision_to_json(d));
  const Json found{{"file", store.file().string()}, {"device", ops::to_json(store.device())}, {"decisions", decisions}};
  if (!options.report_file.empty())
    report::write_report(options.report_file, {.kind = "kernels-tuning", .seeds = {}, .result = found});
  if (options.format == "json")
    std::fputs((found.dump(2) + "\n").c_str(), stdout);
  else
    print(store);
}

}  // namespace

void add_kernels_tuning(CLI::App& kernels) {
  Command command(kernels, "tuning", "What `--fuse auto` decided on this device, with the figures");
  auto options = std::make_shared<Options>();
  command.add_option("--device", options->device, "Device that was run on").show_default();
  command.add_option("--threads", options->threads, "Processor threads (default: all)").range(1, 1024);
  command.add_option("--format", options->format, "text or json").one_of({"text", "json"}).show_default();
  command.add_option("--report-file", options->report_file, "Write a JSON report to this file");
  command.footer(
      "Decisions are kept for each device, instruction set, number of threads and version. Deleting the file\n"
      "that is named here lets them be measured anew.");
  command.on_run([options] { run(*options); });
}

}  // namespace tilewright::cli
