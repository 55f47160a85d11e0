#include "ops/core/context.h"
#include "ops/expert_ffn/parts.h"

namespace tilewright::ops {
namespace {

constexpr OpName kCopy{"copy"}, kSort{"sort"}, kArange{"arange"}, kSearchsorted{"searchsorted"},
    kFloorDivide{"floor_divide"}, kIndexSelect{"index_select"}, kGroupedGemm{"grouped_gemm"}, kSiluMul{"silu_mul"},
    kGeluMul{"gelu_mul"}, kClamp{"clamp"}, kMul{"mul"}, kSigmoid{"sigmoid"}, kAdd{"add"}, kTo{"to"},
    kIndexCopy{"index_copy"}, kSum{"sum"};

Tensor flat(Context& context, const Tensor& x) {
  return x.viewable({x.elements()}) ? x.view({x.elements()}) : call(context, kCopy, {x}).view({x.elements()});
}

Tensor count_to(Context& context, std::int64_t end, DType dtype) {
  return call(context, kArange, {}, {{"start", 0.0}, {"end", static_cast<double>(end)}, {"dtype", dtype}});
}

Tensor rows_of(Context& context, const Tensor& x, const Tensor& rows) {
  return call(context, kIndexSelect, {x, rows}, {{"dim", std::int64_t{0}}});
}

Tensor activate(Context& context, const Tensor& gate, const Tensor& up, const Attributes& a) {
  const std::string_view name = a.text("activation", "silu");
  if (name == "silu") return call(context, kSiluMul, {gate, up});
  if (name == "gelu_tanh") return call(context, kGeluMul, {gate, up}, {{"approximate", std::string_view("tanh")}});
  const double limit = a.number("limit", 7);
  const Tensor g = call(context, kClamp, {gate}, {{"max", limit}});
  const Tensor u = call(context, kClamp, {up}, {{"min", -limit}, {"max", limit}});
  const Tensor turned = call(context, kMul, {g}, {{"other", a.number("alpha", 1.702)}});
  const Tensor gated = call(context, kMul, {g, call(context, kSigmoid, {turned})});
  return call(context, kMul, {call(context, kAdd, {u}, {{"other", 1.0}}), gated});
}

Tensors run(Context& context, const OpCall& now) {
  now.op.schema.infer(now);  // views below abort on what does not fit
  const Tensor& x = now.input(0);
  const std::int64_t tokens = x.dim(0), k = now.input(1).dim(1), slots = tokens * k;
  const std::int64_t experts = now.input(4).dim(0), inner = now.input(4).dim(2);
  // Slots sorted by expert, and where each expert's begin.
  const Tensors sorted = call_all(context, kSort, {flat(context, now.input(2))}, {{"dim", std::int64_t{0}}});
  const Tensor& order = sorted[1];
  const Tensor offsets =
      call(context, kSearchsorted, {sorted[0], count_to(context, experts + 1, DType::i32)}, {{"out_int32", true}});
  const Tensor rows =
      rows_of(context, x, call(context, kFloorDivide, {order}, {{"other", std::max<std::int64_t>(k, 1)}}));

  Tensor gate = call(context, kGroupedGemm, {rows, now.input(3), offsets}), up;
  if (now.has(5)) {
    up = call(context, kGroupedGemm, {rows, now.input(5), offsets});
  } else {
    up = gate.slice(1, inner, 2 * inner);
    gate = gate.slice(1, 0, inner);
  }
  const Tensor hidden = activate(context, gate, up, now.attributes);
  Tensor results = call(context, kGroupedGemm, {hidden, now.input(4), offsets});

  const Tensor weights = rows_of(context, flat(context, now.input(1)), order);
  if (weights.dtype() != results.dtype()) results = call(context, kTo, {results}, {{"dtype", weights.dtype()}});
  results = call(context, kMul, {results, weights.unsqueeze(-1)});
  // Back into the order of the tokens, whose k results are then neighbours.
  const Tensor places =
      call(context, kIndexCopy, {context.empty(DType::i64, {slots}), order, count_to(context, slots, DType::i64)},
           {{"dim", std::int64_t{0}}});
  results = rows_of(context, results, places).view({tokens, k, x.dim(1)});
  const Tensor out = call(context, kSum, {results}, {{"dim", std::int64_t{1}}});
  return {out.dtype() == x.dtype() ? out : call(context, kTo, {out}, {{"dtype", x.dtype()}})};
}

}  // namespace

Decomposition expert_ffn_decomposition() {
  return {{"copy", "sort", "arange", "searchsorted", "floor_divide", "index_select", "grouped_gemm", "silu_mul",
           "gelu_mul", "clamp", "mul", "sigmoid", "add", "to", "index_copy", "sum"},
          run};
}

}  // namespace tilewright::ops
