// Kernels for chains of calls: derived for a chain's tensors at first sight, compiled once per program, then looked up.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "ops/core/code_generator.h"
#include "ops/core/derive/derived_program.h"
#include "ops/core/registry.h"
#include "ops/core/tile_signature.h"

namespace tilewright::opgraph {

// What a chain takes and gives. `outputs[k]`: the result of call k is used outside.
struct ChainEnds {
  std::vector<ops::ChainInput> inputs;  // each memory once, as first read
  std::vector<ops::ChainOutput> outputs;
};
ChainEnds ends_of(std::span<const ops::TracedCall> calls, const std::vector<bool>& outputs);

// Derives and checks what a launch of the program must keep to (buffers, values). No device is needed.
ops::Derived derive_chain(std::span<const ops::TracedCall> calls, const std::vector<bool>& outputs);

// One thread at a time.
class ChainKernels {
 public:
  ChainKernels(const ops::Registry& registry, const std::string& kernel_family);
  ~ChainKernels();

  // Fills `launch` with one launch that does the chain's work, or says why not (a phrase a user can read; kept, so that
  // asking again is cheap). Each call has one output, in memory of its own. The launch's path is the first call's.
  std::string make_launch(std::span<const ops::TracedCall> calls, const std::vector<bool>& outputs,
                          const runtime::Device& device, runtime::Launch& launch);

  std::size_t programs() const { return compiled_.size(); }

 private:
  struct Compiled;
  struct Plan;
  const Plan& plan(std::span<const ops::TracedCall> calls, const std::vector<bool>& outputs);
  std::unique_ptr<Plan> make_plan(std::span<const ops::TracedCall> calls, const std::vector<bool>& outputs);
  const Compiled& compiled(const tile::Program& program);

  std::string family_;
  std::shared_ptr<ops::CodeGenerator> generator_;  // null if the family has none
  std::vector<std::int64_t> key_;
  std::vector<runtime::Tensor> inputs_;  // of the chain that the key was made of
  std::unordered_multimap<std::uint64_t, std::unique_ptr<Plan>> plans_;
  std::vector<std::unique_ptr<Compiled>> compiled_;
};

}  // namespace tilewright::opgraph
