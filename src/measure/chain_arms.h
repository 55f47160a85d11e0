// One chain on tensors of a real pass: its calls as they are against the launch that replaces them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "measure/statistics.h"
#include "opgraph/chain_rewriter.h"
#include "ops/core/context.h"

namespace tilewright::measure {

struct ChainCheck {
  std::string refusal;     // why no kernel ran; empty: it ran
  double worst_error = 0;  // largest difference of an output to the calls as they are
  double tolerance = 0;
  std::string reason;  // of the tolerance
  bool equal = false;
};

struct ChainTiming {
  double apart_s = 0, fused_s = 0;  // medians of one run
  Estimate speed;                   // time of the calls as they are / time fused, round by round
};

class ChainArms {
 public:
  // `calls`: as traced, in order, with their tensors. The context is used as it is but for its observer, switches and
  // rewriter.
  ChainArms(ops::Context& context, const opgraph::ChainTemplate& chain, std::vector<ops::TracedCall> calls);

  // Both run as a model would, through contexts with and without a rewriter. Tolerance: the chain is run a third time
  // with every narrow tensor in f32. What narrow results cost the calls as they are is taken as the measure: the fused
  // launch may differ from them by twice that, one rounding of the output and what f32 arithmetic in another order
  // gives.
  ChainCheck check();
  // The arms alternate; each round runs each of them as often as makes it last a millisecond or more.
  ChainTiming time(int rounds);

 private:
  std::vector<ops::Tensor> run(ops::Context& context, bool wide);
  double seconds(ops::Context& context, int times);

  std::vector<ops::TracedCall> calls_;
  std::vector<bool> outputs_;
  opgraph::ChainRewriter rewriter_;
  ops::Context plain_, fused_;
};

}  // namespace tilewright::measure
