// Which part of a model keeps its decode step from being captured: from the embedding to the whole, each part captured
// and replayed by itself.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/capture/capture_failure.h"
#include "engine/capture/injection.h"
#include "engine/session.h"

namespace tilewright::engine {

struct BisectStage {
  std::string name;   // "embed+norm", "attention", "layer", "model"
  std::string scope;  // what it holds
  // absent: the model has no module of that name. not_run: an earlier stage failed.
  enum class Status { passed, failed, absent, not_run } status = Status::not_run;
  int launches = 0;
  std::optional<CaptureFailure> failure;
};
const char* bisect_status_name(BisectStage::Status status);

struct Bisection {
  std::vector<BisectStage> stages;
  const BisectStage* first_failure() const;  // null: everything can be captured
};

// Runs one token behind `prompt` others as often as needed: each stage is captured in global mode in the midst of an
// eager pass and replayed there, whose logits must then be the eager pass's; the whole model is checked as check_pass
// does. `injection` acts in every run. Ends at the first stage that fails; the session works on afterwards. Throws
// Error if the place of `injection` is unknown, or the eager pass itself fails. The session must not hold work back.
Bisection bisect_capture(Session& session, const std::optional<Injection>& injection = {}, std::int64_t prompt = 8);

}  // namespace tilewright::engine
