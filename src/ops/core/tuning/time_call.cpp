#include "ops/core/tuning/time_call.h"

#include <algorithm>
#include <cstring>

#include "base/cpu.h"

namespace tilewright::ops {
namespace {

constexpr double kSampleSeconds = 0.0006;  // of one arm: far above the clock's step and the wait at its end
constexpr double kMostSeconds = 0.25;      // of all rounds after the sixth
constexpr int kLeastRounds = 6, kMostRounds = 25, kMostRepeats = 512, kMostSets = 16;
constexpr std::uint64_t kMostBytes = std::uint64_t{96} << 20;
constexpr std::int64_t kPatternElements = 1 << 16;

bool is_copied(const Tensor& t) {
  return t.defined() && t.layout() == Layout::strided &&
         (t.dtype() == DType::f32 || t.dtype() == DType::f16 || t.dtype() == DType::bf16);
}

// Normal numbers, over and over: what activations look like, without denormals or infinities.
class Contents {
 public:
  explicit Contents(runtime::Stream& stream) : stream_(stream) {}
  void write(runtime::Memory& memory, DType dtype, std::uint64_t bytes) {
    if (pattern_.bytes.empty() || pattern_.dtype != dtype) {
      HostTensor normal(DType::f32, {kPatternElements});
      fill(normal, "normal", 1);
      pattern_ = dtype == DType::f32 ? std::move(normal) : normal.cast(dtype);
    }
    for (std::uint64_t at = 0; at < bytes; at += pattern_.bytes.size())
      stream_.copy_from_host(memory, at, pattern_.bytes.data(),
                             std::min<std::uint64_t>(pattern_.bytes.size(), bytes - at));
  }

 private:
  runtime::Stream& stream_;
  HostTensor pattern_;
};

using Inputs = std::vector<Tensor>;

std::uint64_t copied_bytes(const OpCall& call) {
  std::uint64_t out = 0;
  for (const Tensor& t : call.inputs)
    if (is_copied(t)) out += t.span_bytes();
  return out;
}

Inputs copy_of(Context& context, const OpCall& call, Contents& contents) {
  Inputs out;
  for (const Tensor& t : call.inputs) {
    if (!is_copied(t)) {
      out.push_back(t);
      continue;
    }
    const std::uint64_t bytes = t.span_bytes();
    const auto elements = static_cast<std::int64_t>(bytes / dtype_size(t.dtype()));
    const Tensor whole = context.empty(t.dtype(), {elements});
    if (bytes > 0) contents.write(whole.memory(), t.dtype(), bytes);
    out.push_back(Tensor(whole.memory_ref(), t.dtype(), t.shape(), t.strides(), 0));
  }
  return out;
}

// Enough that a set has left the cores' own caches when its turn comes again, as after a layer's weights; not so many
// that small tensors would come from memory, where a model's activations do not lie.
std::size_t sets_for(std::uint64_t bytes, int threads) {
  const std::uint64_t l2 = static_cast<std::uint64_t>(std::max(cpu_info().l2_bytes, 1l << 20));
  const std::uint64_t wanted = 2 * l2 * static_cast<std::uint64_t>(threads);
  const std::uint64_t one = std::max<std::uint64_t>(bytes, 1);
  const std::uint64_t fit = std::max<std::uint64_t>(1, kMostBytes / one);
  return static_cast<std::size_t>(
      std::min<std::uint64_t>(fit, std::clamp<std::uint64_t>((wanted + one - 1) / one, 2, kMostSets)));
}

struct Arm {
  const Candidate* candidate = nullptr;
  int repeats = 1;
};

class CallTimer {
 public:
  CallTimer(Context& context, const OpCall& call) : context_(context), call_(call) {
    Contents contents(context.stream());
    const std::size_t sets = sets_for(copied_bytes(call), context.device().threads());
    for (std::size_t i = 0; i < sets; ++i) sets_.push_back(copy_of(context, call, contents));
  }
  double sample(const Arm& arm) {
    runtime::Device& device = context_.device();
    device.synchronize();
    const double start = device.now();
    for (int i = 0; i < arm.repeats; ++i) {
      call_candidate(context_, call_.op, arm.candidate, sets_[next_], call_.attributes);
      next_ = next_ + 1 == sets_.size() ? 0 : next_ + 1;
    }
    device.synchronize();
    return std::max(1e-9, device.now() - start) / arm.repeats;
  }

 private:
  Context& context_;
  const OpCall& call_;
  std::vector<Inputs> sets_;
  std::size_t next_ = 0;
};

}  // namespace

std::vector<ArmTimes> time_call(Context& context, const OpCall& call, std::span<const Candidate* const> kernels) {
  CallTimer timer(context, call);
  std::vector<Arm> arms(1);
  std::vector<ArmTimes> out{{std::string(kDecomposition), {}}};
  for (const Candidate* kernel : kernels) {
    arms.push_back({kernel});
    out.push_back({kernel->name, {}});
  }
  for (Arm& arm : arms) {
    timer.sample(arm);  // loads code, takes memory
    arm.repeats = static_cast<int>(std::clamp(kSampleSeconds / timer.sample(arm), 1.0, double(kMostRepeats)));
  }
  double later = 0;
  for (int round = 0; round < kMostRounds; ++round) {
    double spent = 0;
    for (std::size_t i = 0; i < arms.size(); ++i) {
      const std::size_t at = (i + static_cast<std::size_t>(round)) % arms.size();
      out[at].seconds.push_back(timer.sample(arms[at]));
      spent += out[at].seconds.back() * arms[at].repeats;
    }
    if (round + 1 < kLeastRounds) continue;
    if (settled(out)) break;
    later += spent;
    if (later > kMostSeconds) break;
  }
  return out;
}

}  // namespace tilewright::ops
