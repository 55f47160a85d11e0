// What `capture check` and `capture bisect` say, for people and for reports.
#pragma once

#include <string>

#include "base/json.h"
#include "engine/capture/bisect.h"
#include "engine/capture/check_capture.h"

namespace tilewright::cli {

// Code, name, culprit, cause and fix, in lines of at most 100 columns.
std::string failure_text(const engine::CaptureFailure& failure);
std::string check_text(const engine::CaptureCheck& check);
std::string bisection_text(const engine::Bisection& bisection);

// {capturable, passes: [{name, captured, equal, failure, launches, side_launches, phases, barriers_removed,
// arena_bytes, planned_bytes, capture_s, instantiate_s, replay_s: […], median_s}], mitigations: [{name, state,
// reason}], target, target_rules: [{rule, certain, op, path, calls, reason, measured: false}]}
Json check_json(const engine::CaptureCheck& check);
// {capturable, stages: [{name, scope, status, launches, failure}]}
Json bisection_json(const engine::Bisection& bisection);

}  // namespace tilewright::cli
