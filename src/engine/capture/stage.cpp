#include "engine/capture/stage.h"

#include <algorithm>

#include "base/error.h"

namespace tilewright::engine {

StageCapture::StageCapture(ops::Context& context, std::function<bool(const std::string&)> inside,
                           BindingsOfReplay bindings)
    : context_(context), inside_(std::move(inside)), bindings_(std::move(bindings)) {}

StageCapture::~StageCapture() {
  if (phase_ != Phase::inside) return;
  try {
    context_.stream().end_capture();
  } catch (const Error&) {  // the one that ended the pass is on its way
  }
}

void StageCapture::call_begins(const ops::OpCall& call, const char* path) {
  if (depth_++ == 0) {
    const bool inside = inside_(path);
    if (phase_ == Phase::before && inside) {
      context_.stream().begin_capture(runtime::CaptureMode::global);
      phase_ = Phase::inside;
    } else if (phase_ == Phase::inside && !inside) {
      finish();
    }
  }
  if (phase_ == Phase::inside) keep(call.inputs);
}

void StageCapture::call_ends(const ops::OpCall& call, const char*) {
  --depth_;
  if (phase_ != Phase::inside) return;
  for (const ops::Tensor& t : call.outputs) made_.push_back(&t.memory());
}

// Not those made inside: holding them would keep the graph from sharing their places.
void StageCapture::keep(std::span<const ops::Tensor> tensors) {
  for (const ops::Tensor& t : tensors)
    if (t.defined() && std::find(made_.begin(), made_.end(), &t.memory()) == made_.end()) outside_.push_back(t);
}

void StageCapture::finish() {
  if (phase_ != Phase::inside) return;
  phase_ = Phase::after;
  std::shared_ptr<runtime::Graph> graph = context_.stream().end_capture();
  launches_ = static_cast<int>(graph->nodes.size());
  graph_ = context_.device().instantiate(std::move(graph));
  std::vector<runtime::Binding> required, given;
  if (bindings_) bindings_(required, given);
  graph_->require(std::move(required));
  context_.stream().replay(*graph_, given);
}

}  // namespace tilewright::engine
