#include "cli/kernels_verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>

#include "base/error.h"
#include "cli/command_line.h"
#include "cli/exit_code.h"
#include "cli/kernel_cases.h"
#include "engine/program.h"
#include "ops/core/case_runner.h"
#include "report/envelope.h"
#include "report/table.h"

namespace tilewright::cli {
namespace {

struct Options {
  std::string name, cases, device = "host", report_file;
  int random = 0, threads = 0;
  std::uint64_t seed = 1;
};

constexpr std::size_t kMostFailures = 10;  // shown for each kernel

// What one kernel did on all cases of one dtype.
struct Tally {
  std::string op, kernel, dtype;
  int ran = 0, refused = 0, failed = 0;
  double worst_error = 0, worst_ratio = 0;
  std::string worst_case, where;
  double rtol = 0, atol = 0;
  std::vector<std::string> failures, refusals;
};

class Verification {
 public:
  Verification(const Options& options, ops::Context& context) : options_(options), context_(context) {}

  // All kernels of one operator.
  void verify(const RegisteredKernels& kernels, const std::vector<ops::OpCase>& cases) {
    for (const ops::OpCase& one : cases) count_all(kernels, one, ops::run_case(context_, one));
    std::mt19937_64 random(options_.seed);
    for (int i = 0; i < options_.random && !cases.empty(); ++i) {
      ops::OpCase one = random_case(context_, cases[random() % cases.size()], random);
      one.id += fmt::format(", variation {} of seed {}", i, options_.seed);
      std::vector<ops::CaseResult> results;
      try {
        results = ops::run_case(context_, one);
      } catch (const Error&) {
        continue;  // the reference refuses values that do not fit the new shapes
      }
      count_all(kernels, one, results);
    }
  }
  const std::vector<Tally>& tallies() const { return tallies_; }

 private:
  void count_all(const RegisteredKernels& kernels, const ops::OpCase& one,
                 const std::vector<ops::CaseResult>& results) {
    for (const auto& registered : kernels)
      for (const ops::CaseResult& result : results)
        if (result.path == registered.kernel->name) count(registered, one, result);
  }

  void count(const ops::Registry::RegisteredKernel& registered, const ops::OpCase& one, const ops::CaseResult& r) {
    const std::string dtype(dtype_name(one.inputs.front().dtype));
    const auto same = [&](const Tally& t) { return t.kernel == registered.kernel->name && t.dtype == dtype; };
    auto tally = std::find_if(tallies_.begin(), tallies_.end(), same);
    if (tally == tallies_.end()) {
      tallies_.push_back({.op = registered.op, .kernel = registered.kernel->name, .dtype = dtype});
      tally = tallies_.end() - 1;
    }
    if (!r.refusal.empty()) {
      ++tally->refused;
      if (std::find(tally->refusals.begin(), tally->refusals.end(), r.refusal) == tally->refusals.end() &&
          tally->refusals.size() < kMostFailures)
        tally->refusals.push_back(r.refusal);
      return;
    }
    ++tally->ran;
    if (!r.pass) {
      ++tally->failed;
      if (tally->failures.size() < kMostFailures)
        tally->failures.push_back(fmt::format("{} ({}): {}", one.id, shape_text(one), r.reason));
    }
    if (tally->ran > 1 && r.worst_ratio <= tally->worst_ratio) return;
    tally->worst_ratio = r.worst_ratio;
    tally->worst_error = r.worst_error;
    tally->worst_case = one.id;
    tally->where = r.where;
    tally->rtol = one.rtol;
    tally->atol = one.atol;
  }

