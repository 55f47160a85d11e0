// `tilewright port`: from a model's name to a report, as a list of steps.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "port/measurement.h"

namespace tilewright::port {

struct PortOptions {
  std::string model;                      // as the user calls it; empty: random weights of bench.model's shape
  std::string model_from = "MODEL";       // where that name came from
  MeasurementOptions measurement;         // the model's directory is filled in
  std::vector<std::string> skip = {};     // "pull", "patch", "smoke", "arms", "report"
  Progress::Output bars = {};             // of files that are pulled
  bool resume = false;                    // reuse what an earlier run in `output_dir` finished
  std::filesystem::path output_dir = {};  // empty: ./tilewright-report-NAME
};

struct PortResult {
  Json report;                       // the envelope, kind "port"
  std::filesystem::path json, page;  // where it was written; empty if it was not
  std::string write_error;           // why it was not
  std::string trouble;               // in one line, what did not go well; empty if all did
  int exit_code = 0;                 // 0, 1 or 130
};

// Steps: resolve, pull, patch, smoke, arms, report. The model's directory and the hub's cache are as they were (a pull
// adds to the cache): the model is patched as an overlay, OUTPUT_DIR/model. The report is written after each step, so
// that a run that is killed can be resumed; the page at the end. Throws Error for a name that is no model's, a folder
// that cannot be made, and settings that make no sense; everything later is in the result.
PortResult run_port(const Program& program, PortOptions options, Progress& progress);

// The names that --skip takes.
const std::vector<std::string>& skippable_steps();

}  // namespace tilewright::port
