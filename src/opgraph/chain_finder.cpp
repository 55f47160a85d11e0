#include "opgraph/chain_finder.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "opgraph/chain_kernels.h"

namespace tilewright::opgraph {
namespace {

using runtime::Tensor;

// Memory that stands for the graph's storages.
class StandIns {
 public:
  explicit StandIns(const OpGraph& graph) : graph_(graph), memories_(graph.storages.size()) {}

  Tensor tensor(const TensorUse& use) {
    if (!use.defined()) return {};
    runtime::MemoryRef& memory = memories_[static_cast<std::size_t>(use.storage)];
    if (!memory) memory = ops::stand_in(Tensor(runtime::MemoryRef(), DType::u8, {1})).memory_ref();
    return Tensor(memory, use.dtype, use.shape, use.strides, use.offset, use.layout);
  }
  ops::TracedCall call(int number) {
    const Node& node = graph_.nodes[static_cast<std::size_t>(number)];
    ops::TracedCall out{node.op, node.attributes, {}, {}, node.path.c_str()};
    for (const TensorUse& use : node.inputs) out.inputs.push_back(tensor(use));
    for (const TensorUse& use : node.outputs) out.outputs.push_back(tensor(use));
    return out;
  }
  std::vector<ops::TracedCall> calls(const std::vector<int>& nodes) {
    std::vector<ops::TracedCall> out;
    for (const int node : nodes) out.push_back(call(node));
    return out;
  }

 private:
  const OpGraph& graph_;
  std::vector<runtime::MemoryRef> memories_;
};

class Finder {
 public:
  explicit Finder(const OpGraph& graph) : graph_(graph), stand_ins_(graph), taken_(graph.nodes.size(), false) {}

  std::vector<ChainPattern> run() {
    for (int n = 0; n < static_cast<int>(graph_.nodes.size()); ++n)
      if (open(n) && single_reason(n).empty()) keep(grow(n));
    for (int n = 0; n < static_cast<int>(graph_.nodes.size()); ++n)
      if (open(n)) leave(component(n));
    return std::move(patterns_);
  }

 private:
  const Node& node(int n) const { return graph_.nodes[static_cast<std::size_t>(n)]; }
  const Storage& storage(int s) const { return graph_.storages[static_cast<std::size_t>(s)]; }
  int result(int n) const { return node(n).outputs[0].storage; }

  bool may_join(int n) const {
    const Node& one = node(n);
    return !one.fused && one.fresh && one.op->schema.memory_bound && one.op->schema.kind == ops::OpKind::small &&
           one.outputs.size() == 1;
  }
  bool open(int n) const { return !taken_[static_cast<std::size_t>(n)] && may_join(n); }

  const std::string& single_reason(int n) {
    const auto known = reasons_.find(n);
    if (known != reasons_.end()) return known->second;
    return reasons_[n] = derive_chain(stand_ins_.calls({n}), {true}).reason;
  }

  std::vector<bool> outputs_of(const std::vector<int>& nodes) const {
    std::vector<bool> out;
    for (const int n : nodes) {
      const Storage& made = storage(result(n));
      const bool inside = !made.readers.empty() && made.writers.empty() &&
                          std::all_of(made.readers.begin(), made.readers.end(), [&](int reader) {
                            return std::binary_search(nodes.begin(), nodes.end(), reader);
                          });
      out.push_back(!inside);
    }
    return out;
  }

  // Outputs of other shapes than the first's would each be computed from the inputs anew.
  bool one_shape(const std::vector<int>& nodes, const std::vector<bool>& outputs) const {
    const Shape* shape = nullptr;
    for (std::size_t k = 0; k < nodes.size(); ++k) {
      if (!outputs[k]) continue;
      const Shape& own = node(nodes[k]).outputs[0].shape;
      if (shape && !(own == *shape)) return false;
      shape = &own;
    }
    return true;
  }

  std::set<int> neighbours(const std::vector<int>& nodes) const {
    std::set<int> out;
    for (const int n : nodes) {
      for (const int reader : storage(result(n)).readers) out.insert(reader);
      for (const TensorUse& use : node(n).inputs)
        if (use.defined() && storage(use.storage).producer >= 0) out.insert(storage(use.storage).producer);
    }
    for (const int n : nodes) out.erase(n);
    return out;
  }

