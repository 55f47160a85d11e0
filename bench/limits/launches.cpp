// What a launch costs when the work is nothing: on a stream, and through an operator call as an eager pass makes it.
#include <atomic>
#include <functional>

#include "backends/host/host_kernel.h"
#include "limits/row_groups.h"
#include "ops/core/context.h"

namespace tilewright {
void register_operators(ops::Registry& registry);
void register_backends(runtime::DeviceRegistry& devices, ops::Registry& registry);
}  // namespace tilewright

namespace tilewright::bench {
namespace {

using backends::host::HostCall;

void do_nothing(const HostCall&) {}
const runtime::Kernel kEmpty = backends::host::host_kernel("empty", &do_nothing);

constexpr const char *kOnStream = "launch empty kernel on a stream, host time",
                     *kEager = "launch empty kernel, eager, host time",
                     *kEagerAdd = "launch add of 64 floats, eager, host time",
                     *kBackToBack = "launch empty kernel, back to back, each",
                     *kQueuedAdd = "launch add of 64 floats, queued before, each",
                     *kBackToBackAdd = "launch add of 64 floats, back to back, each";

// Fewer than a stream's queue holds, so that the caller never waits for room.
constexpr int kBatch = 200;
constexpr int kBatches = 20;

void add_empty_op(ops::Registry& registry) {
  ops::OpSchema schema;
  schema.name = "empty_op";
  schema.summary = "nothing";
  schema.inputs = {{"self"}};
  schema.infer = [](const ops::OpCall& call) {
    return std::vector<ops::OutputSpec>{{call.input(0).dtype(), call.input(0).shape()}};
  };
  registry.add(std::move(schema));
  registry.add_candidate(
      "empty_op", "host",
      {.name = "empty", .kind = ops::CandidateKind::small, .run = [](ops::Context& context, const ops::OpCall& call) {
         runtime::Launch launch = ops::make_launch(kEmpty, call);
         launch.add_buffer(runtime::read_arg(call.input(0)));
         launch.add_buffer(runtime::write_arg(call.outputs[0]));
         context.submit(launch);
       }});
}

// Seconds of host time for one of a batch of launches; the device works at the same time.
double host_seconds(runtime::Stream& stream, const std::function<void()>& submit) {
  double sum = 0;
  for (int batch = 0; batch < kBatches; ++batch) {
    stream.synchronize();
    const double start = target::seconds_now();
    for (int i = 0; i < kBatch; ++i) submit();
    sum += target::seconds_now() - start;
  }
  stream.synchronize();
  return sum / (kBatch * kBatches);
}

// Seconds for one of many launches until the device has done them all.
double whole_seconds(runtime::Stream& stream, const std::function<void()>& submit) {
  stream.synchronize();
  const double start = target::seconds_now();
  for (int i = 0; i < kBatch * kBatches; ++i) submit();
  stream.synchronize();
  return (target::seconds_now() - start) / (kBatch * kBatches);
}

std::atomic<bool> hold{false};
void wait_while_held(const HostCall&) {
  while (hold.load(std::memory_order_acquire)) {
  }
}
const runtime::Kernel kHold = backends::host::host_kernel("hold", &wait_while_held);

// Seconds of device time for one of many launches that were in the queue before the first of them began.
double queued_seconds(runtime::Stream& stream, const std::function<void()>& submit) {
  constexpr int kQueued = 100;
  const auto begin = stream.device().create_event(), end = stream.device().create_event();
  double sum = 0;
  for (int batch = 0; batch < kBatches; ++batch) {
    hold = true;
    runtime::Launch launch;
    launch.kernel = &kHold;
    stream.submit(launch);
    stream.record(*begin);
    for (int i = 0; i < kQueued; ++i) submit();
    stream.record(*end);
    hold = false;
    sum += end->seconds_since(*begin);
  }
  return sum / (kQueued * kBatches);
}

}  // namespace

void add_launch_rows(LimitsRun& run) {
  if (!run.wants_any({kOnStream, kEager, kEagerAdd, kBackToBack, kBackToBackAdd, kQueuedAdd})) return;
  ops::Registry operators;
  runtime::DeviceRegistry devices;
  register_operators(operators);
  register_backends(devices, operators);
  add_empty_op(operators);
  operators.finish();
  const auto device = devices.open("host", {.threads = run.options().threads});
  runtime::Stream& stream = device->default_stream();
  ops::Context context(operators, stream);
  HostTensor values(DType::f32, {64});
  const ops::Tensor x = runtime::to_device(stream, values), y = runtime::to_device(stream, values);
  const int samples = run.options().rounds;
  static constexpr ops::OpName kEmptyOp{"empty_op"}, kAdd{"add"};
  const auto on_stream = [&] {
    runtime::Launch launch;
    launch.kernel = &kEmpty;
    launch.add_buffer(runtime::read_arg(x));
    launch.add_buffer(runtime::write_arg(y));
    stream.submit(launch);
  };
  const auto eager_empty = [&] { ops::call(context, kEmptyOp, {x}); };
  const auto eager_add = [&] { ops::call(context, kAdd, {x, y}); };
  const auto row = [&](const char* what, std::optional<double> bar, const std::function<double()>& value) {
    run.record({.what = what, .unit = "us", .unit_size = 1e-6, .bar = bar, .at_most = true}, samples, value);
  };
  row(kOnStream, {}, [&] { return host_seconds(stream, on_stream); });
  row(kEager, 1.0, [&] { return host_seconds(stream, eager_empty); });
  row(kEagerAdd, {}, [&] { return host_seconds(stream, eager_add); });
  row(kBackToBack, {}, [&] { return whole_seconds(stream, eager_empty); });
  if (run.options().threads > 1) row(kQueuedAdd, {}, [&] { return queued_seconds(stream, eager_add); });
  row(kBackToBackAdd, 1.5, [&] { return whole_seconds(stream, eager_add); });
}

}  // namespace tilewright::bench
