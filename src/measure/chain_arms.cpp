#include "measure/chain_arms.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace tilewright::measure {
namespace {

using ops::Context;
using ops::OpName;
using ops::Tensor;

constexpr OpName kTo{"to"};
constexpr double kLeastSeconds = 1e-3;
constexpr int kMostTimes = 400;
// f32 sums in another order and functions by other polynomials, relative to the largest value.
constexpr double kF32Rounding = 0x1p-16;

bool narrow(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; }

// Half a unit in the last place, relative.
double rounding(DType dtype) {
  return dtype == DType::bf16 ? 0x1p-8 : dtype == DType::f16 ? 0x1p-11 : dtype == DType::f32 ? 0x1p-24 : 0;
}

struct Spread {
  double error = 0, largest = 0;
  bool finite = true;
};

Spread difference(const HostTensor& a, const HostTensor& b) {
  Spread out;
  for (std::int64_t i = 0; i < a.elements(); ++i) {
    const double x = a.at(i), y = b.at(i);
    if (std::isinf(x) && x == y) continue;
    if (!std::isfinite(x) || !std::isfinite(y)) {
      out.finite = out.finite && std::isnan(x) && std::isnan(y);
      continue;
    }
    out.error = std::max(out.error, std::abs(x - y));
    out.largest = std::max(out.largest, std::abs(y));
  }
  return out;
}

}  // namespace

ChainArms::ChainArms(Context& context, const opgraph::ChainTemplate& chain, std::vector<ops::TracedCall> calls)
    : calls_(std::move(calls)),
      rewriter_(context.registry(), context.kernel_family(), {chain}),
      plain_(context.registry(), context.stream()),
      fused_(context.registry(), context.stream(), {}, nullptr, &rewriter_) {
  for (const opgraph::ChainStep& step : chain.steps) outputs_.push_back(step.output);
}

// Results of all calls; only outputs if the context has a rewriter, so that nobody asks for the others.
std::vector<Tensor> ChainArms::run(Context& context, bool wide) {
  std::vector<Tensor> made(calls_.size());
  for (std::size_t k = 0; k < calls_.size(); ++k) {
    const ops::TracedCall& traced = calls_[k];
    const ops::PathScope scope(context, traced.path);
    std::vector<Tensor> inputs;
    for (const Tensor& input : traced.inputs) {
      Tensor now = input;
      for (std::size_t from = 0; from < k && input.defined(); ++from) {
        const Tensor& before = calls_[from].outputs[0];
        if (&before.memory() != &input.memory()) continue;
        TW_CHECK(made[from].strides() == before.strides() || before.elements() <= 1);
        now = Tensor(made[from].memory_ref(), made[from].dtype(), input.shape(), input.strides(),
                     made[from].offset() + input.offset() - before.offset());
      }
      if (wide && now.defined() && narrow(now.dtype())) now = ops::call(context, kTo, {now}, {{"dtype", DType::f32}});
      inputs.push_back(std::move(now));
    }
    ops::Attributes attributes = traced.attributes;
    if (wide && attributes.has("dtype") && narrow(attributes.dtype("dtype", DType::f32)))
      attributes.set("dtype", DType::f32);
    if (wide && traced.op->schema.name == "to" && inputs[0].dtype() == attributes.dtype("dtype", DType::f32))
      made[k] = inputs[0];
    else
      made[k] = ops::call_all(context, OpName(std::string_view(traced.op->schema.name)), inputs, attributes)[0];
  }
  if (context.rewriter())
    for (std::size_t k = 0; k < made.size(); ++k)
      if (!outputs_[k]) made[k] = {};
  context.flush();
  return made;
}

ChainCheck ChainArms::check() {
  ChainCheck out;
  rewriter_.reset_counts();
  const std::vector<Tensor> apart = run(plain_, false), fused = run(fused_, false);
  if (rewriter_.counts().fused != 1) {
    const auto& unchanged = rewriter_.counts().unchanged;
    out.refusal = unchanged.empty() ? "the chain is not recognised when it runs" : unchanged.begin()->first;
    return out;
  }
  std::vector<Tensor> wide;
  try {
    wide = run(plain_, true);
  } catch (const Error&) {
    wide.clear();  // an op that does not come in f32
  }
  runtime::Stream& stream = plain_.stream();
  double ratio = -1;
  out.equal = true;
  for (std::size_t k = 0; k < calls_.size(); ++k) {
    if (!outputs_[k]) continue;
    const HostTensor expected = runtime::to_host(stream, apart[k]);
    const Spread found = difference(runtime::to_host(stream, fused[k]), expected);
    const double own = wide.empty() ? 0 : difference(expected, runtime::to_host(stream, wide[k])).error;
    const double one = rounding(apart[k].dtype()) * found.largest, f32 = kF32Rounding * found.largest;
    const double tolerance = 2 * own + one + f32;
    out.equal = out.equal && found.finite && found.error <= tolerance;
    const double share = tolerance > 0 ? found.error / tolerance : found.error > 0 ? 1e9 : 0;
    if (share <= ratio) continue;
    ratio = share;
    out.worst_error = found.error;
    out.tolerance = tolerance;
    out.reason = own > 0
                     ? fmt::format("2 × {:.2g}, the error of the calls as they are against f32, and a rounding", own)
                     : "f32 in another order: 2^-16 of the largest value";
  }
  return out;
}

double ChainArms::seconds(Context& context, int times) {
  runtime::Device& device = context.device();
  device.synchronize();
  const double start = device.now();
  for (int i = 0; i < times; ++i) run(context, false);
  device.synchronize();
  return (device.now() - start) / times;
}

ChainTiming ChainArms::time(int rounds) {
  seconds(plain_, 3);
  const double once = seconds(plain_, 3);
  seconds(fused_, 3);
  const int times = std::clamp(static_cast<int>(std::ceil(kLeastSeconds / std::max(once, 1e-7))), 1, kMostTimes);
  std::vector<double> apart, fused;
  for (int round = 0; round < rounds; ++round)
    for (const bool first : {round % 2 == 0, round % 2 != 0})
      (first ? apart : fused).push_back(seconds(first ? plain_ : fused_, times));
  return {median(apart), median(fused), estimate_ratio(apart, fused)};
}

}  // namespace tilewright::measure
