#include "port/workflow.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "port/model_steps.h"
#include "port/resume.h"
#include "report/envelope.h"
#include "report/page/bench_page.h"

namespace tilewright::port {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDummy = "random weights (--weights dummy)";

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
    check_early();
  }

  PortResult run() {
    if (!skips("report")) make_folder(options_.output_dir);
    const std::vector<Step> steps = {
        {.name = "resolve", .run = [&] { return StepOutcome{.detail = source_ ? source_->describe() : dummy_text()}; }},
        {.name = "pull", .skip = no_pull(), .run = [&] { return pull(); }},
        {.name = "patch", .skip = no_patch(), .run = [&] { return patch(); }},
        {.name = "smoke", .skip = no_smoke(), .run = [&] { return smoke(); }},
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

  engine::SessionOptions& model() { return options_.measurement.bench.model; }
  bool is_dummy() const { return options_.model.empty(); }
  std::string dummy_text() { return model().dummy_shape + ", random weights"; }

  void resolve() {
    if (!is_dummy()) {
      source_.emplace(options_.model, options_.model_from, hub::process_environment());
      if (skips("pull")) source_->require_here();
      model().name = source_->model_name();
      model().model = source_->directory();
    }
    if (options_.output_dir.empty())
      options_.output_dir = "tilewright-report-" + (is_dummy() ? model().dummy_shape : model().name);
  }

  // What is wrong with the settings is better known before a model is fetched. A family that is not built in, and a
  // directory without a config, are the next steps' business.
  void check_early() {
    const measure::BenchOptions& bench = options_.measurement.bench;
    measure::check_bench_settings(program_, bench);
    if (is_dummy() || can_be_judged()) measure::check_bench_options(program_, bench);
  }

  bool can_be_judged() {
    if (model().model.empty()) return false;
    const std::string config = (model().model / "config.json").string();
    try {
      const Json json = read_json_file(config);
      models::read_config(program_.families.of_config(json, config), json, config);
      return true;
    } catch (const Error&) {
      return false;
    }
  }

  std::string no_pull() const {
    if (is_dummy()) return kDummy;
    return skips("pull") ? "--skip pull" : source_->no_pull();
  }
  std::string no_patch() const {
    if (is_dummy()) return kDummy;
    if (skips("patch")) return "--skip patch";
    return skips("report") ? "--skip report: nothing is written" : "";
  }
  std::string no_smoke() const {
    if (skips("smoke")) return "--skip smoke";
    return is_dummy() ? kDummy : "";
  }

  StepOutcome pull() {
    progress_.hide();
    StepOutcome out = source_->pull(options_.bars, options_.measurement.interrupted);
    model().model = source_->directory();
    return out;
  }

  StepOutcome patch() {
    identify();
    const bool same = options_.resume && earlier_.refusal.empty();
    OverlayOutcome out = pin_model(program_, model().model, options_.output_dir / "model", same);
    model().model = out.directory;
    return out.step;
  }

  // By the files of the user's model, whatever is made of them. The run before is looked at before its report is
  // replaced.
  void identify() {
    if (!identity_.is_null()) return;
    identity_ = run_identity(options_.measurement);
    if (options_.resume) look_back();
  }

  // Made when the model's directory is what it will be.
  Measurement& measurement() {
    if (measurement_) return *measurement_;
    identify();
    measurement_.emplace(program_, options_.measurement, progress_);
    if (const std::string reason = no_smoke(); !reason.empty()) measurement_->skip_gate(reason);
    if (skips("arms")) measurement_->leave_arms_out("--skip arms: nothing was measured");
    bench_ = measurement_->result_json();
    return *measurement_;
  }

  void look_back() {
    earlier_ = earlier_run(options_.output_dir, identity_);
    if (!earlier_.refusal.empty()) progress_.note("--resume: everything is run, " + earlier_.refusal);
  }

  StepOutcome smoke() {
    Measurement& measured = measurement();
    if (earlier_.smoke) {
      measured.reuse_gate(engine::smoke_from_json(earlier_.bench["gate"]["smoke"], "report.json"));
      bench_ = measured.result_json();
      return {StepStatus::reused, "passed in the run before"};
    }
    const StepOutcome out = measured.run_gate();
    bench_ = measured.result_json();
    return out;
  }

  // Numbers of two runs make no ratio: a benchmark that was interrupted begins again.
  StepOutcome arms() {
    Measurement& measured = measurement();
    if (earlier_.arms) {
      bench_ = earlier_.bench;
      bench_["gate"]["smoke"] = engine::smoke_json(measured.gate());
      return {StepStatus::reused, "measured in the run before"};
    }
    const StepOutcome out = measured.run_arms();
    bench_ = measured.result_json();
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

  // What a run that is killed leaves; before the model is known to be the same, the report of the run before. Not being
  // able to write it is said when the report is due.
  void save() {
    if (skips("report") || (options_.resume && identity_.is_null()) || records_.back().status != StepStatus::not_run)
      return;
    try {
      report::write_envelope(json_file(), envelope());
    } catch (const Error&) {
    }
  }

  StepOutcome report() {
    if (!is_cut_short()) measurement();
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

  // A step did not do what the ones behind it need.
  bool is_cut_short() const { return cutting_step() != nullptr; }
  const StepRecord* cutting_step() const {
    for (const StepRecord& record : records_)
      if ((record.status == StepStatus::failed || record.status == StepStatus::interrupted) && !measurement_)
        return &record;
    return nullptr;
  }

  PortResult finish() {
    PortResult out{.report = envelope(), .json = json_, .page = page_};
    if (const StepRecord* step = cutting_step(); step && step->name != "report") {
      const bool interrupted = step->status == StepStatus::interrupted;
      out.trouble =
          interrupted ? "interrupted: " + step->detail : "the step " + step->name + " failed: " + step->detail;
      out.exit_code = interrupted ? 130 : 1;
    } else if (measurement_ && (!skips("arms") || !measurement_->gate_is_fine())) {
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
  std::optional<ModelSource> source_;  // none: random weights
  Json identity_, bench_;
  std::optional<Measurement> measurement_;
  EarlierRun earlier_;
  std::vector<StepRecord> records_;
  fs::path json_, page_;
};

}  // namespace

const std::vector<std::string>& skippable_steps() {
  static const std::vector<std::string> names = {"pull", "patch", "smoke", "arms", "report"};
  return names;
}

PortResult run_port(const Program& program, PortOptions options, Progress& progress) {
  return Workflow(program, std::move(options), progress).run();
}

}  // namespace tilewright::port
