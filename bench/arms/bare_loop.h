// The least that a token costs: its matrix-vector products and nothing else. One hand-written loop over the model's own
// packed weights with the library's own GEMV on pinned, spinning threads. Each thread takes its fixed share of the
// panels of every phase (so that it meets the same weights token after token), and between phases there is one barrier
// of one store and one load a thread. Products of the same input (q, k and v; gate and up) are one phase, since nothing
// makes them wait for each other. The inputs stand still: no norm, no attention, no residual, no sampling.
#pragma once

#include <memory>
#include <vector>

#include "engine/session.h"
#include "target/probes.h"

namespace tilewright::bench {

class BareLoop {
 public:
  // Watches one token of the session for its linear layers; its position moves on. The weights must be packed bf16.
  BareLoop(engine::Session& session, target::SpinTeam& team);
  ~BareLoop();

  // Behind `warm` tokens that do not count.
  double seconds(int tokens, int warm);
  double bytes() const { return bytes_; }  // of weights, a token
  std::size_t products() const;
  std::size_t phases() const { return phases_.size(); }

 private:
  struct Product;
  using Phase = std::vector<Product>;
  void run_share(const Phase& phase, int member) const;

  target::SpinTeam& team_;
  std::vector<ops::Tensor> weights_;  // keeps them alive
  std::vector<Phase> phases_;
  std::unique_ptr<target::PagedBuffer> input_, output_;
  double bytes_ = 0;
};

}  // namespace tilewright::bench
