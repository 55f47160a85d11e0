#include "cli/kernels_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "base/cpu.h"
#include "base/error.h"
#include "cli/command_line.h"
#include "cli/fusion_report.h"
#include "cli/kernel_cases.h"
#include "engine/program.h"
#include "engine/tune.h"
#include "measure/statistics.h"
#include "ops/core/case_runner.h"
#include "report/envelope.h"
#include "report/table.h"
#include "target/limits.h"

namespace tilewright::cli {
namespace {

struct Options {
  std::string name, cases, device = "host", report_file;
  int rounds = 15, threads = 0;
  bool store = false;
};

constexpr double kRoundSeconds = 0.004;  // of one arm at least: far above the clock's step and a round's end
constexpr int kMostRepeats = 4096;

// One way to run a case, and its times per call in seconds, one a round.
struct Arm {
  std::string name;
  const ops::Candidate* candidate = nullptr;  // null: the decomposition
  int repeats = 1;
  long launches = 0;
  std::vector<double> seconds;
};

// Counts launches and keeps the last one's cost.
struct Counter : ops::Observer {
  long launches = 0;
  runtime::Cost cost;
  void launched(const runtime::Launch& launch) override {
    ++launches;
    cost = launch.cost;
  }
};

class CaseBench {
 public:
  CaseBench(const Program& program, runtime::Device& device, const ops::OpCase& one)
      : program_(program),
        device_(device),
        op_(program.operators.get(ops::OpName(std::string_view(one.op)))),
        one_(one),
        context_(program.operators, device.default_stream()) {
    HostTensor values;
    for (std::size_t i = 0; i < one.inputs.size(); ++i)
      inputs_.push_back(one.inputs[i].name.empty() ? ops::Tensor() : ops::case_input(context_, one, i, values));
  }

  // Every arm that serves the case; refusals are noted.
  void find_arms() {
    add({.name = "decomposition"});
    const auto* candidates = op_.candidates_for(context_.kernel_family());
    for (std::size_t i = 0; candidates && i < candidates->size(); ++i) {
      const ops::Candidate& candidate = (*candidates)[i];
      const std::string reason =
          candidate.refuse ? candidate.refuse(context_, ops::OpCall{op_, inputs_, one_.attributes, {}}) : std::string();
      if (reason.empty())
        add({.name = candidate.name, .candidate = &candidate});
      else
        refusals.push_back(candidate.name + ": " + reason);
    }
  }

  // Arms take turns, each round beginning with another one.
  void measure(int rounds) {
    for (Arm& arm : arms) {
      time(arm);  // warm
      arm.repeats = static_cast<int>(std::clamp(kRoundSeconds / std::max(1e-9, time(arm)), 1.0, double(kMostRepeats)));
    }
    for (int round = 0; round < rounds; ++round)
      for (std::size_t i = 0; i < arms.size(); ++i) {
        Arm& arm = arms[(i + static_cast<std::size_t>(round)) % arms.size()];
        arm.seconds.push_back(time(arm));
      }
  }

  // The least time of the whole call on this machine; tensors that fit a cache are read from there.
  double limit_seconds(const target::MachineLimits& limits, const CpuInfo& cpu, std::string& from) const {
    const double bytes = cost_.bytes_read + cost_.bytes_written;
    double bandwidth = limits.copy_bytes;
    from = "memory";
    if (cpu.l3_bytes > 0 && bytes < 0.5 * double(cpu.l3_bytes) && limits.l3_bytes > 0) {
      bandwidth = limits.l3_bytes;
      from = "L3";
    }
    const double l2 = double(cpu.l2_bytes) * limits.threads;  // each core has its own
    if (l2 > 0 && bytes < 0.5 * l2 && limits.l2_bytes > 0) {
      bandwidth = limits.l2_bytes;
      from = "L2";
    }
    return target::limit_seconds(cost_.flops, bytes, limits.f32_flops, bandwidth);
  }

  std::vector<Arm> arms;
  std::vector<std::string> refusals;

 private:
  void add(Arm arm) {
    Counter counter;
    ops::Context watched(program_.operators, device_.default_stream(), {}, &counter);
    call_candidate(watched, op_, arm.candidate, inputs_, one_.attributes);
    device_.synchronize();
    arm.launches = counter.launches;
    if (arm.candidate && counter.launches == 1) cost_ = counter.cost;
    arms.push_back(std::move(arm));
  }

  double time(const Arm& arm) {
    device_.synchronize();
    const double start = device_.now();
    for (int i = 0; i < arm.repeats; ++i) call_candidate(context_, op_, arm.candidate, inputs_, one_.attributes);
    device_.synchronize();
    return (device_.now() - start) / arm.repeats;
  }

