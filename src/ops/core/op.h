// What an operator is: its schema, its reference, its decomposition and the candidates that can run it.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ops/core/attributes.h"
#include "ops/core/scalar_expression.h"
#include "runtime/tensor.h"

namespace tilewright::ops {

using runtime::Cost;
using runtime::Layout;
using runtime::Tensor;
using runtime::Unit;

class Context;
struct Op;

// Outputs of a call, at most four, held inline.
class Tensors {
 public:
  Tensors() = default;
  Tensors(std::initializer_list<Tensor> list) {
    for (const Tensor& t : list) push_back(t);
  }
  void push_back(Tensor tensor) {
    TW_CHECK(size_ < kMax);
    items_[static_cast<std::size_t>(size_++)] = std::move(tensor);
  }
  Tensor& operator[](int i) { return items_[static_cast<std::size_t>(i)]; }
  const Tensor& operator[](int i) const { return items_[static_cast<std::size_t>(i)]; }
  int size() const { return size_; }
  std::span<const Tensor> span() const { return {items_.data(), static_cast<std::size_t>(size_)}; }

 private:
  static constexpr int kMax = 4;
  std::array<Tensor, kMax> items_;
  int size_ = 0;
};

// One call of an operator. An optional input that was not given is an undefined tensor.
struct OpCall {
  const Op& op;
  std::span<const Tensor> inputs;
  const Attributes& attributes;
  std::span<const Tensor> outputs;  // empty until they are known
  const Tensor& input(int i) const { return inputs[static_cast<std::size_t>(i)]; }
  bool has(int i) const { return i < static_cast<int>(inputs.size()) && inputs[static_cast<std::size_t>(i)].defined(); }
  std::string describe() const;  // "mul(bf16 [1, 5, 64], bf16 [64])"
};

struct OutputSpec {
  DType dtype = DType::f32;
  Shape shape;
  Strides strides = {};     // rank 0 with a shape of higher rank: contiguous
  int alias_of_input = -1;  // >= 0: the output is that input, written in place
};

struct ArgumentSpec {
  std::string name;
  bool optional = false;
};
struct AttributeSpec {
  std::string name;
  std::string type;  // "int", "float", "bool", "dtype", "dims", "text"
  std::string meaning;
};

enum class OpKind { small, composite };

struct OpSchema {
  std::string name;  // as in aten for small ops
  OpKind kind = OpKind::small;
  std::string summary;  // the formula in one line
  std::vector<ArgumentSpec> inputs;
  bool variadic = false;  // the last input may repeat
  std::vector<AttributeSpec> attributes;
  std::vector<std::string> outputs = {"out"};
  // Checks dtypes and shapes and gives the outputs. Throws Error naming the op, the argument, expected and found.
  std::function<std::vector<OutputSpec>(const OpCall&)> infer;
  std::function<double(const OpCall&)> flops;  // outputs are known; empty function: 0
  Unit unit = Unit::vector;
  bool memory_bound = true;  // may take part in a fused chain
  // Elementwise ops: what one element of the output is, for a call with that many inputs given. The operands broadcast
  // to the output's shape; arithmetic is in f32 or wider with one rounding to the output's dtype. Others: empty.
  std::function<const ScalarExpression&(int inputs_given, const Attributes&)> scalar;
};

// Values by the definition, plain loops with double accumulation; inputs as in a call, undefined optional ones have
// shape of rank 0 and no bytes (`absent`). Output dtypes are those of the schema.
using Reference =
    std::function<std::vector<HostTensor>(std::span<const HostTensor> inputs, const Attributes& attributes)>;
bool absent(const HostTensor& tensor);

struct Decomposition {
  std::vector<std::string> calls;  // every op name it may call; checked at start-up and against traces by a test
  std::function<Tensors(Context&, const OpCall&)> run;
};

enum class CandidateKind { tuned, tile, derived, small };
std::string_view candidate_kind_name(CandidateKind kind);

// A kernel that can serve calls of an op on devices of one kernel family.
struct Candidate {
  std::string name;
  CandidateKind kind = CandidateKind::tuned;
  // Why this call cannot be served (a phrase a user can read), or empty.
  std::function<std::string(Context&, const OpCall&)> refuse;
  // Submits the launches; outputs are allocated.
  std::function<void(Context&, const OpCall&)> run;
  // Both in one, for candidates where asking and running share work: submits, or gives the reason why not and submits
  // nothing. Outputs are allocated. Empty: refuse, then run.
  std::function<std::string(Context&, const OpCall&)> attempt = {};
};

struct Op {
  OpSchema schema;
  int index = 0;                // position in the registry
  Reference reference;          // may be empty while tests report it
  Decomposition decomposition;  // composites only
  struct FamilyCandidates {
    std::string kernel_family;
    std::vector<Candidate> ordered;  // tuned, tile, derived
  };
  std::vector<FamilyCandidates> candidates;
  const std::vector<Candidate>* candidates_for(std::string_view kernel_family) const;
};

// Total bytes of the defined tensors' elements, each counted once.
double tensor_bytes(std::span<const Tensor> tensors);

}  // namespace tilewright::ops
