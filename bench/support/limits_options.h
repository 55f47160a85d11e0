// The flags that bench/limits and bench/fused share.
#pragma once

#include <CLI/CLI.hpp>

#include "support/limits_run.h"

namespace tilewright::bench {

inline void add_limits_options(CLI::App& app, LimitsOptions& options, std::string& report_file) {
  app.add_option("--threads", options.threads, "threads")->capture_default_str()->check(CLI::Range(1, 1024));
  app.add_option("--rounds", options.rounds, "paired rounds of work and limit; 20 and more for a claim")
      ->capture_default_str()
      ->check(CLI::Range(1, 10000));
  app.add_option("--only", options.only, "only rows whose name contains this");
  app.add_option("--report-file", report_file, "write the rows as JSON");
}

}  // namespace tilewright::bench
