// Runs known chains as one launch each while a model runs: a context's Rewriter.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "opgraph/chain_kernels.h"
#include "opgraph/chain_template.h"
#include "ops/core/context.h"

namespace tilewright::opgraph {

// A call that continues (or begins) a known chain is held back, with its tensors; when the chain is complete one launch
// replaces its calls. Several chains may be in flight. Held calls run unchanged and in order as soon as another launch
// reads what they write or writes what they touch, when no kernel can be derived for the chain's tensors, and at a
// flush.
//
// Chains are recognised by op, path, attributes and how calls hang together; whether the held calls may run later, and
// as one, depends only on what really reads and writes what. A result that a chain's kernel does not write although
// somebody can still reach it is made up for by running the calls that make it, at the latest when it is read, before
// what they read is overwritten, or at a flush. So results are right for any templates and any model.
class ChainRewriter : public ops::Rewriter {
 public:
  ChainRewriter(const ops::Registry& registry, const std::string& kernel_family, std::vector<ChainTemplate> templates);

  bool hold(ops::Context& context, const ops::OpCall& call, const ops::Candidate& candidate, bool fresh) override;
  void submit(ops::Context& context, const runtime::Launch& launch) override;
  void flush(ops::Context& context) override;

  struct Counts {
    long fused = 0;                         // chains that ran as one launch
    long dropped = 0;                       // launches that these replaced
    long remade = 0;                        // chains whose intermediates were needed after all
    std::map<std::string, long> unchanged;  // chains that were begun and ran unchanged, by reason
  };
  const Counts& counts() const { return counts_; }
  void reset_counts() { counts_ = {}; }

 private:
  // A chain in flight: the templates that it may still become all begin with the calls held so far.
  struct Instance {
    std::vector<int> templates;
    std::vector<ops::TracedCall> calls;
    std::vector<const ops::Candidate*> candidates;  // of each call
    std::vector<const runtime::Memory*> inputs;     // in the order in which they are first read
    void clear();
  };
  // A chain that ran as one launch, while its unwritten results may still be reached.
  struct Unwritten {
    struct Result {
      runtime::MemoryRef memory;
      int own = 0;  // references held here
    };
    std::vector<ops::TracedCall> calls;  // that would write them, in order
    std::vector<const ops::Candidate*> candidates;
    std::vector<Result> results;
    bool reachable() const;
    bool makes(const runtime::Memory* memory) const;
    bool reads(const runtime::Memory* memory) const;
  };

  int form_of(const char* path);
  bool continues(int of_template, const Instance& instance, const ops::OpCall& call, int form) const;
  void append(ops::Context& context, const ops::OpCall& call, const ops::Candidate& candidate, Instance* instance);
  void complete(ops::Context& context, Instance* instance);
  void release(ops::Context& context, Instance* instance, const std::string& reason);
  void make_up(ops::Context& context, std::size_t unwritten);
  void run(ops::Context& context, const ops::TracedCall& call, const ops::Candidate& candidate);
  std::unique_ptr<Instance> take(Instance* instance);

  ChainKernels kernels_;
  std::vector<ChainTemplate> templates_;
  std::vector<std::vector<int>> step_forms_;                            // number of each step's path form
  std::unordered_map<std::string, int> forms_;                          // path form -> number
  std::unordered_map<const char*, std::pair<std::string, int>> paths_;  // as they are met
  std::unordered_map<const ops::Op*, std::vector<int>> beginnings_;     // templates by first op
  std::vector<std::unique_ptr<Instance>> in_flight_;
  std::vector<std::unique_ptr<Unwritten>> unwritten_;
  std::vector<std::unique_ptr<Instance>> spare_;  // empty ones, to be used again
  bool running_ = false;                          // held calls: their launches are passed on
  Counts counts_;
};

}  // namespace tilewright::opgraph
