// Matrix products: mm [M, K]·[K, N], bmm [B, M, K]·[B, K, N], linear x [..., K] with weight [N, K] and an optional
// bias.
#include <vector>

#include "ops/small/checks.h"
#include "ops/small/small_ops.h"

namespace tilewright::ops {
namespace {

std::vector<OutputSpec> infer_product(const OpCall& call, int rank) {
  require_inputs(call, 2, 2);
  require_float(call, 0);
  require_same_dtype(call, 0, 1);
  for (int i = 0; i < 2; ++i) {
    require_rank(call, i, rank);
    if (call.input(i).layout() != Layout::strided)
      fail_argument(call, call.op.schema.inputs[static_cast<std::size_t>(i)].name, "a strided tensor",
                    call.input(i).describe());
  }
  const Tensor &a = call.input(0), &b = call.input(1);
  require_extent(call, 1, rank - 2, a.dim(-1));
  if (rank == 2) return {{.dtype = a.dtype(), .shape = {a.dim(0), b.dim(1)}}};
  require_extent(call, 1, 0, a.dim(0));
  return {{.dtype = a.dtype(), .shape = {a.dim(0), a.dim(1), b.dim(2)}}};
}

std::vector<OutputSpec> infer_linear(const OpCall& call) {
  require_inputs(call, 2, 3);
  require_float(call, 0);
  require_float(call, 1);
  require_rank(call, 1, 2);
  const Tensor &x = call.input(0), &weight = call.input(1);
  if (x.rank() == 0) fail_argument(call, "input", "at least one dim", "a scalar");
  if (x.layout() != Layout::strided) fail_argument(call, "input", "a strided tensor", x.describe());
  // f32 activations are taken with weights of half precision; otherwise the dtypes are equal.
  if (x.dtype() != DType::f32) require_same_dtype(call, 1, 0);
  if (x.dim(-1) != weight.dim(1))
    fail_argument(call, "input", std::to_string(weight.dim(1)) + " in the last dim", to_string(x.shape()));
  if (call.has(2)) {
    require_rank(call, 2, 1);
    require_extent(call, 2, 0, weight.dim(0));
    require_float(call, 2);
    if (call.input(2).dtype() != DType::f32) require_same_dtype(call, 1, 2);
  }
  Shape shape = x.shape();
  shape[shape.rank() - 1] = weight.dim(0);
  return {{.dtype = x.dtype(), .shape = shape}};
}

// out [m, n] = sum over k of a [m, k] · b, where b lies [k, n] or transposed [n, k].
void multiply(const HostTensor& a, std::int64_t a_at, const HostTensor& b, std::int64_t b_at, bool transposed,
              std::int64_t m, std::int64_t n, std::int64_t k, const HostTensor* bias, HostTensor& out,
              std::int64_t out_at) {
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = bias ? bias->at(j) : 0;
      for (std::int64_t x = 0; x < k; ++x)
        sum += a.at(a_at + i * k + x) * b.at(b_at + (transposed ? j * k + x : x * n + j));
      out.set(out_at + i * n + j, sum);
    }
}

OpSchema schema_of(const char* name, const char* summary, std::vector<ArgumentSpec> inputs,
                   std::vector<OutputSpec> (*infer)(const OpCall&)) {
  OpSchema schema;
  schema.name = name;
  schema.summary = summary;
  schema.inputs = std::move(inputs);
  schema.infer = infer;
  schema.unit = Unit::matrix;
  schema.memory_bound = false;
  // 2 · elements of the output · K
  schema.flops = [](const OpCall& call) {
    return 2.0 * static_cast<double>(call.outputs[0].elements()) * static_cast<double>(call.input(0).dim(-1));
  };
  return schema;
}

}  // namespace

void add_matmul_ops(Registry& registry) {
  registry.add(
      schema_of("mm", "self · mat2", {{"self"}, {"mat2"}}, [](const OpCall& call) { return infer_product(call, 2); }));
  registry.set_reference("mm", [](std::span<const HostTensor> in, const Attributes&) {
    HostTensor out(in[0].dtype, {in[0].shape[0], in[1].shape[1]});
    multiply(in[0], 0, in[1], 0, false, out.shape[0], out.shape[1], in[0].shape[1], nullptr, out, 0);
    return std::vector<HostTensor>{out};
  });
  registry.add(schema_of("bmm", "self[b] · mat2[b]", {{"self"}, {"mat2"}},
                         [](const OpCall& call) { return infer_product(call, 3); }));
  registry.set_reference("bmm", [](std::span<const HostTensor> in, const Attributes&) {
    const std::int64_t m = in[0].shape[1], k = in[0].shape[2], n = in[1].shape[2];
    HostTensor out(in[0].dtype, {in[0].shape[0], m, n});
    for (std::int64_t b = 0; b < out.shape[0]; ++b)
      multiply(in[0], b * m * k, in[1], b * k * n, false, m, n, k, nullptr, out, b * m * n);
    return std::vector<HostTensor>{out};
  });
  registry.add(schema_of("linear", "input · weightᵀ + bias",
                         {{"input"}, {"weight"}, {.name = "bias", .optional = true}}, infer_linear));
  registry.set_reference("linear", [](std::span<const HostTensor> in, const Attributes&) {
    Shape shape = in[0].shape;
    const std::int64_t k = shape.back(), n = in[1].shape[0];
    shape[shape.rank() - 1] = n;
    HostTensor out(in[0].dtype, shape);
    const HostTensor* bias = in.size() > 2 && !absent(in[2]) ? &in[2] : nullptr;
    multiply(in[0], 0, in[1], 0, true, n ? out.elements() / n : 0, n, k, bias, out, 0);
    return std::vector<HostTensor>{out};
  });
}

}  // namespace tilewright::ops
