#include "port/workflow.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "port/resolve_model.h"
#include "port/resume.h"
#include "report/envelope.h"
#include "report/page/bench_page.h"

namespace tilewright::port {
namespace {

namespace fs = std::filesystem;

void make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (!fs::is_directory(folder))
    fail({.what = "the folder for the report cannot be made",
          .where = folder.string(),
          .expected = "--output-dir: a folder, or a place for one",
          .found = error ? error.message() : "something else of that name",
          .fix = ""});
}

class Workflow {
 public:
  Workflow(const Program& program, PortOptions options, Progress& progress)
      : program_(program), options_(std::move(options)), progress_(progress) {
    resolve();
    identity_ = run_identity(options_.measurement);
    measurement_.emplace(program_, options_.measurement, progress_);
  }

  PortResult run() {
    if (!skips("report")) make_folder(options_.output_dir);
    if (options_.resume) look_back();
    const std::string no_smoke = skips("smoke") ? "--skip smoke" : measurement_->no_gate();
    if (!no_smoke.empty()) measurement_->skip_gate(no_smoke);
    if (skips("arms")) measurement_->leave_arms_out("--skip arms: nothing was measured");
    bench_ = measurement_->result_json();
    const std::vector<Step> steps = {
        {.name = "resolve", .run = [&] { return StepOutcome{.detail = where_}; }},
        {.name = "smoke", .skip = no_smoke, .run = [&] { return smoke(); }},
        {.name = "arms", .skip = skips("arms") ? "--skip arms" : "", .run = [&] { return arms(); }},
        {.name = "report",
         .skip = skips("report") ? "--skip report" : "",
         .run = [&] { return report(); },
         .always = true}};
    run_steps(steps, progress_, records_, [&] { save(); });
    return finish();
  }

 private:
  bool skips(const std::string& step) const {
    return std::find(options_.skip.begin(), options_.skip.end(), step) != options_.skip.end();
  }

  void resolve() {
    engine::SessionOptions& model = options_.measurement.bench.model;
    if (options_.model.empty()) {
      where_ = model.dummy_shape + ", random weights";
    } else {
      model.model = resolve_model(options_.model, options_.model_from);
      where_ = model.model.string();
    }
    if (options_.output_dir.empty())
      options_.output_dir =
          "tilewright-report-" + (options_.model.empty() ? model.dummy_shape : model_name(model.model));
  }

  void look_back() {
    earlier_ = earlier_run(options_.output_dir, identity_);
    if (!earlier_.refusal.empty()) progress_.note("--resume: everything is run, " + earlier_.refusal);
  }

  StepOutcome smoke() {
    if (earlier_.smoke) {
      measurement_->reuse_gate(engine::smoke_from_json(earlier_.bench["gate"]["smoke"], "report.json"));
      bench_ = measurement_->result_json();
      return {StepStatus::reused, "passed in the run before"};
    }
    const StepOutcome out = measurement_->run_gate();
    bench_ = measurement_->result_json();
    return out;
  }

  // Numbers of two runs make no ratio: a benchmark that was interrupted begins again.
  StepOutcome arms() {
    if (earlier_.arms) {
      bench_ = earlier_.bench;
      bench_["gate"]["smoke"] = engine::smoke_json(measurement_->gate());
      return {StepStatus::reused, "measured in the run before"};
    }
    const StepOutcome out = measurement_->run_arms();
    bench_ = measurement_->result_json();
    return out;
  }

  Json envelope() const {
    const measure::BenchOptions& bench = options_.measurement.bench;
    return report::envelope({.kind = "port",
                             .seeds = {{"prompts", bench.seed}, {"weights", bench.model.load.seed}},
                             .result = {{"steps", steps_json(records_)}, {"identity", identity_}, {"bench", bench_}}});
  }

  fs::path json_file() const { return options_.output_dir / "report.json"; }
  fs::path page_file() const { return options_.output_dir / "report.html"; }

  // What a run that is killed leaves. Not being able to write it is said when the report is due.
  void save() {
    if (skips("report") || records_.back().status != StepStatus::not_run) return;
    try {
      report::write_envelope(json_file(), envelope());
    } catch (const Error&) {
    }
  }

  StepOutcome report() {
    // The page and the file say that this step is done.
    records_.back().status = StepStatus::done;
    records_.back().detail = page_file().string();
    const Json whole = envelope();
    report::write_envelope(json_file(), whole);
    json_ = json_file();
    report::write_page(page_file(), report::bench_page(whole));
    page_ = page_file();
    return {StepStatus::done, page_file().string()};
  }

  PortResult finish() {
    PortResult out{.report = envelope(), .json = json_, .page = page_};
    if (!skips("arms") || !measurement_->gate_is_fine()) {
      out.trouble = trouble_of(bench_);
      out.exit_code = exit_code_of(bench_);
    }
    if (records_.back().status == StepStatus::failed) {
      out.write_error = records_.back().detail;
      out.exit_code = std::max(out.exit_code, 1);
    }
    return out;
  }

  const Program& program_;
  PortOptions options_;
  Progress& progress_;
  std::string where_;
  Json identity_, bench_;
  std::optional<Measurement> measurement_;
  EarlierRun earlier_;
  std::vector<StepRecord> records_;
  fs::path json_, page_;
};

}  // namespace

const std::vector<std::string>& skippable_steps() {
  static const std::vector<std::string> names = {"smoke", "arms", "report"};
  return names;
}

PortResult run_port(const Program& program, PortOptions options, Progress& progress) {
  return Workflow(program, std::move(options), progress).run();
}

}  // namespace tilewright::port
