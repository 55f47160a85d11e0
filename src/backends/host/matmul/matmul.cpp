#include "backends/host/matmul/matmul.h"

#include <algorithm>

#include "backends/host/host_kernel.h"
#include "backends/host/linear/panels.h"
#include "backends/host/matmul/launches.h"
#include "base/error.h"

namespace tilewright::backends::host {
namespace {

constexpr ops::OpName kCopy{"copy"};

struct PackParameters {
  DType dtype;
  long row_stride, n, k;
  long panels_per_block;
};

void pack_blocks(const HostCall& call) {
  const auto& p = parameters_of<PackParameters>(call);
  pack_panels(p.dtype, call.buffers[0], p.row_stride, p.n, p.k, call.buffers[1], call.begin * p.panels_per_block,
              std::min(panel_count(p.n), call.end * p.panels_per_block));
}

const runtime::Kernel kPackKernel = host_kernel("pack_weight", &pack_blocks);

class HostWeightPacker : public ops::WeightPacker {
 public:
  ops::Layout layout(DType dtype) const override { return packed_layout(dtype); }

  std::size_t packed_bytes(DType dtype, std::int64_t n, std::int64_t k) const override {
    return host::packed_bytes(dtype, n, k);
  }

  void pack(ops::Context& context, const ops::Tensor& source, const ops::Tensor& destination) const override {
    TW_CHECK(source.rank() == 2 && source.shape() == destination.shape() && source.dtype() == destination.dtype());
    TW_CHECK(destination.layout() == packed_layout(source.dtype()) && destination.layout() != ops::Layout::strided);
    const ops::Tensor plain = unit_rows(source) ? source : ops::call(context, kCopy, {source});
    const long panel = std::max(1L, static_cast<long>(panel_bytes(source.dtype(), source.dim(1))));
    const PackParameters parameters{.dtype = source.dtype(),
                                    .row_stride = plain.strides()[0],
                                    .n = plain.dim(0),
                                    .k = plain.dim(1),
                                    .panels_per_block = std::max(1L, 262144 / panel)};
    const long panels = panel_count(parameters.n);
    runtime::Launch launch;
    launch.kernel = &kPackKernel;
    launch.op = "pack_weight";
    launch.grid = static_cast<std::uint32_t>((panels + parameters.panels_per_block - 1) / parameters.panels_per_block);
    launch.cost.unit = runtime::Unit::move;
    launch.cost.bytes_read = ops::tensor_bytes({&plain, 1});
    launch.cost.bytes_written = static_cast<double>(host::packed_bytes(source.dtype(), parameters.n, parameters.k));
    launch.add_buffer(runtime::read_arg(plain));
    launch.add_buffer({.memory = &destination.memory(),
                       .offset = destination.byte_offset(),
                       .bytes = host::packed_bytes(source.dtype(), parameters.n, parameters.k),
                       .write = true});
    launch.set_parameters(parameters);
    context.submit(launch);
  }
};

}  // namespace

ops::Layout packed_layout(DType dtype) {
  if (!has_panel_layout(dtype)) return ops::Layout::strided;
  return panel_layout_tag(dtype) == "panel32x2" ? ops::Layout::panel32x2 : ops::Layout::panel32;
}

std::unique_ptr<ops::WeightPacker> make_weight_packer() { return std::make_unique<HostWeightPacker>(); }

void add_matmul(ops::Registry& registry) {
  registry.add_candidate(
      "linear", "host",
      {.name = "host panels", .kind = ops::CandidateKind::small, .refuse = refuse_linear, .run = run_linear});
  for (const char* op : {"mm", "bmm"})
    registry.add_candidate(
        op, "host",
        {.name = "host tiles", .kind = ops::CandidateKind::small, .refuse = refuse_product, .run = run_product});
  registry.set_weight_packer("host", make_weight_packer());
}

}  // namespace tilewright::backends::host
