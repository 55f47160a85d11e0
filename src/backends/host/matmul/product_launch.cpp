#include "backends/host/host_kernel.h"
#include "backends/host/linear/bmm.h"
#include "backends/host/matmul/launches.h"

namespace tilewright::backends::host {
namespace {

constexpr ops::OpName kCopy{"copy"};

struct Parameters {
  BmmProblem problem;  // pointers are filled in by each call
  BmmPlan plan;
};
static_assert(sizeof(Parameters) <= runtime::kMaxParameterBytes);

void product_blocks(const HostCall& call) {
  const auto& p = parameters_of<Parameters>(call);
  BmmProblem problem = p.problem;
  problem.x = call.buffers[0];
  problem.b = call.buffers[1];
  problem.y = call.buffers[2];
  bmm_run(problem, p.plan, call.begin, call.end);
}

const runtime::Kernel kProductKernel = host_kernel("bmm", &product_blocks);

}  // namespace

std::string refuse_product(ops::Context&, const ops::OpCall& call) {
  const ops::Tensor& a = call.input(0);
  const ops::Tensor& b = call.input(1);
  if (a.layout() != ops::Layout::strided || b.layout() != ops::Layout::strided) return "takes strided tensors only";
  if (!bmm_supports(a.dtype()) || a.dtype() != b.dtype()) return "needs two tensors of one dtype (f32, f16, bf16)";
  return {};
}

void run_product(ops::Context& context, const ops::OpCall& call) {
  const ops::Tensor a = unit_rows(call.input(0)) ? call.input(0) : ops::call(context, kCopy, {call.input(0)});
  const ops::Tensor& b = call.input(1);
  const ops::Tensor& y = call.outputs[0];
  if (y.elements() == 0) return;
  const bool batched = a.rank() == 3;
  const int row = batched ? 1 : 0, column = row + 1;
  Parameters p{};
  BmmProblem& problem = p.problem;
  problem.dtype = a.dtype();
  problem.y_dtype = y.dtype();
  problem.M = a.dim(row);
  problem.K = a.dim(column);
  problem.N = b.dim(column);
  problem.x_row_stride = a.strides()[row];
  problem.b_k_stride = b.strides()[row];
  problem.b_n_stride = b.strides()[column];
  problem.y_row_stride = problem.N;
  if (batched) {
    problem.batch[1] = a.dim(0);
    problem.x_batch_stride[1] = a.strides()[0];
    problem.b_batch_stride[1] = b.strides()[0];
    problem.y_batch_stride[1] = y.strides()[0];
  }
  p.plan = plan_bmm(problem, context.device().threads());
  runtime::Launch launch = ops::make_launch(kProductKernel, call);
  launch.grid = p.plan.blocks;
  launch.add_buffer(runtime::read_arg(a));
  launch.add_buffer(runtime::read_arg(b));
  launch.add_buffer(runtime::write_arg(y));
  launch.set_parameters(p);
  context.submit(launch);
}

}  // namespace tilewright::backends::host
