#include "runtime/capture/capture.h"

#include <algorithm>

#include "runtime/error_codes.h"

namespace tilewright::runtime {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

void see(std::vector<std::uint64_t>& seen, const std::vector<std::uint64_t>& other) {
  if (seen.size() < other.size()) seen.resize(other.size());
  for (std::size_t i = 0; i < other.size(); ++i) seen[i] = std::max(seen[i], other[i]);
}

}  // namespace

Capture::Capture(CaptureMode mode, CapturingStream& stream, int memory_stream)
    : graph_(std::make_shared<Graph>()), mode_(mode), thread_(std::this_thread::get_id()) {
  graph_->mode = mode;
  graph_->memory_stream = memory_stream;
  members_.push_back({.stream = &stream, .tail = {}, .seen = {1}});
}

int Capture::join(CapturingStream& stream, const CaptureMark& mark) {
  const int member = static_cast<int>(members_.size());
  Member joined{.stream = &stream, .tail = mark.tail, .seen = mark.seen};
  joined.seen.resize(at(member) + 1);
  joined.seen[at(member)] = 1;  // joining is an action: it must return even if it does nothing else
  members_.push_back(std::move(joined));
  return member;
}

CaptureMark Capture::mark(const std::shared_ptr<Capture>& self, int member) {
  const Member& m = members_[at(member)];
  return {.capture = self, .stream = member, .tail = m.tail, .seen = m.seen};
}

void Capture::wait(int member, const CaptureMark& mark) {
  Member& m = members_[at(member)];
  for (const int node : mark.tail)
    if (graph_->nodes[at(node)].stream != member && std::find(m.tail.begin(), m.tail.end(), node) == m.tail.end())
      m.tail.push_back(node);
  see(m.seen, mark.seen);
  ++m.seen[at(member)];
}

void Capture::use(const Memory& memory, int node) {
  const auto [it, fresh] = planned_.try_emplace(&memory, -1);
  if (it->second >= 0) {
    Graph::Planned& planned = graph_->planned[at(it->second)];
    if (planned.first_use < 0) planned.first_use = node;
    planned.last_use = node;
  } else if (fresh) {
    graph_->use_outside(const_cast<Memory&>(memory), node);  // watching changes nothing that a kernel sees
  }
}

void Capture::add(int member, GraphNode node) {
  Member& m = members_[at(member)];
  const int number = static_cast<int>(graph_->nodes.size());
  for (const BufferArg& buffer : node.launch.buffers()) use(*buffer.memory, number);
  if (node.launch.device_extents) use(*node.launch.device_extents, number);
  node.stream = member;
  node.after = std::exchange(m.tail, {number});
  graph_->nodes.push_back(std::move(node));
  m.last_node = number;
  ++m.seen[at(member)];
}

void Capture::plan(MemoryRef memory) {
  // Every block in planned_ is kept by the graph, so that no key can come back for another block.
  planned_[memory.get()] = static_cast<int>(graph_->planned.size());
  graph_->planned.push_back({.memory = std::move(memory)});
}

int Capture::unjoined() const {
  const std::vector<std::uint64_t>& seen = members_[0].seen;
  for (std::size_t i = 1; i < members_.size(); ++i)
    if (i >= seen.size() || seen[i] < members_[i].seen[i]) return static_cast<int>(i);
  return 0;
}

std::shared_ptr<Graph> Capture::finish() {
  for (Graph::Planned& planned : graph_->planned) {
    if (planned.memory.uses() > 1)
      planned.last_use = -1;
    else if (planned.first_use < 0)
      planned.last_use = 0;
  }
  return std::move(graph_);
}

void Capture::invalidate(int code, const std::string& text) {
  if (invalidated()) return;
  invalid_code_ = code;
  invalid_text_ = text;
}

std::string Capture::culprit(int member) const {
  return graph_ ? node_place(*graph_, members_[at(member)].last_node) : "after the capture's end";
}

void refuse(Capture& capture, int member, int code, const char* what) {
  const std::string place = capture.culprit(member);
  capture.invalidate(code, std::to_string(code) + ", " + what + ", " + place);
  fail_with_code(code, {.what = what, .where = place, .expected = "", .found = "", .fix = ""});
}

}  // namespace tilewright::runtime
