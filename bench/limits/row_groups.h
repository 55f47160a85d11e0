// The groups of rows of bench/limits, named after their files.
#pragma once

#include <string>

#include "support/limits_run.h"

namespace tilewright::bench {

void add_machine_rows(LimitsRun& run);
void add_launch_rows(LimitsRun& run);
void add_replay_rows(LimitsRun& run);
void add_linear_rows(LimitsRun& run);
void add_small_rows(LimitsRun& run);
void add_eager_rows(LimitsRun& run);
void add_startup_rows(LimitsRun& run);
void add_tokenizer_rows(LimitsRun& run, const std::string& tokenizer_json);  // Qwen3's; empty: looked for, or not run

}  // namespace tilewright::bench
