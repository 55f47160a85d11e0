// One arm of a model as `ask` and `bench` run it: a session with its switches, and a runner. Arms of a run share the
// weights. Times are the device's clock.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/runner.h"
#include "measure/arm.h"

namespace tilewright::bench {

// bf16 weights of a published shape (random) or of a model's directory.
engine::SessionOptions arm_options(const std::string& shape, const std::string& device, int threads);
std::shared_ptr<const engine::LoadedModel> load_for_arms(const Program& program, const engine::SessionOptions& options);

class ArmRun {
 public:
  // Room for `length` positions. `fuse`: switches of arms that are fused. Passes are captured when they are first run.
  // `options`: those the model was loaded with.
  ArmRun(std::shared_ptr<const engine::LoadedModel> loaded, engine::SessionOptions options, const measure::Arm& kind,
         const std::string& fuse, std::int64_t length);

  engine::Session& session() { return session_; }
  engine::Runner& runner() { return runner_; }

  // A prompt on an empty cache until the greedy next token is on the host.
  double prefill_seconds(std::int64_t tokens);
  // `steps` greedy tokens, each read by the host, with `context` positions before the first; behind `warm` others,
  // which do not count: a small model is in the caches and the threads are awake then.
  double decode_seconds(int steps, std::int64_t context, int warm = 0);
  // Of those seconds, the ones that this thread took to submit. Two more clock readings a token.
  double submission_seconds(int steps, std::int64_t context);
  // What the next pass will find: so many positions, and this token for a step.
  void rewind(std::int64_t position, std::int64_t token = 1);
  // Seeded values everywhere in the cache, so that a long context needs no prompt.
  void fill_cache();
  // Of one eager token with this arm's switches.
  long launches_per_token(std::int64_t context);

 private:
  engine::Session session_;
  engine::Runner runner_;
  HostTensor ids_;
};

}  // namespace tilewright::bench
