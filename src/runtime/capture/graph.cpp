#include "runtime/capture/graph.h"

#include <algorithm>
#include <string_view>

#include "runtime/error_codes.h"

namespace tilewright::runtime {

const char* capture_mode_name(CaptureMode mode) {
  switch (mode) {
    case CaptureMode::global:
      return "global";
    case CaptureMode::thread_local_only:
      return "thread-local";
    case CaptureMode::relaxed:
      return "relaxed";
  }
  return "?";
}

class Graph::Outside final : public Memory::Watcher {
 public:
  Outside(Graph& graph, Memory& memory, int node) : graph_(graph), memory_(memory), node_(node) {
    memory_.add_watcher(*this);
  }
  ~Outside() { memory_.remove_watcher(*this); }
  void freed(const Memory&) noexcept override {
    int none = -1;
    graph_.freed_use_.compare_exchange_strong(none, node_, std::memory_order_acq_rel);
  }

 private:
  Graph& graph_;
  Memory& memory_;
  int node_;
};

Graph::Graph() = default;
Graph::~Graph() = default;

void Graph::use_outside(Memory& memory, int node) {
  outside_.push_back(std::make_unique<Outside>(*this, memory, node));
}

std::string node_place(const Graph& graph, int node) {
  if (node < 0) return "before the first launch";
  const Launch& launch = graph.nodes[static_cast<std::size_t>(node)].launch;
  std::string out;
  if (*launch.path) out += std::string(launch.path) + ", ";
  if (*launch.op) out += std::string(launch.op) + ", ";
  return out + "launch " + std::to_string(node);
}

namespace {

std::string describe_place(const Tensor& tensor) {
  std::string out = tensor.describe();
  if (!tensor.defined()) return out;
  out += " strides [";
  for (int i = 0; i < tensor.rank(); ++i) out += (i ? ", " : "") + std::to_string(tensor.strides()[i]);
  return out + "]";
}

bool same_place(const Tensor& a, const Tensor& b) {
  return a.defined() && b.defined() && a.memory_ref().get() == b.memory_ref().get() && a.offset() == b.offset();
}

bool same_form(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.layout() == b.layout() && a.shape() == b.shape() && a.strides() == b.strides();
}

[[noreturn]] void refuse(const std::string& name, const char* what, const std::string& expected,
                         const std::string& found) {
  fail_with_code(
      code::kAicoreException,
      {.what = what, .where = "replay, binding \"" + name + "\"", .expected = expected, .found = found, .fix = ""});
}

}  // namespace

void check_bindings(std::span<const Binding> required, std::span<const Binding> given) {
  const auto find = [](std::span<const Binding> list, std::size_t hint, const std::string& name) -> const Binding* {
    if (hint < list.size() && list[hint].name == name) return &list[hint];
    const auto it = std::find_if(list.begin(), list.end(), [&](const Binding& b) { return b.name == name; });
    return it == list.end() ? nullptr : &*it;
  };
  for (std::size_t i = 0; i < required.size(); ++i) {
    const Binding& wanted = required[i];
    const Binding* binding = find(given, i, wanted.name);
    if (!binding)
      refuse(wanted.name, "a tensor that the graph requires is missing", describe_place(wanted.tensor), "none");
    if (!binding->tensor.defined() || !same_form(binding->tensor, wanted.tensor))
      refuse(wanted.name, "the tensor has another form than the captured one", describe_place(wanted.tensor),
             describe_place(binding->tensor));
    if (!same_place(binding->tensor, wanted.tensor))
      refuse(wanted.name, "the tensor lies at another address than the captured one", "the tensor of the capture",
             "another buffer or offset of the same form");
  }
  for (std::size_t i = 0; i < given.size(); ++i)
    if (!find(required, i, given[i].name))
      refuse(given[i].name, "the graph has no such binding",
             std::to_string(required.size()) + " bindings, none of this name", describe_place(given[i].tensor));
}

}  // namespace tilewright::runtime
