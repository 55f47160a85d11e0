// Chooses the next token on the host. The order is the reference implementation's: repetition penalty, then, if
// sampling, temperature, top_k, top_p, min_p, and a draw from what is left.
#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <vector>

namespace tilewright::engine {

struct Sampling {
  bool sample = false;  // false, or temperature 0: the best token
  double temperature = 1;
  std::int64_t top_k = 0;  // 0: all; ties of the last one stay
  double top_p = 1;
  double min_p = 0;
  double repetition_penalty = 1;  // of every token of prompt and answer
  std::uint64_t seed = 0;

  bool greedy() const { return !sample || temperature == 0; }
  // True: the choice is the largest logit as it is, so the device can make it.
  bool plain_greedy() const { return greedy() && repetition_penalty == 1; }
  friend bool operator==(const Sampling&, const Sampling&) = default;
};

// Throws Error naming the flag for a value that makes no sense (negative temperature, top_p outside 0 … 1 …).
void check_sampling(const Sampling& sampling);

class Sampler {
 public:
  explicit Sampler(const Sampling& sampling) : sampling_(sampling), random_(sampling.seed) {}
  // `logits` of one position (changed in place); `history` holds the ids of prompt and answer so far. The same seed and
  // logits give the same tokens on every machine.
  std::int64_t choose(std::span<float> logits, std::span<const std::int64_t> history);

  struct Candidate {
    std::int64_t id;
    double probability;
  };
  // What a draw would choose from, most probable first (ties: lower id first).
  std::vector<Candidate> candidates(std::span<float> logits, std::span<const std::int64_t> history) const;

 private:
  std::vector<Candidate> survivors(std::span<float> logits, std::span<const std::int64_t> history) const;
  Sampling sampling_;
  std::mt19937_64 random_;
};

}  // namespace tilewright::engine
