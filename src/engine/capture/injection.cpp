#include "engine/capture/injection.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/nearest.h"

namespace tilewright::engine {
namespace {

constexpr ops::OpName kAddInPlace{"add_"}, kFull{"full"};

struct KindName {
  InjectionKind kind;
  const char* name;
};
constexpr std::array<KindName, 6> kKinds{{{InjectionKind::synchronize, "synchronize"},
                                          {InjectionKind::pageable_copy, "pageable-copy"},
                                          {InjectionKind::side_stream, "side-stream"},
                                          {InjectionKind::growing_shape, "growing-shape"},
                                          {InjectionKind::freed_buffer, "freed-buffer"},
                                          {InjectionKind::host_value, "host-value"}}};

// What users call modules whose names differ.
std::string module_of(const std::string& place) {
  if (place == "embed") return "embed_tokens";
  if (place == "head") return "lm_head";
  return place;
}

std::string last_name(const std::string& path) { return path.substr(path.rfind('.') + 1); }

void add_once(std::vector<std::string>& list, const std::string& name) {
  if (!name.empty() && std::find(list.begin(), list.end(), name) == list.end()) list.push_back(name);
}

bool floating(const ops::Tensor& t) {
  return t.dtype() == DType::f32 || t.dtype() == DType::f16 || t.dtype() == DType::bf16;
}

}  // namespace

std::vector<std::string> injection_kinds() {
  std::vector<std::string> out;
  for (const KindName& k : kKinds) out.push_back(k.name);
  return out;
}

std::string Injection::text() const {
  for (const KindName& k : kKinds)
    if (k.kind == kind) return std::string(k.name) + "@" + place;
  return place;
}

Injection parse_injection(const std::string& text) {
  const std::size_t at = text.find('@');
  const std::string kind = text.substr(0, at);
  for (const KindName& k : kKinds)
    if (kind == k.name && at != std::string::npos && at + 1 < text.size()) return {k.kind, text.substr(at + 1)};
  fail({.what = fmt::format("\"{}\" is no KIND@PLACE; kinds are {}", text, fmt::join(injection_kinds(), ", ")),
        .where = "--inject",
        .expected = "",
        .found = "",
        .fix = ""});
}

std::vector<std::string> injection_places(const opgraph::OpGraph& graph) {
  std::vector<std::string> out = {"embed", "head"};
  for (const opgraph::CompositeCall& composite : graph.composites) add_once(out, composite.op->schema.name);
  for (const opgraph::Node& node : graph.nodes) add_once(out, node.op->schema.name);
  for (const opgraph::Node& node : graph.nodes) {
    add_once(out, last_name(node.path));
    if (const std::size_t dot = node.path.rfind('.'); dot != std::string::npos) {
      const std::string outer = last_name(node.path.substr(0, dot));
      if (outer.find_first_not_of("0123456789") != std::string::npos) add_once(out, outer);
    }
  }
  return out;
}

bool is_at_place(const std::string& place, const std::string& op, const std::string& path) {
  if (op == place) return true;
  return ("." + path + ".").find("." + module_of(place) + ".") != std::string::npos;
}

void require_place(const Injection& injection, const opgraph::OpGraph& graph) {
  for (const opgraph::Node& node : graph.nodes)
    if (is_at_place(injection.place, node.op->schema.name, node.path)) return;
  for (const opgraph::CompositeCall& composite : graph.composites)
    if (is_at_place(injection.place, composite.op->schema.name, composite.path)) return;
  const std::vector<std::string> known = injection_places(graph);
  const std::string near = nearest(injection.place, known);
  fail({.what = fmt::format("no call of the pass is at \"{}\"{}; known are {} and module paths such as "
                            "layers.0.self_attn",
                            injection.place, near.empty() ? "" : ", did you mean " + near, fmt::join(known, ", ")),
        .where = "--inject",
        .expected = "",
        .found = "",
        .fix = ""});
}

Injector::Injector(ops::Context& context, Injection injection)
    : context_(context),
      injection_(std::move(injection)),
      side_(context.device().create_stream()),
      event_(context.device().create_event()) {}

Injector::~Injector() = default;

void Injector::start_pass(std::int64_t position) {
  position_ = position;
  done_ = acting_ = false;
  promised_.clear();
  grown_.clear();
}

void Injector::launched(const runtime::Launch& launch) {
  if (!acting_) last_ = launch;
}

void Injector::call_ends(const ops::OpCall& call, const char* path) {
  if (done_ || acting_ || !is_at_place(injection_.place, call.op.schema.name, path)) return;
  if (injection_.kind == InjectionKind::host_value && (call.outputs.empty() || !floating(call.outputs[0]))) return;
  done_ = acting_ = true;
  act(call, path);
  acting_ = false;
}

void Injector::act(const ops::OpCall& call, const char* path) {
  runtime::Stream& stream = context_.stream();
  const ops::Tensor& out = call.outputs[0];
  const bool capturing = stream.capture_status() != runtime::CaptureStatus::none;
  const ops::PathScope scope(context_, path);
  switch (injection_.kind) {
    case InjectionKind::synchronize:
      stream.synchronize();
      break;
    case InjectionKind::pageable_copy: {
      std::array<std::byte, 8> ordinary;
      stream.copy_to_host(ordinary.data(), out.memory(), out.byte_offset(), dtype_size(out.dtype()));
      break;
    }
    case InjectionKind::side_stream:
      stream.record(*event_);
      side_->wait(*event_);
      if (capturing) side_->submit(last_);  // elsewhere twice the same work would race
      break;
    case InjectionKind::growing_shape: {
      if (!capturing) break;
      Shape grown = out.shape();
      grown[0] += 1;
      const std::string name = fmt::format("{}, {}", path, call.op.schema.name);
      promised_ = {{name, out}};
      grown_ = {{name, runtime::empty(*side_, out.dtype(), grown)}};
      break;
    }
    case InjectionKind::freed_buffer: {
      const ops::Tensor spare = runtime::empty(*side_, DType::f32, {16});
      ops::call_into(context_, kFull, {}, spare, {{"shape", spare.shape()}, {"value", 0.0}, {"dtype", spare.dtype()}});
      break;
    }
    case InjectionKind::host_value:
      ops::call(context_, kAddInPlace, {out}, {{"other", static_cast<double>(position_)}});
      break;
  }
}

void Injector::add_bindings(std::vector<runtime::Binding>& required, std::vector<runtime::Binding>& given) const {
  required.insert(required.end(), promised_.begin(), promised_.end());
  given.insert(given.end(), grown_.begin(), grown_.end());
}

}  // namespace tilewright::engine
