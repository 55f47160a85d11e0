// One part of a pass captured and replayed by itself, in its place: what comes before and after it runs eagerly.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/capture/check_pass.h"
#include "ops/core/context.h"
#include "runtime/capture/graph.h"

namespace tilewright::engine {

// Watches a pass. The capture begins before the first call in a module that `inside` takes, and ends before the first
// one behind that is not; then the graph is replayed, so that the pass goes on with its results. Errors pass through.
// Keep it until the pass's work is done: later launches read what lies in the graph's memory.
class StageCapture : public ops::Observer {
 public:
  // `bindings` may be empty.
  StageCapture(ops::Context& context, std::function<bool(const std::string& path)> inside, BindingsOfReplay bindings);
  ~StageCapture() override;  // ends a capture that an error left open

  void call_begins(const ops::OpCall& call, const char* path) override;
  void call_ends(const ops::OpCall& call, const char* path) override;
  // At the pass's end: a stage that reaches to there ends here.
  void finish();
  int launches() const { return launches_; }  // 0: no call was inside

 private:
  void keep(std::span<const ops::Tensor> tensors);

  ops::Context& context_;
  std::function<bool(const std::string&)> inside_;
  BindingsOfReplay bindings_;
  enum class Phase { before, inside, after } phase_ = Phase::before;
  int depth_ = 0, launches_ = 0;
  std::vector<const runtime::Memory*> made_;  // by calls inside
  std::vector<ops::Tensor> outside_;          // read inside: the graph's replay needs them
  std::unique_ptr<runtime::ExecutableGraph> graph_;
};

}  // namespace tilewright::engine
