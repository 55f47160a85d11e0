#include "fused/op_work.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "runtime/device.h"
#include "target/spin_team.h"

namespace tilewright::bench {
namespace {

constexpr double kSampleSeconds = 0.004;

class LaunchCount : public ops::Observer {
 public:
  void launched(const runtime::Launch&) override { ++count; }
  long count = 0;
};

}  // namespace

Tensor random_tensor(runtime::Stream& stream, DType dtype, const Shape& shape, std::uint64_t seed) {
  HostTensor some(DType::f32, {std::min<std::int64_t>(shape.elements(), 1 << 20)});
  fill(some, "normal", seed);
  const HostTensor source = some.cast(dtype);
  HostTensor values(dtype, shape);
  for (std::size_t at = 0; at < values.bytes.size(); at += source.bytes.size())
    std::memcpy(values.bytes.data() + at, source.bytes.data(), std::min(source.bytes.size(), values.bytes.size() - at));
  return runtime::to_device(stream, values);
}

OpWork::OpWork(const ops::Registry& registry, runtime::Stream& stream, const std::string& op,
               std::vector<std::vector<Tensor>> sets, ops::Attributes attributes)
    : context_(registry, stream),
      op_(registry.get(ops::OpName(std::string_view(op)))),
      sets_(std::move(sets)),
      attributes_(std::move(attributes)) {
  LaunchCount counter;
  ops::Context counting(registry, stream, {}, &counter);
  const ops::Tensors outputs = ops::call_candidate(counting, op_, nullptr, sets_[0], attributes_);
  stream.synchronize();
  launches_ = counter.count;
  bytes_ = ops::tensor_bytes(sets_[0]) + ops::tensor_bytes(outputs.span());
  const std::vector<ops::Candidate>* candidates = op_.candidates_for(context_.kernel_family());
  if (!candidates || candidates->empty()) why_none_ = "no kernel yet";
  for (std::size_t i = 0; candidates && i < candidates->size(); ++i) {
    const ops::Candidate& candidate = (*candidates)[i];
    const ops::OpCall call{op_, sets_[0], attributes_, {}};
    const std::string reason = candidate.refuse ? candidate.refuse(context_, call) : "";
    if (reason.empty())
      kernels_.push_back(&candidate);
    else
      why_none_ += (why_none_.empty() ? "" : "; ") + candidate.name + ": " + reason;
  }
}

double OpWork::run(const ops::Candidate* kernel, bool wait, int calls) {
  runtime::Stream& stream = context_.stream();
  stream.synchronize();
  const double start = target::seconds_now();
  for (int i = 0; i < calls; ++i) {
    ops::call_candidate(context_, op_, kernel, sets_[next_], attributes_);
    if (++next_ == sets_.size()) next_ = 0;
    if (wait) stream.synchronize();
  }
  stream.synchronize();
  return (target::seconds_now() - start) / calls;
}

double OpWork::sample(const ops::Candidate* kernel, bool wait) {
  int& calls = calls_[{kernel, wait}];
  if (calls == 0) {  // whole turns of the sets, so that samples are alike
    const int turn = static_cast<int>(sets_.size());
    run(kernel, wait, 2);
    const double once = run(kernel, wait, std::max(3, turn));
    calls = std::clamp(static_cast<int>(kSampleSeconds / std::max(once, 1e-8)), 3, 100000);
    calls = (calls + turn - 1) / turn * turn;
  }
  return run(kernel, wait, calls);
}

}  // namespace tilewright::bench
