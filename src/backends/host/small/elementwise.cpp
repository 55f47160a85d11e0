// Elementwise ops: the row's scalar expression, run over chunks that stay in L1.
#include "backends/host/host_kernel.h"
#include "backends/host/small/lines.h"
#include "backends/host/small/small_candidates.h"
#include "backends/host/small/strided_walk.h"
#include "ops/core/context.h"

namespace tilewright::backends::host {
namespace {

using ops::ScalarOp;
using runtime::Tensor;

constexpr int kOperands = 4;  // the output and three inputs
constexpr std::int64_t kChunk = 1024;
constexpr int kMaxConstants = 4;

struct Step {
  std::uint8_t op;     // ScalarOp: input, constant, or a primitive
  std::uint8_t index;  // of the operand (the output is 0) or constant
};

struct Parameters {
  Walk<kOperands> walk;
  std::int64_t block;
  double constants[kMaxConstants];
  DType dtype[kOperands];
  std::uint8_t operands;
  std::uint8_t step_count;
  bool streaming;  // the output goes past the caches
  bool direct;     // one primitive on f32 or bf16 operands whose inner strides are 0 or 1
  Step steps[ops::ScalarExpression::kMaxSteps];
};
static_assert(sizeof(Parameters) <= runtime::kMaxParameterBytes);

bool in_f32(DType dtype) { return dtype != DType::i64 && dtype != DType::i32 && dtype != DType::f8e4m3; }

std::byte* element(const HostCall& call, const Parameters& p, int operand, std::int64_t offset) {
  // Buffers are those of the inputs, then the output.
  void* base = call.buffers[operand == 0 ? p.operands - 1 : operand - 1];
  return static_cast<std::byte*>(base) + offset * static_cast<std::int64_t>(dtype_size(p.dtype[operand]));
}

// `n` elements of an operand from the cursor on, as f32.
void gather(const VectorTable& table, const HostCall& call, const Parameters& p, int operand, Cursor cursor, float* out,
            std::int64_t n) {
  const std::int64_t stride = p.walk.inner_stride(operand);
  while (n > 0) {
    const std::int64_t count = std::min(n, cursor.segment(p.walk));
    load_line(table, p.dtype[operand], element(call, p, operand, cursor.offset(p.walk, operand)), stride, out, count);
    out += count;
    n -= count;
    cursor.advance(p.walk, count);
  }
}

void scatter(const VectorTable& table, const HostCall& call, const Parameters& p, Cursor cursor, const float* in,
             std::int64_t n) {
  const Storage to = storage_of(p.dtype[0]);
  const std::int64_t stride = p.walk.inner_stride(0);
  const auto size = static_cast<std::int64_t>(dtype_size(p.dtype[0]));
  while (n > 0) {
    const std::int64_t count = std::min(n, cursor.segment(p.walk));
    std::byte* out = element(call, p, 0, cursor.offset(p.walk, 0));
    if (stride == 1 && p.streaming) {
      alignas(64) std::byte narrow[kChunk * 4];
      if (to != kStoreF32) table.store[to](in, narrow, count);
      table.copy_stream(to == kStoreF32 ? static_cast<const void*>(in) : narrow, out, count * size);
    } else {
      store_line(table, p.dtype[0], in, out, stride, count);
    }
    in += count;
    n -= count;
    cursor.advance(p.walk, count);
  }
}

// A value on the expression's stack: a vector or, for constants and broadcast operands, one number.
struct Value {
  const float* data;
  float number;
  bool is_number;
  int slot;  // buffer that holds it, -1: none
};

class ChunkStack {
 public:
  explicit ChunkStack(const VectorTable& table) : table_(table) {}