  FoundChain grow(int seed) {
    std::vector<int> nodes{seed};
    FoundChain best;
    std::set<std::vector<int>> tried;
    bool grown = true;
    while (grown && nodes.size() < kMaxChainSteps) {
      grown = false;
      for (const int candidate : neighbours(nodes)) {
        if (!open(candidate) || !single_reason(candidate).empty()) continue;
        std::vector<int> wider = nodes;
        wider.insert(std::lower_bound(wider.begin(), wider.end(), candidate), candidate);
        if (!tried.insert(wider).second || !can_wait_for_the_last(graph_, wider)) continue;
        const std::vector<bool> outputs = outputs_of(wider);
        if (!derive_chain(stand_ins_.calls(wider), outputs).result) continue;
        nodes = std::move(wider);
        if (one_shape(nodes, outputs)) best = {nodes, outputs};
        grown = true;
        break;
      }
    }
    return best;
  }

  // Open calls that hang together with n.
  FoundChain component(int n) const {
    std::set<int> members{n};
    std::vector<int> todo{n};
    while (!todo.empty()) {
      const int from = todo.back();
      todo.pop_back();
      for (const int next : neighbours({from}))
        if (open(next) && members.insert(next).second) todo.push_back(next);
    }
    FoundChain out{{members.begin(), members.end()}, {}};
    out.outputs = outputs_of(out.nodes);
    return out;
  }

  void take(const FoundChain& chain) {
    for (const int n : chain.nodes) taken_[static_cast<std::size_t>(n)] = true;
  }

  void keep(const FoundChain& chain) {
    if (chain.nodes.size() < 2) return;
    take(chain);
    add(chain, "");
  }

  void leave(const FoundChain& chain) {
    take(chain);
    if (chain.nodes.size() < 2) return;
    std::string reason;
    if (!can_wait_for_the_last(graph_, chain.nodes))
      reason = "calls outside read its results while it runs";
    else
      reason = derive_chain(stand_ins_.calls(chain.nodes), chain.outputs).reason;
    if (reason.empty()) reason = "its results have several shapes, so that it would compute twice";
    add(chain, reason);
  }

  // All of a chain but where its memory lies and what its modules are called.
  std::string signature(const FoundChain& chain) const {
    std::string out;
    std::map<int, int> names;
    std::map<int, std::int64_t> origins;
    const auto add_use = [&](const TensorUse& use) {
      if (!use.defined()) {
        out += " -";
        return;
      }
      const int name = names.try_emplace(use.storage, static_cast<int>(names.size())).first->second;
      const std::int64_t origin = origins.try_emplace(use.storage, use.offset).first->second;
      out += fmt::format(" {}{}{}{}+{}", name, dtype_name(use.dtype), to_string(use.shape), to_string(use.strides),
                         use.offset - origin);
    };
    for (std::size_t k = 0; k < chain.nodes.size(); ++k) {
      const Node& one = node(chain.nodes[k]);
      out += one.op->schema.name;
      for (const auto& [name, value] : one.attributes) out += fmt::format(" {}={}", name, ops::to_string(value));
      for (const TensorUse& use : one.inputs) add_use(use);
      out += chain.outputs[k] ? " =>" : " ->";
      add_use(one.outputs[0]);
      out += '\n';
    }
    return out;
  }

  double bytes_saved(const FoundChain& chain) const {
    double apart = 0, together = 0;
    std::map<int, double> inputs;
    std::set<int> made;
    for (std::size_t k = 0; k < chain.nodes.size(); ++k) {
      const Node& one = node(chain.nodes[k]);
      for (const TensorUse& use : one.inputs) {
        const double bytes = bytes_of(use);
        apart += bytes;
        if (use.defined() && !made.count(use.storage)) inputs[use.storage] = std::max(inputs[use.storage], bytes);
      }
      const double bytes = bytes_of(one.outputs[0]);
      apart += bytes;
      made.insert(one.outputs[0].storage);
      if (chain.outputs[k]) together += bytes;
    }
    for (const auto& [storage, bytes] : inputs) together += bytes;
    return apart - together;
  }

