#include <fmt/format.h>

#include "base/error.h"
#include "ops/core/check.h"
#include "ops/core/registry.h"
#include "ops/grouped_gemm/parts.h"

namespace tilewright::ops {
namespace {

std::vector<OutputSpec> infer(const OpCall& call) {
  expect_rank(call, 0, 2);
  expect_float(call, 0);
  const Tensor& x = call.input(0);
  if (!call.has(1) || call.input(1).rank() != 3) refuse_input(call, 1, "a tensor of rank 3");  // or packed
  const Tensor& weights = call.input(1);
  const DType dtype = weights.dtype();
  if (dtype != x.dtype() && !(x.dtype() == DType::f32 && (dtype == DType::f16 || dtype == DType::bf16)))
    refuse_input(call, 1, x.dtype() == DType::f32 ? "f32, f16 or bf16" : std::string(dtype_name(x.dtype())));
  if (weights.dim(2) != x.dim(1)) refuse_input(call, 1, fmt::format("{} in the last dim", x.dim(1)));
  expect_dtype(call, 2, DType::i32);
  expect_shape(call, 2, {weights.dim(0) + 1});
  return {{x.dtype(), {x.dim(0), weights.dim(1)}}};
}

}  // namespace

void check_group_offsets(const HostTensor& offsets, std::int64_t rows) {
  for (std::int64_t i = 0; i < offsets.elements(); ++i) {
    const std::int64_t least = i == 0 ? 0 : offsets.data<std::int32_t>()[i - 1],
                       found = offsets.data<std::int32_t>()[i];
    if (found < least || found > rows)
      fail({.what = "the groups' offsets do not ascend within the rows",
            .where = fmt::format("grouped_gemm, offsets[{}]", i),
            .expected = fmt::format("{} … {}", least, rows),
            .found = fmt::format("{}", found),
            .fix = "offsets are prefix sums of the groups' sizes: 0 first, at most the number of rows last"});
  }
}

void register_grouped_gemm(Registry& registry) {
  OpSchema schema;
  schema.name = "grouped_gemm";
  schema.kind = OpKind::composite;
  schema.summary = "rows offsets[e] … offsets[e+1]-1 of x times weights[e]^T; zero outside";
  schema.inputs = {{"x"}, {"weights"}, {"offsets"}};
  schema.infer = infer;
  schema.flops = [](const OpCall& call) {
    return 2.0 * static_cast<double>(call.input(0).elements()) * static_cast<double>(call.input(1).dim(1));
  };
  schema.unit = Unit::matrix;
  schema.memory_bound = false;
  registry.add(std::move(schema));
  registry.set_reference("grouped_gemm", grouped_gemm_reference);
  registry.set_decomposition("grouped_gemm", grouped_gemm_decomposition());
  registry.add_tile_kernel("grouped_gemm", grouped_gemm_kernel());
}

}  // namespace tilewright::ops