  const Options& options_;
  ops::Context& context_;
  std::vector<Tally> tallies_;
};

std::string verdict(const Tally& t) { return t.failed ? "FAIL" : t.ran ? "pass" : "refused"; }

void print(const std::vector<Tally>& tallies) {
  report::Table table({{"kernel"},
                       {"dtype"},
                       {"cases", report::Align::right},
                       {"refused", report::Align::right},
                       {"worst error", report::Align::right},
                       {"of tolerance", report::Align::right},
                       {"result"}});
  report::Table places({{"worst of"}, {"dtype"}, {"rtol, atol", report::Align::right}, {"where"}});
  bool any = false;
  for (const Tally& t : tallies) {
    table.add_row({t.kernel, t.dtype, std::to_string(t.ran), std::to_string(t.refused),
                   t.ran ? fmt::format("{:.2g}", t.worst_error) : "",
                   t.ran ? fmt::format("{:.0f} %", t.worst_ratio * 100) : "", verdict(t)});
    if (t.ran == 0 || t.where.empty()) continue;
    places.add_row({t.kernel, t.dtype, fmt::format("{:g}, {:g}", t.rtol, t.atol), t.where + " of " + t.worst_case});
    any = true;
  }
  std::fputs(table.text().c_str(), stdout);
  if (any) fmt::print("\n{}", places.text());
  std::map<std::string, std::vector<std::string>> refused;  // of kernels that served nothing, by reason
  for (const Tally& t : tallies)
    if (t.ran == 0)
      for (const std::string& refusal : t.refusals) refused[refusal].push_back(t.kernel + " " + t.dtype);
  if (!refused.empty()) {
    report::Table reasons({{"refused"}, {"why"}});
    for (const auto& [reason, kernels] : refused)
      reasons.add_row({fmt::format("{}", fmt::join(kernels, ", ")), reason});
    fmt::print("\n{}", reasons.text());
  }
  for (const Tally& t : tallies)
    for (const std::string& failure : t.failures) fmt::print("\nFAIL {}, {}\n", t.kernel, failure);
}

Json json_of(const std::vector<Tally>& tallies) {
  Json out = Json::array();
  for (const Tally& t : tallies)
    out.push_back({{"op", t.op},
                   {"kernel", t.kernel},
                   {"dtype", t.dtype},
                   {"cases", t.ran},
                   {"refused", t.refused},
                   {"refusals", t.refusals},
                   {"failed", t.failed},
                   {"failures", t.failures},
                   {"worst_error", t.worst_error},
                   {"worst_of_tolerance", t.worst_ratio},
                   {"rtol", t.rtol},
                   {"atol", t.atol},
                   {"worst_case", t.worst_case},
                   {"where", t.where},
                   {"verdict", verdict(t)}});
  return out;
}

void run(const Options& options) {
  const Program program;
  const auto device = program.devices.open(options.device, {.threads = options.threads});
  ops::Context context(program.operators, device->default_stream());
  RegisteredKernels kernels = find_kernels(program.operators, options.name);
  std::vector<ops::OpCase> given;
  if (!options.cases.empty()) {
    given = ops::read_case_file(program.operators, options.cases);
    std::erase_if(kernels, [&](const auto& k) {
      return std::none_of(given.begin(), given.end(), [&](const ops::OpCase& one) { return one.op == k.op; });
    });
    if (kernels.empty())
      fail({.what = "no case of the file is for an operator of these kernels",
            .where = options.cases,
            .expected = options.name.empty() ? "operators with a tile kernel" : options.name,
            .found = given.empty() ? "no cases" : given.front().op,
            .fix = "`tilewright kernels` lists operators and kernels"});
  }
  Verification verification(options, context);
  for (auto begin = kernels.begin(); begin != kernels.end();) {  // sorted by operator
    const auto end = std::find_if(begin, kernels.end(), [&](const auto& k) { return k.op != begin->op; });
    std::vector<ops::OpCase> cases;
    if (options.cases.empty()) cases = cases_of(program.operators, begin->op);
    for (const ops::OpCase& one : given)
      if (one.op == begin->op) cases.push_back(one);
    verification.verify(RegisteredKernels(begin, end), cases);
    begin = end;
  }
  print(verification.tallies());
  if (!options.report_file.empty())
    report::write_report(options.report_file, {.kind = "kernels-verify",
                                               .seeds = {{"random_cases", options.seed}},
                                               .result = {{"device", options.device},
                                                          {"random", options.random},
                                                          {"kernels", json_of(verification.tallies())}}});
  for (const Tally& t : verification.tallies())
    if (t.failed) throw ExitCode{1};
}

}  // namespace

void add_kernels_verify(CLI::App& kernels) {
  Command command(kernels, "verify", "Compare kernels with the reference on their operators' cases");
  auto options = std::make_shared<Options>();
  command.add_option("NAME", options->name, "An operator or a kernel (default: all)");
  command.add_option("--cases", options->cases, "Cases of your own, in the form of src/ops/*/cases.json");
  command.add_option("--random", options->random, "So many random variations of the cases for each kernel, too")
      .range(0, 1'000'000);
  command.add_option("--seed", options->seed, "Of the random variations").show_default();
  command.add_option("--device", options->device, "Device to run on").show_default();
  command.add_option("--threads", options->threads, "Processor threads (default: all)").range(1, 1024);
  command.add_option("--report-file", options->report_file, "Write a JSON report to this file");
  command.footer("Exit 0: every kernel within its tolerance on every case that it serves; 1: not.");
  command.on_run([options] { run(*options); });
}

}  // namespace tilewright::cli
