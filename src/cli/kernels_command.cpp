#include "cli/kernels_command.h"

#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <set>

#include "cli/command_line.h"
#include "cli/kernel_cases.h"
#include "cli/kernels_bench.h"
#include "cli/kernels_show.h"
#include "cli/kernels_tuning.h"
#include "cli/kernels_verify.h"
#include "engine/program.h"
#include "ops/core/code_generator.h"
#include "report/envelope.h"
#include "report/table.h"

namespace tilewright::cli {
namespace {

struct Options {
  std::string format = "text";
  std::string report_file;
};

// Dtypes of the operator's cases that the kernel serves. Asked of the null device, so that nothing is compiled.
std::set<std::string> served_dtypes(ops::Context& context, const ops::Registry::RegisteredKernel& registered) {
  std::set<std::string> out;
  const ops::Op& op = context.registry().get(ops::OpName(std::string_view(registered.op)));
  const auto* candidates = op.candidates_for(context.kernel_family());
  if (!candidates) return out;
  for (const ops::OpCase& one : cases_of(context.registry(), registered.op)) {
    const std::string dtype(dtype_name(one.inputs.front().dtype));
    if (out.count(dtype)) continue;
    const std::vector<ops::Tensor> inputs = shaped_inputs(context, one);
    for (const ops::Candidate& candidate : *candidates)
      if (candidate.name == registered.kernel->name &&
          candidate.refuse(context, ops::OpCall{op, inputs, one.attributes, {}}).empty())
        out.insert(dtype);
  }
  return out;
}

Json gathered() {
  const Program program;
  const auto device = program.devices.open("null");
  ops::Context context(program.operators, device->default_stream());
  Json kernels = Json::array();
  for (const auto& registered : find_kernels(program.operators, "")) {
    const ops::TileKernel& kernel = *registered.kernel;
    kernels.push_back({{"op", registered.op},
                       {"kernel", kernel.name},
                       {"kind", kernel.kind == ops::CandidateKind::derived ? "derived" : "hand-written"},
                       {"dtypes", served_dtypes(context, registered)},
                       {"numbers", kernel.numbers},
                       {"guards", kernel.guards}});
  }
  Json devices = Json::object();
  for (const auto& [family, generator] : program.operators.code_generators()) devices[family] = generator->status();
  return {{"kernels", kernels}, {"devices", devices}};
}

// "hand-written", "derived", or a name that says more than the operator's.
std::string kernel_text(const Json& k) {
  const std::string op = k["op"], name = k["kernel"], kind = k["kind"];
  return name == op || name == op + ".derived" ? kind : name + " (" + kind + ")";
}

void print(const Json& found) {
  report::Table table({{"operator"}, {"kernel"}, {"dtypes"}, {"compiled for each"}, {"serves"}});
  for (const Json& k : found["kernels"]) {
    const auto joined = [&](const char* key) {
      return fmt::format("{}", fmt::join(k[key].get<std::vector<std::string>>(), " "));
    };
    table.add_row({k["op"], kernel_text(k), joined("dtypes"), "dtype " + joined("numbers"), k["guards"]});
  }
  std::fputs(table.text().c_str(), stdout);
  std::fputs("\n", stdout);
  report::Table devices({{"device"}, {"runs these kernels"}});
  for (const auto& [family, status] : found["devices"].items()) devices.add_row({family, status});
  std::fputs(devices.text().c_str(), stdout);
}

}  // namespace

void add_kernels_command(CLI::App& app) {
  Command command(app, "kernels", "Kernels written or derived as tile programs: list, show, verify, bench, tuning");
  auto options = std::make_shared<Options>();
  command.add_option("--format", options->format, "text or json").one_of({"text", "json"}).show_default();
  command.add_option("--report-file", options->report_file, "Write a JSON report to this file");
  add_kernels_show(command);
  add_kernels_verify(command);
  add_kernels_bench(command);
  add_kernels_tuning(command);
  command.subcommand_is_optional();
  command.footer("A derived kernel is called OPERATOR.derived. `tilewright kernels SUBCOMMAND --help` says more.");
  command.on_run([command, options] {
    if (command.has_subcommand()) return;
    const Json found = gathered();
    if (!options->report_file.empty())
      report::write_report(options->report_file, {.kind = "kernels", .seeds = {}, .result = found});
    if (options->format == "json")
      std::fputs((found.dump(2) + "\n").c_str(), stdout);
    else
      print(found);
  });
}

}  // namespace tilewright::cli
