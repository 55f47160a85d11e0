// What a forward pass calls and what flows between the calls, as plain values.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "ops/core/observer.h"

namespace tilewright::opgraph {

// A tensor as one call sees it: a view of a storage.
struct TensorUse {
  int storage = -1;  // of OpGraph::storages; -1: an optional argument that is not given
  DType dtype = DType::f32;
  runtime::Layout layout = runtime::Layout::strided;
  Shape shape;
  Strides strides;
  std::int64_t offset = 0;  // elements from the start of the storage
  bool defined() const { return storage >= 0; }
};

// A call of a small op, or of a composite op that ran as one kernel.
struct Node {
  const ops::Op* op = nullptr;
  ops::Attributes attributes;
  std::string path;    // "layers.3.self_attn"
  int composite = -1;  // innermost composite call it is part of (OpGraph::composites)
  bool fused = false;  // a composite's kernel
  bool fresh = true;   // outputs are new storages; false: an existing one is written (in place, or rows of it)
  std::vector<TensorUse> inputs, outputs;
};

struct Storage {
  int producer = -1;         // node whose output it is; -1: made outside (weights, state, ids)
  std::vector<int> readers;  // ascending, each node once
  std::vector<int> writers;  // nodes that write to it after it was made
};

struct CompositeCall {
  const ops::Op* op = nullptr;
  std::string path;
  int parent = -1;
};

// Nodes in the order in which they were called.
struct OpGraph {
  std::vector<Node> nodes;
  std::vector<Storage> storages;
  std::vector<CompositeCall> composites;
};

// Bytes of the elements that the view touches, each counted once.
double bytes_of(const TensorUse& use);

// Watches a pass. It holds only memory that the pass did not make by calls, so that a pass needs no more memory than
// without it. Memory that is handed to the pass while it runs must not be recycled from its own results.
class GraphTracer : public ops::Observer {
 public:
  void call_begins(const ops::OpCall& call, const char* path) override;
  void call_ends(const ops::OpCall& call, const char* path) override;
  void fused(const ops::OpCall& call, std::string_view candidate) override;
  const OpGraph& graph() const { return graph_; }

 private:
  struct OpenCall {
    int composite = -1;  // its number if it is one
    bool into = false;   // writes to a tensor that it was given
    bool fused = false;
  };
  TensorUse use_of(const runtime::Tensor& tensor, int storage) const;
  int storage_of(const runtime::Tensor& tensor);

  OpGraph graph_;
  std::vector<OpenCall> open_;
  std::vector<int> enclosing_;  // composites, innermost last
  std::unordered_map<const runtime::Memory*, int> storages_;
  std::vector<runtime::MemoryRef> outside_;
};

}  // namespace tilewright::opgraph
