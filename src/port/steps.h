// A workflow is a list of steps. What became of each is recorded, whatever happens to the others.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/progress.h"

namespace tilewright::port {

enum class StepStatus {
  done,
  reused,   // an earlier run's result still stands
  skipped,  // the user wished so
  failed,
  interrupted,
  not_run,  // a step before it ended the workflow
};
std::string_view step_status_name(StepStatus status);  // "done", …, "not run"

struct StepOutcome {
  StepStatus status = StepStatus::done;
  std::string detail = {};   // one phrase for people
  bool ends_others = false;  // steps behind it make no sense now
};

struct Step {
  std::string name;
  std::string skip = {};                  // why it is not run; empty: it is
  std::function<StepOutcome()> run = {};  // an Error it throws counts as failed, with its text, and ends the others
  bool always = false;                    // runs even if a step before it ended the others
};

struct StepRecord {
  std::string name;
  StepStatus status = StepStatus::not_run;
  std::string detail;
  double seconds = 0;
};
Json steps_json(const std::vector<StepRecord>& records);  // [{"name", "status", "detail", "seconds"}]

// "a: b; expected c" of a message of several lines.
std::string in_one_line(std::string text);

// Runs them in order and shows them as steps of `progress`. `records` holds one entry a step from the start and is kept
// up to date while they run, so that a step may look at it. `after_each`: called behind each step that ran.
void run_steps(const std::vector<Step>& steps, Progress& progress, std::vector<StepRecord>& records,
               const std::function<void()>& after_each = {});

}  // namespace tilewright::port
