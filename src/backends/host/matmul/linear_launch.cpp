#include <algorithm>

#include "backends/host/linear/linear.h"
#include "backends/host/linear/panels.h"
#include "backends/host/matmul/launches.h"
#include "backends/host/matmul/phases.h"

namespace tilewright::backends::host {
namespace {

constexpr ops::OpName kCopy{"copy"};

// Buffers: x, weight, y, then bias and scratch if they are there.
struct Parameters {
  LinearProblem problem;  // pointers are filled in by each call
  LinearPlan plan;
  std::uint32_t pack_blocks;  // 0: the weight is packed already
  long panels_per_pack;
  long weight_row_stride;
  std::size_t packed_bytes;  // in front of the plan's scratch
  bool bias;
};
static_assert(sizeof(Parameters) <= runtime::kMaxParameterBytes);

void linear_blocks(const HostCall& call) {
  const auto& p = parameters_of<Parameters>(call);
  LinearProblem problem = p.problem;
  problem.x = call.buffers[0];
  problem.y = call.buffers[2];
  problem.bias = p.bias ? call.buffers[3] : nullptr;
  char* const scratch = static_cast<char*>(call.buffers[p.bias ? 4 : 3]);
  problem.packed = p.pack_blocks ? scratch : call.buffers[1];
  const std::uint32_t first = p.pack_blocks + p.plan.prepare_blocks;
  if (first) problem.scratch = scratch + p.packed_bytes;
  const auto prepare = [&](std::uint32_t begin, std::uint32_t end) {
    if (begin < p.pack_blocks)
      pack_panels(problem.w_dtype, call.buffers[1], p.weight_row_stride, problem.N, problem.K, scratch,
                  begin * p.panels_per_pack,
                  std::min(panel_count(problem.N), std::min(end, p.pack_blocks) * p.panels_per_pack));
    if (end > p.pack_blocks)
      linear_prepare(problem, p.plan, std::max(begin, p.pack_blocks) - p.pack_blocks, end - p.pack_blocks);
  };
  run_in_phases(call, first, prepare,
                [&](std::uint32_t begin, std::uint32_t end) { linear_run(problem, p.plan, begin, end); });
}

const runtime::Kernel kLinearKernel = host_kernel("linear", &linear_blocks);

}  // namespace

std::string refuse_linear(ops::Context&, const ops::OpCall& call) {
  const ops::Tensor& x = call.input(0);
  const ops::Tensor& weight = call.input(1);
  if (!linear_supports(x.dtype(), weight.dtype()))
    return "needs activations and weights of one dtype (f32, f16, bf16), or f32 activations";
  if (weight.layout() != ops::Layout::strided && weight.layout() != packed_layout(weight.dtype()))
    return "does not know this weight layout";
  if (call.has(2) && !call.input(2).contiguous()) return "needs a contiguous bias";
  return {};
}

void run_linear(ops::Context& context, const ops::OpCall& call) {
  ops::Tensor x = call.input(0);
  ops::Tensor weight = call.input(1);
  const ops::Tensor& y = call.outputs[0];
  if (y.elements() == 0) return;
  const std::int64_t columns = weight.dim(1), rows = y.elements() / weight.dim(0);
  if (columns && (!x.viewable({rows, columns}) || !unit_rows(x))) x = ops::call(context, kCopy, {x});
  if (weight.layout() == ops::Layout::strided && !unit_rows(weight)) weight = ops::call(context, kCopy, {weight});
  Parameters p{};
  LinearProblem& problem = p.problem;
  problem.M = rows;
  problem.N = weight.dim(0);
  problem.K = columns;
  problem.x_dtype = x.dtype();
  problem.w_dtype = weight.dtype();
  problem.y_dtype = y.dtype();
  problem.x_row_stride = columns ? x.view({rows, columns}).strides()[0] : 0;
  problem.y_row_stride = problem.N;
  p.plan = plan_linear(rows, problem.N, columns, x.dtype(), weight.dtype(), context.device().threads());
  if (weight.layout() == ops::Layout::strided) {
    const long per_block = std::max(1L, 131072 / std::max(1L, static_cast<long>(panel_bytes(weight.dtype(), columns))));
    p.weight_row_stride = weight.strides()[0];
    p.panels_per_pack = per_block;
    p.pack_blocks = static_cast<std::uint32_t>((panel_count(problem.N) + per_block - 1) / per_block);
    p.packed_bytes = packed_bytes(weight.dtype(), problem.N, columns);
  }
  runtime::Launch launch = ops::make_launch(kLinearKernel, call);
  launch.grid = p.pack_blocks + p.plan.prepare_blocks + p.plan.blocks;
  launch.ordered = p.pack_blocks + p.plan.prepare_blocks > 0;
  launch.add_buffer(runtime::read_arg(x));
  launch.add_buffer(runtime::read_arg(weight));
  launch.add_buffer(runtime::write_arg(y));
  p.bias = call.has(2);
  if (p.bias) {
    problem.bias_dtype = call.input(2).dtype();
    launch.add_buffer(runtime::read_arg(call.input(2)));
  }
  const std::size_t scratch_bytes = p.packed_bytes + p.plan.scratch_bytes;
  ops::Tensor scratch;
  if (scratch_bytes) {
    scratch = context.empty(DType::u8, {static_cast<std::int64_t>(scratch_bytes)});
    launch.add_buffer(runtime::write_arg(scratch));
  }
  launch.set_parameters(p);
  context.submit(launch);
}

}  // namespace tilewright::backends::host
