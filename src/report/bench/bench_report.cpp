#include "report/bench/bench_report.h"

#include <algorithm>
#include <array>

#include "report/bench/report_reader.h"
#include "report/envelope.h"

namespace tilewright::report {
namespace {

NearTie near_tie(const ReportReader& r) { return {r.integer("position").value_or(0), r.number("gap").value_or(0)}; }

Equality equality(const ReportReader& r) {
  return {.bound = r.number("bound"),
          .worst = r.number("worst"),
          .worst_position = r.integer("worst_position"),
          .bound_source = r.text("bound_source"),
          .bitwise = r.flag("bitwise"),
          .tokens_compared = r.integer("tokens_compared"),
          .tokens_equal = r.integer("tokens_equal"),
          .verdict = r.text("verdict"),
          .near_tie = r.optional("near_tie", near_tie)};
}

Ratio ratio(const ReportReader& r) {
  return {.against = r.text("against"),
          .value = r.needed_number("value"),
          .low = r.number("low"),
          .high = r.number("high"),
          .claimed = r.flag("claimed").value_or(false),
          .best_of = r.number("best_of")};
}

Latency latency(const ReportReader& r) {
  return {r.number("ttft_s"), r.number("tpot_s"), r.number("p50_s"), r.number("p90_s"), r.number("p99_s")};
}

OneTimeCosts once(const ReportReader& r) {
  return {.load_s = r.number("load_s"),
          .compile_s = r.number("compile_s"),
          .tune_s = r.number("tune_s"),
          .capture_s = r.number("capture_s"),
          .instantiate_s = r.number("instantiate_s"),
          .graphs = r.integer("graphs")};
}

ArmMemory memory(const ReportReader& r) {
  return {r.number("allocated"), r.number("peak"), r.number("reserved"), r.flag("reserved_grew")};
}

Split split(const ReportReader& r) {
  return {.kernels_s = r.number("kernels_s"),
          .submission_s = r.number("submission_s"),
          .bubbles_s = r.number("bubbles_s"),
          .compile_s = r.number("compile_s"),
          .trace_slowdown = r.number("trace_slowdown")};
}

OpTime op_time(const ReportReader& r) {
  return {r.text("op"), r.text("class"), r.integer("launches"), r.needed_number("seconds")};
}

TimelineEntry timeline_entry(const ReportReader& r) {
  return {r.text("op"), r.text("path"), r.text("lane"), r.needed_number("start_s"), r.needed_number("end_s")};
}

GraphFacts graph(const ReportReader& r) {
  return {.nodes = r.integer("nodes"),
          .phases = r.integer("phases"),
          .barriers_removed = r.integer("barriers_removed"),
          .arena_bytes = r.number("arena_bytes"),
          .planned_bytes = r.number("planned_bytes")};
}

KernelUse kernel_use(const ReportReader& r) {
  return {r.text("op"), r.text("candidate"), r.text("reason"), r.integer("count")};
}

ErrorText error(const ReportReader& r) {
  ErrorText out{.what = r.text("what"),
                .where = r.text("where"),
                .expected = r.text("expected"),
                .found = r.text("found"),
                .fix = r.text("fix")};
  if (const Count code = r.integer("code")) out.code = static_cast<int>(*code);
  out.name = r.text("name");
  return out;
}

Arm arm(const ReportReader& r) {
  Arm out{.name = r.text("name"),
          .status = r.text("status"),
          .reason = r.text("reason"),
          .error = r.optional("error", error),
          .equality = r.optional("equality", equality),
          .seconds = r.numbers("seconds"),
          .median_s = r.number("median_s"),
          .best_s = r.number("best_s"),
          .rate_median = r.number("rate_median"),
          .rate_best = r.number("rate_best"),
          .limit_share = r.number("limit_share"),
          .ratio = r.optional("ratio", ratio),
          .latency = r.optional("latency", latency),
          .once = r.optional("once", once),
          .launches_per_token = r.number("launches_per_token"),
          .launch_cost_s = r.number("launch_cost_s"),
          .memory = r.optional("memory", memory),
          .split = r.optional("split", split),
          .by_op = r.list("by_op", op_time),
          .timeline = r.list("timeline", timeline_entry),
          .timeline_cut = r.integer("timeline_cut"),
          .graph = r.optional("graph", graph),
          .fused = r.list("fused", kernel_use),
          .fallbacks = r.list("fallbacks", kernel_use)};
  static constexpr std::array kStatuses = {"measured", "wrong", "failed", "refused", "skipped"};
  if (std::find(kStatuses.begin(), kStatuses.end(), out.status) == kStatuses.end())
    r.at("status").refuse("measured, wrong, failed, refused or skipped");
  const std::vector<double> spread = r.numbers("spread");
  if (!spread.empty() && spread.size() != 2) r.at("spread").refuse("two numbers");
  if (!spread.empty()) out.spread_low = spread[0], out.spread_high = spread[1];
  return out;
}

Difference difference(const ReportReader& r) {
  return {.from = r.text("from"),
          .to = r.text("to"),
          .whole_s = r.number("whole_s"),
          .compile_s = r.number("compile_s"),
          .submission_s = r.number("submission_s"),
          .bubbles_s = r.number("bubbles_s"),
          .kernels_s = r.number("kernels_s")};
}

CoverageRow coverage_row(const ReportReader& r) {
  return {r.text("block"), r.text("op"), r.text("why"), r.integer("fused"), r.integer("small")};
}

BenchCase bench_case(const ReportReader& r) {
  return {.label = r.text("label"),
          .limit_kind = r.text("limit_kind"),
          .tokens = r.integer("tokens"),
          .padded_tokens = r.integer("padded_tokens"),
          .limit_s = r.number("limit_s"),
          .arms = r.list("arms", arm),
          .differences = r.list("differences", difference),
          .coverage = r.list("coverage", coverage_row)};
}

SmokeCheck smoke_check(const ReportReader& r) {
  return {r.text("name"), r.text("note"), r.any("value"), r.any("bound"), r.flag("passed").value_or(false)};
}

SmokeGate smoke(const ReportReader& r) {
  const std::string skipped = r.text("skipped");
  return {.skipped = skipped,
          .ran = r.flag("ran").value_or(skipped.empty()),
          .passed = r.flag("passed").value_or(false),
          .checks = r.list("checks", smoke_check)};
}

ModelFacts model(const ReportReader& r) {
  return {.name = r.text("name"),
          .family = r.text("family"),
          .description = r.text("description"),
          .dtype = r.text("dtype"),
          .weights = r.text("weights"),
          .layers = r.integer("layers"),
          .cut = r.flag("cut").value_or(false),
          .weight_bytes = r.number("weight_bytes")};
}

Fingerprint fingerprint(const ReportReader& r) {
  return {.cpu = r.text("cpu"),
          .isa = r.text("isa"),
          .governor = r.text("governor"),
          .system = r.text("system"),
          .threads = r.integer("threads"),
          .load_average = r.numbers("load_average"),
          .memory = r.number("memory")};
}

MeasuredLimits limits(const ReportReader& r) {
  return {.f32_flops = r.number("f32_flops"),
          .bf16_flops = r.number("bf16_flops"),
          .read_bytes = r.number("read_bytes"),
          .copy_bytes = r.number("copy_bytes"),
          .barrier_s = r.number("barrier_s")};
}

PortStep port_step(const ReportReader& r) {
  return {r.text("name"), r.text("status"), r.text("detail"), r.number("seconds")};
}

void read_bench(const ReportReader& r, BenchReport& out) {
  out.regime = r.text("regime");
  out.regime_reason = r.text("regime_reason");
  out.model = model(r.at("model"));
  out.settings = r.items("settings");
  out.fingerprint = fingerprint(r.at("fingerprint"));
  out.limits = limits(r.at("limits"));
  out.smoke = r.at("gate").optional("smoke", smoke);
  out.cases = r.list("cases", bench_case);
  out.warnings = r.texts("warnings");
  const ReportReader incomplete = r.at("incomplete");
  if (incomplete.is_text())
    out.incomplete = incomplete.value().get<std::string>();
  else if (r.flag("incomplete").value_or(false))
    out.incomplete = "not complete";
}

}  // namespace

BenchReport bench_report(const Json& envelope, const std::string& where) {
  if (!envelope.is_object() || !envelope.contains("schema") || envelope["schema"] != "tilewright-report")
    fail({.what = "not a report of this program",
          .where = where,
          .expected = "a JSON object with \"schema\": \"tilewright-report\"",
          .found = envelope.is_object() ? "an object without it" : json_kind(envelope),
          .fix = "name a file that --report-file wrote"});
  const ReportReader all(envelope, where + ": ");
  const Count version = all.integer("version");
  const ReportReader tool = all.at("tool");
  if (version != kEnvelopeVersion)
    fail({.what = "a report of another version",
          .where = where,
          .expected = "version " + std::to_string(kEnvelopeVersion),
          .found = version ? "version " + std::to_string(*version) : "none",
          .fix = "render it with the program that wrote it (" + shortened(tool.text("name"), 30) + " " +
                 shortened(tool.text("version"), 30) + "), or measure again"});
  const std::string kind = all.text("kind");
  if (kind != "bench" && kind != "port")
    fail({.what = "a report of another kind",
          .where = where,
          .expected = "\"bench\" or \"port\"",
          .found = "\"" + shortened(kind, 40) + "\"",
          .fix = "name the report of tilewright bench or tilewright port"});
  BenchReport out;
  out.kind = kind;
  out.command = all.texts("command");
  out.tool_version = tool.text("version");
  out.tool_commit = tool.text("commit");
  out.created = all.text("created");
  out.seeds = all.items("seeds");
  const ReportReader result = all.at("result");
  if (!result.value().is_object()) result.refuse("an object");
  if (kind == "port") {
    out.steps = result.list("steps", port_step);
    const ReportReader bench = result.at("bench");
    out.has_bench = !bench.is_null();
    read_bench(bench, out);
  } else {
    read_bench(result, out);
  }
  return out;
}

BenchReport read_bench_report(const std::string& path) { return bench_report(read_json_file(path), path); }

}  // namespace tilewright::report
