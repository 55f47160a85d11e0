// Small operators on data beyond the last cache, as eager calls on the host device, beside the copy bandwidth.
#include <algorithm>
#include <chrono>

#include "limits/row_groups.h"
#include "ops/core/context.h"
#include "runtime/device.h"

namespace tilewright {

void register_operators(ops::Registry& registry);
void register_backends(runtime::DeviceRegistry& devices, ops::Registry& registry);

namespace bench {
namespace {

using ops::Tensor;

struct Case {
  const char* what;
  const char* op;
  int inputs;
  DType dtype;
  ops::Attributes attributes = {};
  enum { plain, row, heads } layout = plain;
};

const Case kCases[] = {
    {"add f32", "add", 2, DType::f32},
    {"mul f32 by a row", "mul", 2, DType::f32, {}, Case::row},
    {"mul f32 by a scalar", "mul", 1, DType::f32, {{"other", 0.5}}},
    {"rsqrt f32", "rsqrt", 1, DType::f32},
    {"exp f32", "exp", 1, DType::f32},
    {"log f32", "log", 1, DType::f32},
    {"tanh f32", "tanh", 1, DType::f32},
    {"erf f32", "erf", 1, DType::f32},
    {"sin f32", "sin", 1, DType::f32},
    {"cos f32", "cos", 1, DType::f32},
    {"silu f32", "silu", 1, DType::f32},
    {"gelu f32", "gelu", 1, DType::f32},
    {"softmax f32", "softmax", 1, DType::f32},
    {"to bf16", "to", 1, DType::f32, {{"dtype", DType::bf16}}},
    {"to f32", "to", 1, DType::bf16, {{"dtype", DType::f32}}},
    {"add bf16", "add", 2, DType::bf16},
    {"mul bf16 by a row", "mul", 2, DType::bf16, {}, Case::row},
    {"neg bf16", "neg", 1, DType::bf16},
    {"copy bf16 of transposed heads", "copy", 1, DType::bf16, {}, Case::heads},
    {"cat bf16 along the last dim", "cat", 2, DType::bf16},
};

}  // namespace

void add_small_rows(LimitsRun& run) {
  ops::Registry registry;
  runtime::DeviceRegistry devices;
  register_operators(registry);
  register_backends(devices, registry);
  registry.finish();
  const std::shared_ptr<runtime::Device> device = devices.open("host", {.threads = run.options().threads});
  const std::unique_ptr<runtime::Stream> stream = device->create_stream();
  ops::Context context(registry, *stream, {});
  const std::int64_t rows = 8192, columns = 4096;  // 128 MiB of f32
  for (const Case& each : kCases) {
    const RowSpec spec{.what = std::string("small ") + each.what + ", beyond the caches",
                       .unit = "GB/s",
                       .unit_size = 1e9,
                       .limit = LimitKind::copy,
                       .bar = 0.8};
    if (!run.wants(spec.what)) continue;
    std::vector<Tensor> inputs;
    for (int i = 0; i < each.inputs; ++i) {
      const Dims shape = each.layout == Case::row && i == 1 ? Dims{columns} : Dims{rows, columns};
      inputs.push_back(call(context, "full", {}, {{"shape", shape}, {"value", 0.75}, {"dtype", each.dtype}}));
    }
    if (each.layout == Case::heads) inputs[0] = inputs[0].view({1, rows, columns / 128, 128}).transpose(1, 2);
    stream->synchronize();
    run.measure(spec, [&] {
      const auto start = std::chrono::steady_clock::now();
      const Tensor out = call_all(context, ops::OpName(std::string_view(each.op)), inputs, each.attributes)[0];
      stream->synchronize();
      const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
      return (ops::tensor_bytes(inputs) + ops::tensor_bytes({&out, 1})) / seconds.count();
    });
  }
}

}  // namespace bench
}  // namespace tilewright
