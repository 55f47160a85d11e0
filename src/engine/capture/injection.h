// Illegal actions put into a pass at a named place, to see that and how they are found: an observer that does nothing
// but call the public runtime there.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "opgraph/op_graph.h"
#include "ops/core/context.h"
#include "runtime/capture/graph.h"

namespace tilewright::engine {

enum class InjectionKind { synchronize, pageable_copy, side_stream, growing_shape, freed_buffer, host_value };

// synchronize: waits for the stream. pageable-copy: copies from the tensor to ordinary host memory. side-stream: orders
// another stream behind, puts a copy of the launch there and leaves it open. growing-shape: has each replay promised
// the tensor, and gives one with a row more. freed-buffer: lets a launch write to a buffer, then frees it. host-value:
// adds the position, as the host knows it, to the tensor.
struct Injection {
  InjectionKind kind = InjectionKind::synchronize;
  std::string place;
  std::string text() const;  // "side-stream@attention"
};

std::vector<std::string> injection_kinds();
// Throws Error in one line, naming the known kinds, if it is not KIND@PLACE.
Injection parse_injection(const std::string& text);

// Words for places: embed, head; then operators, modules by their last name, each once; of a traced pass.
std::vector<std::string> injection_places(const opgraph::OpGraph& graph);
// True if a call of `op` in module `path` is at the place: the operator's name, a module's path or what lies in it, or
// a module's own name ("mlp").
bool is_at_place(const std::string& place, const std::string& op, const std::string& path);
// Throws Error in one line, naming known places, if no call of the pass is there.
void require_place(const Injection& injection, const opgraph::OpGraph& graph);

// Acts once a pass, behind the first call at the place. Errors of the runtime pass through.
class Injector : public ops::Observer {
 public:
  Injector(ops::Context& context, Injection injection);
  ~Injector() override;

  // Before each pass: where it stands, as the host knows it.
  void start_pass(std::int64_t position);
  void call_ends(const ops::OpCall& call, const char* path) override;
  void launched(const runtime::Launch& launch) override;

  // growing-shape, after it acted in the capture: what replays are promised and given beside the rest.
  void add_bindings(std::vector<runtime::Binding>& required, std::vector<runtime::Binding>& given) const;

 private:
  void act(const ops::OpCall& call, const char* path);

  ops::Context& context_;
  Injection injection_;
  std::unique_ptr<runtime::Stream> side_;
  std::unique_ptr<runtime::Event> event_;
  runtime::Launch last_;
  std::int64_t position_ = 0;
  bool acting_ = false, done_ = false;
  std::vector<runtime::Binding> promised_, grown_;
};

}  // namespace tilewright::engine
