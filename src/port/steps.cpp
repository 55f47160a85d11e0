#include "port/steps.h"

#include <algorithm>
#include <chrono>

#include "base/error.h"

namespace tilewright::port {
namespace {

StepOutcome outcome_of(const Step& step) {
  try {
    return step.run();
  } catch (const Error& error) {
    return {StepStatus::failed, in_one_line(error.what()), true};
  }
}

}  // namespace

std::string in_one_line(std::string text) {
  for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos;) {
    const std::size_t end = std::min(text.find_first_not_of(" \n", at), text.size());
    text.replace(at, end - at, "; ");
  }
  return text;
}

std::string_view step_status_name(StepStatus status) {
  switch (status) {
    case StepStatus::done:
      return "done";
    case StepStatus::reused:
      return "reused";
    case StepStatus::skipped:
      return "skipped";
    case StepStatus::failed:
      return "failed";
    case StepStatus::interrupted:
      return "interrupted";
    case StepStatus::not_run:
      return "not run";
  }
  return "?";
}

Json steps_json(const std::vector<StepRecord>& records) {
  Json out = Json::array();
  for (const StepRecord& r : records)
    out.push_back({{"name", r.name},
                   {"status", std::string(step_status_name(r.status))},
                   {"detail", r.detail},
                   {"seconds", r.seconds}});
  return out;
}

void run_steps(const std::vector<Step>& steps, Progress& progress, std::vector<StepRecord>& records,
               const std::function<void()>& after_each) {
  records.clear();
  for (const Step& step : steps) records.push_back({step.name, StepStatus::not_run, "", 0});
  bool ended = false;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Step& step = steps[i];
    StepRecord& record = records[i];
    if (!step.skip.empty()) {
      record.status = StepStatus::skipped;
      record.detail = step.skip;
      continue;
    }
    if (ended && !step.always) continue;
    progress.begin(step.name);
    const auto start = std::chrono::steady_clock::now();
    const StepOutcome outcome = outcome_of(step);
    record.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    record.status = outcome.status;
    record.detail = outcome.detail;
    ended = ended || outcome.ends_others;
    const std::string status = outcome.status == StepStatus::done ? "" : std::string(step_status_name(outcome.status));
    progress.end(status + (status.empty() || outcome.detail.empty() ? "" : ": ") + outcome.detail);
    if (after_each) after_each();
  }
}

}  // namespace tilewright::port