  void push(Value value) { values_[size_++] = value; }
  Value pop() { return values_[--size_]; }
  float* buffer(int slot) { return buffers_[slot]; }
  int take() {
    int slot = 0;
    while (used_ & (1u << slot)) ++slot;
    used_ |= 1u << slot;
    return slot;
  }
  void give(const Value& value) {
    if (value.slot >= 0) used_ &= ~(1u << value.slot);
  }
  // The value as a vector of n.
  const float* vector(Value& value, std::int64_t n) {
    if (!value.is_number) return value.data;
    value.slot = take();
    std::fill_n(buffer(value.slot), n, value.number);
    value.is_number = false;
    return value.data = buffer(value.slot);
  }
  // Runs a primitive; `out` is where the result goes, or null for a buffer.
  void run(ScalarOp op, std::int64_t n, float* out) {
    const int code = static_cast<int>(op);
    Value c{}, b{}, a{};
    c.slot = b.slot = -1;
    if (code >= ops::kFirstTernary) c = pop();
    if (code >= ops::kFirstBinary) b = pop();
    a = pop();
    if (code >= ops::kFirstTernary) {
      vector(c, n);
      vector(b, n);
    }
    if (code < ops::kFirstBinary || code >= ops::kFirstTernary || (a.is_number && b.is_number)) vector(a, n);
    const int slot = out ? -1 : take();
    float* to = out ? out : buffer(slot);
    if (code < ops::kFirstBinary) {
      table_.unary[kF32][code - ops::kFirstUnary](a.data, to, n, kOneRow);
    } else if (code < ops::kFirstTernary) {
      const BinaryMode mode = a.is_number ? kFirstScalar : b.is_number ? kSecondScalar : kBothVectors;
      table_.binary[kF32][code - ops::kFirstBinary][mode](a.is_number ? &a.number : a.data,
                                                          b.is_number ? &b.number : b.data, to, n, kOneRow);
    } else {
      table_.select(a.data, b.data, c.data, to, n);
    }
    give(a);
    give(b);
    give(c);
    push({to, 0, false, slot});
  }