  const Program& program_;
  runtime::Device& device_;
  const ops::Op& op_;
  const ops::OpCase& one_;
  ops::Context context_;
  std::vector<ops::Tensor> inputs_;
  runtime::Cost cost_;
};

std::string interval(const measure::Estimate& e, double scale, const char* form) {
  if (!e.interval) return "";
  return fmt::format(fmt::runtime(form), e.interval->low * scale, e.interval->high * scale);
}

Json interval_json(const measure::Estimate& e) { return e.interval ? Json{e.interval->low, e.interval->high} : Json(); }

Json bench_case(const Program& program, runtime::Device& device, const ops::OpCase& one, const Options& options,
                const target::MachineLimits& limits) {
  CaseBench bench(program, device, one);
  bench.find_arms();
  if (bench.arms.size() < 2) {
    fmt::print("{} {} ({}): no kernel serves it\n", one.op, one.id, shape_text(one));
    for (const std::string& refusal : bench.refusals) fmt::print("  {}\n", refusal);
    return nullptr;
  }
  bench.measure(options.rounds);
  std::string from;
  const double limit = bench.limit_seconds(limits, cpu_info(), from);
  fmt::print("{} {}: {}; limit {:.2f} µs ({})\n", one.op, one.id, shape_text(one), limit * 1e6, from);
  report::Table table({{"run as"},
                       {"launches", report::Align::right},
                       {"median µs", report::Align::right},
                       {"95 %", report::Align::right},
                       {"times faster", report::Align::right},
                       {"95 %", report::Align::right},
                       {"of limit", report::Align::right}});
  Json arms = Json::array();
  for (const Arm& arm : bench.arms) {
    const measure::Estimate time = measure::estimate_median(arm.seconds);
    const measure::Estimate ratio = measure::estimate_ratio(bench.arms[0].seconds, arm.seconds);
    const bool first = arm.candidate == nullptr;
    table.add_row({arm.name, std::to_string(arm.launches), fmt::format("{:.2f}", time.value * 1e6),
                   interval(time, 1e6, "{:.2f}–{:.2f}"), first ? "" : fmt::format("{:.2f}", ratio.value),
                   first ? "" : interval(ratio, 1, "{:.2f}–{:.2f}"),
                   fmt::format("{:.0f} %", 100 * limit / time.value)});
    arms.push_back({{"name", arm.name},
                    {"launches", arm.launches},
                    {"median_s", time.value},
                    {"interval_s", interval_json(time)},
                    {"best_s", measure::lowest(arm.seconds)},
                    {"ratio", ratio.value},
                    {"ratio_interval", interval_json(ratio)},
                    {"of_limit", limit / time.value}});
  }
  std::fputs((table.text() + "\n").c_str(), stdout);
  std::fflush(stdout);
  return {{"op", one.op},     {"case", one.id}, {"shape", shape_text(one)},  {"limit_s", limit},
          {"limit_of", from}, {"arms", arms},   {"refusals", bench.refusals}};
}

// Decides about the cases as `--fuse auto` would about a model's calls.
void store_decisions(const Program& program, runtime::Device& device, const std::vector<ops::OpCase>& cases) {
  ops::Tuner tuner(ops::TuningStore(ops::user_tuning_folder(), engine::tuning_device(device)));
  ops::Context context(program.operators, device.default_stream());
  for (const ops::OpCase& one : cases) {
    ops::SeenCall seen{&program.operators.get(ops::OpName(std::string_view(one.op))), one.attributes, {}};
    HostTensor values;
    for (std::size_t i = 0; i < one.inputs.size(); ++i)
      seen.inputs.push_back(one.inputs[i].name.empty() ? ops::Tensor() : ops::case_input(context, one, i, values));
    tuner.prepare(program.operators, device.default_stream(), {&seen, 1});
  }
  std::fputs(tuning_text(&tuner).c_str(), stdout);
}

void run(const Options& options) {
  const Program program;
  const auto device = program.devices.open(options.device, {.threads = options.threads});
  if (!device->computes())
    fail({.what = "this device computes nothing that could be timed",
          .where = options.device,
          .expected = "",
          .found = "",
          .fix = "choose another --device"});
  std::vector<ops::OpCase> cases;
  if (!options.cases.empty()) cases = ops::read_case_file(program.operators, options.cases);
  std::string last;
  std::vector<std::string> wanted;
  for (const auto& registered : find_kernels(program.operators, options.name)) {
    if (registered.op == last) continue;
    last = registered.op;
    wanted.push_back(last);
    if (options.cases.empty())
      for (ops::OpCase& one : cases_of(program.operators, registered.op))
        if (one.bench) cases.push_back(std::move(one));
  }
  std::erase_if(
      cases, [&](const ops::OpCase& one) { return std::find(wanted.begin(), wanted.end(), one.op) == wanted.end(); });
  const target::MachineLimits limits = target::measure_limits(device->threads(), target::Effort::quick);
  fmt::print("{} threads, {} rounds; times per call, arms in turn; limits measured in this run\n\n", device->threads(),
             options.rounds);
  Json results = Json::array();
  for (const ops::OpCase& one : cases)
    if (Json result = bench_case(program, *device, one, options, limits); !result.is_null())
      results.push_back(std::move(result));
  if (options.store) store_decisions(program, *device, cases);
  if (!options.report_file.empty())
    report::write_report(options.report_file, {.kind = "kernels-bench",
                                               .seeds = {},
                                               .result = {{"device", options.device},
                                                          {"threads", device->threads()},
                                                          {"rounds", options.rounds},
                                                          {"limits", target::limits_to_json(limits)},
                                                          {"cases", results}}});
}

}  // namespace

void add_kernels_bench(CLI::App& kernels) {
  Command command(kernels, "bench", "Time kernels against the small ops they stand for, and the limit");
  auto options = std::make_shared<Options>();
  command.add_option("NAME", options->name, "An operator or a kernel (default: all)");
  command.add_option("--cases", options->cases, "Cases of your own, in the form of src/ops/*/cases.json");
  command.add_option("--rounds", options->rounds, "Rounds, in each of which every arm runs once")
      .range(1, 10'000)
      .show_default();
  command.add_flag("--store", options->store, "Decide about these cases for `--fuse auto`, too, and keep that");
  command.add_option("--device", options->device, "Device to run on").show_default();
  command.add_option("--threads", options->threads, "Processor threads (default: all)").range(1, 1024);
  command.add_option("--report-file", options->report_file, "Write a JSON report to this file");
  command.footer("Under six rounds there is no interval, and so no claim.");
  command.on_run([options] { run(*options); });
}

}  // namespace tilewright::cli
