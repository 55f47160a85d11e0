// Whether what an earlier run finished still stands: same model files, settings, machine and program.
#pragma once

#include <filesystem>
#include <string>

#include "base/json.h"
#include "port/measurement.h"

namespace tilewright::port {

// All that decides what the steps find: settings, files of the model (names, sizes, times of change), processor, level,
// threads, version. `threads`: those that the device really has are the machine's business; these are the asked ones.
Json run_identity(const MeasurementOptions& options);

struct EarlierRun {
  Json bench;           // the `bench` of its report; null if there is none
  bool smoke = false;   // its gate passed
  bool arms = false;    // all arms were measured, none of them wrong or failed
  std::string refusal;  // why nothing can be reused, in one phrase; empty if something can
};

// Reads report.json in a folder and compares identities.
EarlierRun earlier_run(const std::filesystem::path& folder, const Json& identity);

// "settings.gen was [64] and is [128]": the first difference; empty if there is none.
std::string first_difference(const Json& was, const Json& is);

}  // namespace tilewright::port