 private:
  const VectorTable& table_;
  Value values_[ops::ScalarExpression::kMaxDepth];
  int size_ = 0;
  unsigned used_ = 0;
  alignas(64) float buffers_[ops::ScalarExpression::kMaxDepth + 2][kChunk];
};

void run_chunk(const VectorTable& table, const HostCall& call, const Parameters& p, ChunkStack& stack,
               const Cursor& cursor, std::int64_t n) {
  const bool one_segment = cursor.segment(p.walk) >= n;
  const bool in_place = one_segment && p.walk.inner_stride(0) == 1 && p.dtype[0] == DType::f32 && !p.streaming;
  float* result = in_place ? reinterpret_cast<float*>(element(call, p, 0, cursor.offset(p.walk, 0))) : nullptr;
  for (int i = 0; i < p.step_count; ++i) {
    const Step step = p.steps[i];
    const auto op = static_cast<ScalarOp>(step.op);
    if (op == ScalarOp::constant) {
      stack.push({nullptr, static_cast<float>(p.constants[step.index]), true, -1});
      continue;
    }
    if (op != ScalarOp::input) {
      stack.run(op, n, i + 1 == p.step_count ? result : nullptr);
      continue;
    }
    const std::int64_t stride = p.walk.inner_stride(step.index);
    const std::byte* in = element(call, p, step.index, cursor.offset(p.walk, step.index));
    if (one_segment && stride == 0) {
      float value;
      table.load[storage_of(p.dtype[step.index])](in, &value, 1);
      stack.push({nullptr, value, true, -1});
    } else if (one_segment && stride == 1 && p.dtype[step.index] == DType::f32) {
      stack.push({reinterpret_cast<const float*>(in), 0, false, -1});
    } else {
      const int slot = p.step_count == 1 && result ? -1 : stack.take();
      float* to = slot < 0 ? result : stack.buffer(slot);
      gather(table, call, p, step.index, cursor, to, n);
      stack.push({to, 0, false, slot});
    }
  }
  Value value = stack.pop();
  const float* data = stack.vector(value, n);
  if (data != result) scatter(table, call, p, cursor, data, n);
  stack.give(value);
}

// One primitive over f32 or bf16 operands, from input to output.
void run_direct(const VectorTable& table, const HostCall& call, const Parameters& p, std::int64_t begin,
                std::int64_t end) {
  const int code = p.steps[p.step_count - 1].op;
  const int operands = p.step_count - 1;
  const Elements kind =
      p.dtype[0] == DType::f32 ? (p.streaming ? kF32Streamed : kF32) : (p.streaming ? kBf16Streamed : kBf16);
  const auto size = static_cast<std::int64_t>(dtype_size(p.dtype[0]));
  float number;
  const std::byte* base[2] = {};
  int index[2] = {};  // of the walk's operand
  BinaryMode mode = kBothVectors;
  for (int k = 0; k < operands; ++k) {
    if (p.steps[k].op == static_cast<std::uint8_t>(ScalarOp::constant)) {
      number = static_cast<float>(p.constants[p.steps[k].index]);
      base[k] = reinterpret_cast<const std::byte*>(&number);
      mode = kSecondConstant;
    } else {
      index[k] = p.steps[k].index;
      base[k] = element(call, p, index[k], 0);
      if (operands == 2 && p.walk.inner_stride(index[k]) == 0) mode = k == 0 ? kFirstScalar : kSecondScalar;
    }
  }
  std::byte* out = element(call, p, 0, 0);
  const auto step = [&](int operand) { return p.walk.rank > 1 ? p.walk.stride[operand][p.walk.rank - 2] : 0; };
  if (operands == 1) {
    const auto f = table.unary[kind][code - ops::kFirstUnary];
    for_each_run(p.walk, p.operands, begin, end, [&](const std::int64_t* offset, std::int64_t n, std::int64_t rows) {
      f(base[0] + offset[index[0]] * size, out + offset[0] * size, n, {rows, step(index[0]), 0, step(0)});
    });
    return;
  }
  const auto f = table.binary[kind][code - ops::kFirstBinary][mode];
  const bool constant = mode == kSecondConstant;
  for_each_run(p.walk, p.operands, begin, end, [&](const std::int64_t* offset, std::int64_t n, std::int64_t rows) {
    f(base[0] + offset[index[0]] * size, base[1] + (constant ? 0 : offset[index[1]] * size), out + offset[0] * size, n,
      {rows, step(index[0]), constant ? 0 : step(index[1]), step(0)});
  });
}

void elementwise_blocks(const HostCall& call) {
  const auto& p = parameters_of<Parameters>(call);
  const VectorTable& table = active_table();
  const std::int64_t end = std::min(static_cast<std::int64_t>(call.end) * p.block, p.walk.total);
  std::int64_t begin = static_cast<std::int64_t>(call.begin) * p.block;
  if (p.direct) {
    run_direct(table, call, p, begin, end);
    if (p.streaming) streaming_fence();
    return;
  }
  ChunkStack stack(table);
  Cursor cursor(p.walk, begin);
  const bool whole_segments = p.walk.inner() >= kChunk / 4;
  while (begin < end) {
    std::int64_t n = std::min(kChunk, end - begin);
    if (whole_segments) n = std::min(n, cursor.segment(p.walk));
    run_chunk(table, call, p, stack, cursor, n);
    begin += n;
    for (std::int64_t left = n; left > 0;) {
      const std::int64_t count = std::min(left, cursor.segment(p.walk));
      cursor.advance(p.walk, count);
      left -= count;
    }
  }
  if (p.streaming) streaming_fence();
}

// Integers and f8: element by element in double (exact up to 2^53).
void wide_blocks(const HostCall& call) {
  const auto& p = parameters_of<Parameters>(call);
  const std::int64_t end = std::min(static_cast<std::int64_t>(call.end) * p.block, p.walk.total);
  std::int64_t begin = static_cast<std::int64_t>(call.begin) * p.block;
  for (Cursor cursor(p.walk, begin); begin < end; ++begin, cursor.advance(p.walk, 1)) {
    double stack[ops::ScalarExpression::kMaxDepth + 2] = {};
    int top = 0;
    for (int i = 0; i < p.step_count; ++i) {
      const Step step = p.steps[i];
      const auto op = static_cast<ScalarOp>(step.op);
      const int taken = ops::scalar_operands(op);
      double value;
      if (op == ScalarOp::constant)
        value = p.constants[step.index];
      else if (op == ScalarOp::input)
        value = load_element(p.dtype[step.index], element(call, p, step.index, cursor.offset(p.walk, step.index)));
      else
        value = ops::apply(op, stack[top - taken], stack[top - taken + 1], stack[top - taken + 2]);
      top -= taken;
      stack[top++] = value;
    }
    store_element(p.dtype[0], element(call, p, 0, cursor.offset(p.walk, 0)), stack[0]);
  }
}

// x^constant where a cheaper primitive says the same; returns false if there is none.
bool power_as_unary(double exponent, ScalarOp& out) {
  if (exponent == 2)
    out = ScalarOp::square;
  else if (exponent == 0.5)
    out = ScalarOp::sqrt;
  else if (exponent == -0.5)
    out = ScalarOp::rsqrt;
  else if (exponent == -1)
    out = ScalarOp::reciprocal;
  else
    return false;
  return true;
}

void compile(const ops::ScalarExpression& expression, const ops::Attributes& attributes, Parameters& p) {
  int constants = 0, count = 0;
  for (const ops::ScalarStep& step : expression.steps()) {
    if (step.op == ScalarOp::input) {
      p.steps[count++] = {static_cast<std::uint8_t>(ScalarOp::input), static_cast<std::uint8_t>(step.index + 1)};
    } else if (step.op == ScalarOp::attribute || step.op == ScalarOp::constant) {
      TW_CHECK(constants < kMaxConstants);
      p.constants[constants] =
          step.op == ScalarOp::constant ? step.constant : attributes.number(step.attribute, step.constant);
      p.steps[count++] = {static_cast<std::uint8_t>(ScalarOp::constant), static_cast<std::uint8_t>(constants++)};
    } else {
      ScalarOp op = step.op;
      if (op == ScalarOp::pow && p.steps[count - 1].op == static_cast<std::uint8_t>(ScalarOp::constant) &&
          power_as_unary(p.constants[p.steps[count - 1].index], op))
        --count;
      p.steps[count++] = {static_cast<std::uint8_t>(op), 0};
    }
  }
  p.step_count = static_cast<std::uint8_t>(count);
}

bool direct(const Parameters& p) {
  const auto constant = static_cast<std::uint8_t>(ScalarOp::constant);
  if (p.step_count < 2 || p.step_count > 3) return false;
  const auto op = static_cast<ScalarOp>(p.steps[p.step_count - 1].op);
  const int operands = ops::scalar_operands(op);
  if (operands + 1 != p.step_count || (p.walk.rank > 1 && p.walk.inner() < 32)) return false;
  if (p.dtype[0] != DType::f32 && p.dtype[0] != DType::bf16) return false;
  if (op == ScalarOp::pow && (p.streaming || p.dtype[0] != DType::f32)) return false;
  if (p.walk.inner_stride(0) != 1) return false;
  int vectors = 0;
  for (int k = 0; k < operands; ++k) {
    if (p.steps[k].op == constant) {
      if (k == 0) return false;
      continue;
    }
    const std::int64_t stride = p.walk.inner_stride(p.steps[k].index);
    if (p.dtype[p.steps[k].index] != p.dtype[0] || (stride != 0 && stride != 1)) return false;
    vectors += stride == 1;
  }
  return vectors > 0;
}

const runtime::Kernel kElementwise = host_kernel("elementwise", &elementwise_blocks);
const runtime::Kernel kWide = host_kernel("elementwise_wide", &wide_blocks);

void run_elementwise(ops::Context& context, const ops::OpCall& call) {
  const Tensor& out = call.outputs[0];
  if (out.elements() == 0) return;
  Parameters p;
  p.operands = 1;
  p.dtype[0] = out.dtype();
  Strides strides[kOperands] = {out.strides()};
  std::int64_t bytes = static_cast<std::int64_t>(dtype_size(out.dtype()));
  bool narrow = in_f32(out.dtype());
  for (const Tensor& t : call.inputs) {
    if (!t.defined()) continue;
    p.dtype[p.operands] = t.dtype();
    strides[p.operands++] =
        t.shape() == out.shape() ? t.strides() : broadcast_strides(t.shape(), t.strides(), out.shape());
    if (t.elements() == out.elements()) bytes += static_cast<std::int64_t>(dtype_size(t.dtype()));
    narrow = narrow && in_f32(t.dtype());
  }
  p.walk = collapse<kOperands>(out.shape(), strides, p.operands);
  compile(call.op.schema.scalar(p.operands - 1, call.attributes), call.attributes, p);
  p.streaming = out.elements() * static_cast<std::int64_t>(dtype_size(out.dtype())) >= streaming_bytes() &&
                p.walk.inner_stride(0) == 1 && p.walk.inner() >= kChunk;
  p.direct = direct(p);
  runtime::Launch launch = ops::make_launch(narrow ? kElementwise : kWide, call);
  p.block = block_elements(p.walk.total, bytes, launch.grid);
  for (const Tensor& t : call.inputs)
    if (t.defined()) launch.add_buffer(runtime::read_arg(t));
  launch.add_buffer(runtime::write_arg(out));
  launch.set_parameters(p);
  context.submit(launch);
}

constexpr const char* kNames[] = {
    "neg",         "abs",        "exp",     "log",   "sqrt",        "rsqrt",  "reciprocal",  "sin", "cos", "tanh",
    "erf",         "sigmoid",    "silu",    "gelu",  "relu",        "square", "logical_not", "add", "sub", "mul",
    "div",         "maximum",    "minimum", "pow",   "eq",          "ne",     "lt",          "le",  "gt",  "ge",
    "logical_and", "logical_or", "clamp",   "where", "masked_fill", "add_",   "to"};

}  // namespace

void add_elementwise_candidates(ops::Registry& registry) {
  for (const char* name : kNames) add_small(registry, name, run_elementwise);
}

}  // namespace tilewright::backends::host