  void describe_composites(const FoundChain& chain, ChainPattern& pattern) const {
    // Enclosing composites of each call, outermost first.
    std::vector<std::vector<int>> all;
    for (const int n : chain.nodes) {
      std::vector<int> one;
      for (int c = node(n).composite; c >= 0; c = graph_.composites[static_cast<std::size_t>(c)].parent)
        one.insert(one.begin(), c);
      all.push_back(std::move(one));
    }
    const auto name = [&](int c) { return graph_.composites[static_cast<std::size_t>(c)].op->schema.name; };
    for (std::size_t depth = 0; depth < all[0].size(); ++depth) {
      const int c = all[0][depth];
      const bool common = std::all_of(
          all.begin(), all.end(), [&](const std::vector<int>& one) { return depth < one.size() && one[depth] == c; });
      if (common && graph_.composites[static_cast<std::size_t>(c)].op->schema.memory_bound) pattern.composite = name(c);
    }
    if (!pattern.composite.empty()) return;
    for (const std::vector<int>& one : all)
      if (!one.empty() &&
          std::find(pattern.crossed.begin(), pattern.crossed.end(), name(one.back())) == pattern.crossed.end())
        pattern.crossed.push_back(name(one.back()));
  }

  void add(const FoundChain& chain, const std::string& reason) {
    const std::string key = signature(chain);
    const auto [it, fresh] = by_signature_.try_emplace(key, patterns_.size());
    if (fresh) {
      ChainPattern pattern{.shape = template_of(graph_, chain), .reason = reason};
      pattern.launches_saved = static_cast<int>(chain.nodes.size()) - 1;
      pattern.bytes_saved = bytes_saved(chain);
      describe_composites(chain, pattern);
      patterns_.push_back(std::move(pattern));
    }
    patterns_[it->second].instances.push_back(chain);
  }

  const OpGraph& graph_;
  StandIns stand_ins_;
  std::vector<bool> taken_;
  std::map<int, std::string> reasons_;
  std::map<std::string, std::size_t> by_signature_;
  std::vector<ChainPattern> patterns_;
};

}  // namespace

std::vector<ChainPattern> find_chains(const OpGraph& graph) { return Finder(graph).run(); }

bool can_wait_for_the_last(const OpGraph& graph, const std::vector<int>& nodes) {
  std::set<int> made, read;
  std::size_t next = 0;
  for (int n = nodes.front(); n <= nodes.back(); ++n) {
    const Node& node = graph.nodes[static_cast<std::size_t>(n)];
    if (n == nodes[next]) {
      ++next;
      for (const TensorUse& use : node.inputs) read.insert(use.storage);
      for (const TensorUse& use : node.outputs) made.insert(use.storage);
      continue;
    }
    for (const TensorUse& use : node.inputs)
      if (use.defined() && made.count(use.storage)) return false;
    for (const TensorUse& use : node.outputs)
      if (made.count(use.storage) || read.count(use.storage)) return false;
  }
  return true;
}

std::vector<ops::TracedCall> calls_of(const OpGraph& graph, const std::vector<int>& nodes) {
  return StandIns(graph).calls(nodes);
}

ChainTemplate template_of(const OpGraph& graph, const FoundChain& chain) {
  ChainTemplate out;
  std::map<int, int> made, inputs;
  for (std::size_t k = 0; k < chain.nodes.size(); ++k) {
    const Node& node = graph.nodes[static_cast<std::size_t>(chain.nodes[k])];
    ChainStep step{.op = node.op, .path = path_form(node.path), .attributes = node.attributes};
    for (const TensorUse& use : node.inputs) {
      if (!use.defined()) {
        step.inputs.push_back(ChainStep::kAbsent);
      } else if (const auto found = made.find(use.storage); found != made.end()) {
        step.inputs.push_back(found->second);
      } else {
        const int number = inputs.try_emplace(use.storage, static_cast<int>(inputs.size())).first->second;
        step.inputs.push_back(-1 - number);
      }
    }
    made[node.outputs[0].storage] = static_cast<int>(k);
    step.dtype = node.outputs[0].dtype;
    step.output = chain.outputs[k];
    out.steps.push_back(std::move(step));
  }
  return out;
}

}  // namespace tilewright::opgraph
