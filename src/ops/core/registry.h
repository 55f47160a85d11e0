// All operators, looked up by name. Filled once at start-up by the register functions, read-only afterwards.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ops/core/op.h"

namespace tilewright::ops {

// An operator's name with its hash, computed once: `static constexpr OpName kMul{"mul"};`
struct OpName {
  std::string_view text;
  std::uint64_t hash;
  constexpr OpName(std::string_view name) : text(name), hash(14695981039346656037ull) {  // NOLINT: implicit on purpose
    for (char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ull;
  }
  constexpr OpName(const char* name) : OpName(std::string_view(name)) {}  // NOLINT
};

class CodeGenerator;
class WeightPacker;
struct TileKernel;

class Registry {
 public:
  Registry();
  ~Registry();
  // A second op of one name aborts.
  Op& add(OpSchema schema);
  void set_reference(std::string_view op, Reference reference);
  void set_decomposition(std::string_view op, Decomposition decomposition);
  // May be called before the op itself is added (order of registration is free); kept in the order tuned, tile,
  // derived.
  void add_candidate(std::string_view op, std::string_view kernel_family, Candidate candidate);
  // Serves every kernel family that has a code generator. May be called before the op itself is added.
  void add_tile_kernel(std::string_view op, TileKernel kernel);
  // The last one set for a family counts.
  void set_code_generator(std::string_view kernel_family, std::shared_ptr<CodeGenerator> generator);
  void set_weight_packer(std::string_view kernel_family, std::unique_ptr<WeightPacker> packer);

  const Op* find(OpName name) const;
  const Op& get(OpName name) const;  // aborts if unknown
  const std::vector<std::unique_ptr<Op>>& ops() const { return ops_; }
  const WeightPacker* weight_packer(std::string_view kernel_family) const;  // null: weights stay row-major

  struct RegisteredKernel {
    std::string op;
    std::shared_ptr<const TileKernel> kernel;
  };
  const std::vector<RegisteredKernel>& tile_kernels() const { return tile_kernels_; }  // in order of registration
  const std::map<std::string, std::shared_ptr<CodeGenerator>>& code_generators() const { return generators_; }

  // Call after all register functions: adds a derived kernel to every memory-bound composite, attaches early candidates
  // and those that tile kernels make, and checks that
  // every name in a decomposition exists, that chains end in small ops, and that candidates name known ops. Throws
  // Error listing what is wrong.
  void finish();

 private:
  struct Pending {
    std::string op, kernel_family;
    Candidate candidate;
  };
  std::vector<std::unique_ptr<Op>> ops_;
  std::vector<const Op*> table_;  // open addressing by OpName::hash, filled by finish()
  std::vector<Pending> pending_;
  std::unordered_map<std::string, std::pair<Reference, Decomposition>> early_;
  std::unordered_map<std::string, std::unique_ptr<WeightPacker>> packers_;
  std::vector<RegisteredKernel> tile_kernels_;
  std::map<std::string, std::shared_ptr<CodeGenerator>> generators_;  // by kernel family
};

}  // namespace tilewright::ops
