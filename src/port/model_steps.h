// The first steps of the workflow: from what a user calls a model to a directory that can be run, without changing
// anything of the user's: what is pulled goes to the hub's cache, what is patched is an overlay of links.
#pragma once

#include <atomic>
#include <filesystem>
#include <optional>
#include <string>

#include "base/progress.h"
#include "engine/program.h"
#include "hub/fetch/hub_settings.h"
#include "port/model_name.h"
#include "port/steps.h"

namespace tilewright::port {

class ModelSource {
 public:
  // `name` and `where` as for resolve_model. Throws Error as local_directory and hub_settings do, and for a revision
  // that is none.
  ModelSource(const std::string& name, const std::string& where, const hub::Environment& environment);

  const std::string& model_name() const { return model_name_; }  // for reports
  bool is_repository() const { return !id_.id.empty(); }
  // Where the model is; empty as long as it is not here.
  const std::filesystem::path& directory() const { return directory_; }
  std::string describe() const;  // for the step "resolve"

  // Throws Error with the line to run if the model is not here: for who leaves the next step out.
  void require_here() const;
  // Why there is nothing to pull; empty if there is.
  std::string no_pull() const;
  // Fetches the files that running a model needs. `bars`: where progress goes.
  StepOutcome pull(const Progress::Output& bars, const std::atomic<bool>* interrupted);

 private:
  std::string name_, where_, model_name_;
  hub::Environment environment_;
  ModelId id_;  // empty id: a directory
  std::string reason_;
  std::filesystem::path directory_;
};

struct OverlayOutcome {
  StepOutcome step;
  std::filesystem::path directory;  // to run from now on
};
// A directory that is pinned already is checked and used as it is (loading it warns of what differs); of another one
// `overlay` becomes a pinned overlay. `reuse`: the model is as in the run before, whose overlay is kept if it still
// stands. Throws Error: a family that is not built in (naming the nearest), a place that is taken.
OverlayOutcome pin_model(const Program& program, const std::filesystem::path& model,
                         const std::filesystem::path& overlay, bool reuse);

}  // namespace tilewright::port
