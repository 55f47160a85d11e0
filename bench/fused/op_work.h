// One operator call on a device, timed along every way to run it: its small ops and the kernels that serve it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ops/core/context.h"

namespace tilewright::bench {

using ops::Tensor;

// Normal values (a million of them, repeated).
Tensor random_tensor(runtime::Stream& stream, DType dtype, const Shape& shape, std::uint64_t seed = 1);

class OpWork {
 public:
  // `sets`: inputs of the calls, which take them in turns. They and the stream must outlive this.
  OpWork(const ops::Registry& registry, runtime::Stream& stream, const std::string& op,
         std::vector<std::vector<Tensor>> sets, ops::Attributes attributes = {});

  // Kernels that serve the call, in the order of selection: the first is what runs when the op is switched on.
  const std::vector<const ops::Candidate*>& kernels() const { return kernels_; }
  // "no kernel yet", or why each refuses.
  const std::string& why_none() const { return why_none_; }
  long launches() const { return launches_; }  // of the decomposition
  double bytes() const { return bytes_; }      // inputs and outputs of a call, each element once

  // Seconds of a call in a sample of some milliseconds; a null kernel stands for the decomposition. Queued: one call
  // behind the other, as in a forward pass. Waited for: each from its submission until its result is there.
  double queued_seconds(const ops::Candidate* kernel) { return sample(kernel, false); }
  double waited_seconds(const ops::Candidate* kernel) { return sample(kernel, true); }

 private:
  double sample(const ops::Candidate* kernel, bool wait);
  double run(const ops::Candidate* kernel, bool wait, int calls);

  ops::Context context_;
  const ops::Op& op_;
  std::vector<std::vector<Tensor>> sets_;
  ops::Attributes attributes_;
  std::vector<const ops::Candidate*> kernels_;
  std::string why_none_;
  long launches_ = 0;
  double bytes_ = 0;
  std::size_t next_ = 0;
  std::map<std::pair<const ops::Candidate*, bool>, int> calls_;  // of a sample
};

}  // namespace tilewright::bench
