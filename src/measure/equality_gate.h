// Outputs of every arm are compared with eager's before any ratio: logits, teacher-forced on eager's tokens, and the
// tokens themselves (issue of SPEC §4).
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "measure/arm_run.h"

namespace tilewright::measure {

inline constexpr std::int64_t kJudgedPositions = 32;  // whose logits are compared

class EqualityGate {
 public:
  // Runs the pass eagerly and fixes the bound for |logit - eager's logit|:
  //   f32: 1e-4 · the largest |logit|;
  //   f16, bf16: 1.5 × the largest difference between eager and eager with f32 activations on the same (rounded)
  //   weights, both with logits in the narrow dtype, as arms deliver them; a pass of fewer than 32 positions is
  //   lengthened for this, as the largest of few differences says little. At least a unit in the last place of the
  //   largest logit. For that the weights are converted on the device and freed again; if memory does not suffice, the
  //   bound is 8 units of the dtype's rounding of the largest |logit|, and `bound_source` says so.
  // All over the first 32 positions: decode: the prompt's last row and the steps behind it; prefill: the prompt's first
  // rows, and its last. Throws Error if eager cannot run.
  EqualityGate(ArmRun& eager, const Pass& pass, const std::shared_ptr<const engine::LoadedModel>& loaded,
               const engine::SessionOptions& options, const std::atomic<bool>* interrupted = nullptr);

  // Of eager itself: wrong if a logit is not finite.
  const Equality& eager() const { return eager_; }

  // Wrong: a logit is off by more than the bound, from eager and (f16, bf16) from eager with f32 activations too: a
  // kernel that rounds less is further from eager the more exact it is, and is judged by the run that it comes closer
  // to. Wrong as well: a token differs where eager's two best logits are further apart than
  // the bound, or (graph arms) a logit differs in any bit from what the same kernels give launch by launch, on the
  // prompt padded likewise. Near-tie: a token differs where they are not. Tokens of all steps are compared.
  // `ungraphed`: the arm with the same kernels, for graph arms; else null. Throws Error if the arm cannot run.
  Equality judge(ArmRun& arm, ArmRun* ungraphed) const;

  // What it is made of, for tests: outputs of a pass, and what is said of two of them.
  struct Position {
    HostTensor logits;  // [batch, vocab] in compute dtype; empty behind the judged ones
    std::int64_t place = 0;
    std::vector<std::int64_t> tokens;  // the best by the arm, one a sequence
    std::vector<double> gaps;          // eager: between the two best logits, one a sequence
  };
  using Positions = std::vector<Position>;
  struct Worst {
    double difference = 0;
    std::int64_t place = -1;
  };
  // A row of logits [batch, rows, vocab], with its tokens and gaps.
  static Position prompt_row(const HostTensor& all, std::int64_t row);
  // The largest difference of two logits; infinite if they differ and one is not finite.
  static Worst worst(const Positions& a, const Positions& b);
  // The bound of f16 and bf16: `own`: how far eager is from eager with f32 activations, `largest`: the largest |logit|.
  static double narrow_bound(double own, double largest, DType dtype);
  // Wrong: further than `out.bound` from the reference, and from `exact` (empty: there is none).
  static void compare_logits(const Positions& own, const Positions& reference, const Positions& exact, Equality& out);
  // Counts tokens and judges those that differ by `out.bound`; a verdict that is wrong stays.
  static void compare_tokens(const Positions& own, const Positions& reference, Equality& out);
  // `apart`: the same kernels launch by launch, at most as many positions.
  static void compare_bits(const Positions& own, const Positions& apart, const std::string& name, Equality& out);

 private:
  // `padded`: as a graph's prompt; `steps`: at most so many; `gaps`: wanted.
  Positions run(ArmRun& arm, const Positions* teacher, bool padded, std::int64_t steps, bool gaps) const {
    return run(arm, pass_, teacher, padded, steps, gaps);
  }
  Positions run(ArmRun& arm, const Pass& pass, const Positions* teacher, bool padded, std::int64_t steps,
                bool gaps) const;
  Positions run_prompt(ArmRun& arm, const Pass& pass, bool padded, bool gaps) const;
  void fix_bound(ArmRun& eager, const std::shared_ptr<const engine::LoadedModel>& loaded,
                 const engine::SessionOptions& options);

  const Pass& pass_;
  const std::atomic<bool>* interrupted_;
  Positions reference_;
  Positions exact_;  // eager with f32 activations, rounded to the dtype; empty if there was no such run
  Equality eager_;
};

}  // namespace tilewright::measure
