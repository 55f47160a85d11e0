// mean, sum, amax, argmax and softmax on the host: lines along the folded dim, f32 inside.
#include <cmath>
#include <cstring>
#include <limits>

#include "backends/host/host_kernel.h"
#include "backends/host/small/lines.h"
#include "backends/host/small/small_candidates.h"
#include "backends/host/small/strided_walk.h"
#include "ops/core/context.h"

namespace tilewright::backends::host {
namespace {

using runtime::Tensor;

constexpr std::int64_t kChunk = 2048;
constexpr std::int64_t kLine = 8192;  // lines up to this many elements are softmaxed in one buffer

enum class Fold : std::uint8_t { sum, mean, amax };

struct Parameters {
  Walk<2> lines;            // places of the lines: input (0) and output (1)
  std::int64_t n;           // elements of a line
  std::int64_t stride;      // of the line in the input
  std::int64_t out_stride;  // and in the output (softmax)
  std::int64_t block;       // lines
  DType dtype;
  Fold fold;
  bool streaming;  // softmax: the output goes past the caches
};
static_assert(sizeof(Parameters) <= runtime::kMaxParameterBytes);

// Elements [begin, begin + n) of a line as f32: in place where they are that already.
const float* part_of_line(const VectorTable& table, DType dtype, const std::byte* line, std::int64_t stride,
                          std::int64_t begin, std::int64_t n, float* buffer) {
  const std::byte* in = line + begin * stride * static_cast<std::int64_t>(dtype_size(dtype));
  if (dtype == DType::f32 && stride == 1) return reinterpret_cast<const float*>(in);
  load_line(table, dtype, in, stride, buffer, n);
  return buffer;
}

float fold_line(const VectorTable& table, const Parameters& p, const std::byte* line) {
  alignas(64) float buffer[kChunk];
  double total = 0;
  float largest = -std::numeric_limits<float>::infinity();
  for (std::int64_t i = 0; i < p.n; i += kChunk) {
    const std::int64_t n = std::min(kChunk, p.n - i);
    const float* x = part_of_line(table, p.dtype, line, p.stride, i, n, buffer);
    if (p.fold == Fold::amax) {
      const float part = table.max(x, n);
      if (part > largest || std::isnan(part)) largest = part;
    } else {
      total += table.sum(x, n);
    }
  }
  if (p.fold == Fold::amax) return largest;
  return static_cast<float>(p.fold == Fold::mean ? total / static_cast<double>(p.n) : total);
}

template <typename F>
void for_each_line(const HostCall& call, const Parameters& p, F&& f) {
  const std::int64_t begin = call.begin * p.block, end = std::min(call.end * p.block, p.lines.total);
  const auto size = static_cast<std::int64_t>(dtype_size(p.dtype));
  Cursor cursor(p.lines, begin);
  for (std::int64_t i = begin; i < end; ++i, cursor.advance(p.lines, 1))
    f(static_cast<const std::byte*>(call.buffers[0]) + cursor.offset(p.lines, 0) * size,
      static_cast<std::byte*>(call.buffers[1]) + cursor.offset(p.lines, 1) * size);
}

void fold_blocks(const HostCall& call) {
  const auto& p = parameters_of<Parameters>(call);
  const VectorTable& table = active_table();
  for_each_line(call, p, [&](const std::byte* in, std::byte* out) {
    const float value = fold_line(table, p, in);
    table.store[storage_of(p.dtype)](&value, out, 1);
  });
}

// Folding a dim that is not the dense one: up to kColumns neighbouring lines at a time, row by row.
constexpr std::int64_t kColumns = 1024;
void fold_column_blocks(const HostCall& call) {
  const auto& p = parameters_of<Parameters>(call);
  const VectorTable& table = active_table();
  const auto size = static_cast<std::int64_t>(dtype_size(p.dtype));
  std::int64_t begin = call.begin * p.block;
  const std::int64_t end = std::min(call.end * p.block, p.lines.total);
  alignas(64) float total[kColumns], row[kColumns];
  const int add =
      static_cast<int>(p.fold == Fold::amax ? ops::ScalarOp::maximum : ops::ScalarOp::add) - ops::kFirstBinary;
  Cursor cursor(p.lines, begin);
  while (begin < end) {
    const std::int64_t n = std::min({end - begin, cursor.segment(p.lines), kColumns});
    const auto* in = static_cast<const std::byte*>(call.buffers[0]) + cursor.offset(p.lines, 0) * size;
    std::fill_n(total, n, p.fold == Fold::amax ? -std::numeric_limits<float>::infinity() : 0.0f);
    for (std::int64_t i = 0; i < p.n; ++i) {
      const std::byte* at = in + i * p.stride * size;
      const float* x = reinterpret_cast<const float*>(at);
      if (p.dtype != DType::f32) {
        table.load[storage_of(p.dtype)](at, row, n);
        x = row;
      }
      table.binary[kF32][add][kBothVectors](x, total, total, n, kOneRow);
    }
    if (p.fold == Fold::mean)
      for (std::int64_t i = 0; i < n; ++i) total[i] /= static_cast<float>(p.n);
    store_line(table, p.dtype, total, static_cast<std::byte*>(call.buffers[1]) + cursor.offset(p.lines, 1) * size,
               p.lines.inner_stride(1), n);
    begin += n;
    cursor.advance(p.lines, n);
  }
}

void softmax_short_line(const VectorTable& table, const Parameters& p, const std::byte* in, std::byte* out) {
  alignas(64) float buffer[kLine];
  const float* x = part_of_line(table, p.dtype, in, p.stride, 0, p.n, buffer);
  const bool direct = p.dtype == DType::f32 && p.out_stride == 1;
  float* e = direct && !p.streaming ? reinterpret_cast<float*>(out) : buffer;
  const float factor = 1.0f / table.exp_sum(x, table.max(x, p.n), e, p.n, direct && p.streaming ? x + p.n : nullptr);
  const int mul = static_cast<int>(ops::ScalarOp::mul) - ops::kFirstBinary;
  if (direct && p.streaming) {
    table.binary[kF32Streamed][mul][kSecondConstant](e, &factor, out, p.n, kOneRow);
    return;
  }
  table.binary[kF32][mul][kSecondConstant](e, &factor, e, p.n, kOneRow);
  if (!direct) store_line(table, p.dtype, e, out, p.out_stride, p.n);
}

void softmax_long_line(const VectorTable& table, const Parameters& p, const std::byte* in, std::byte* out) {
  alignas(64) float buffer[kChunk], e[kChunk];
  float largest = -std::numeric_limits<float>::infinity();
  double total = 0;
  const auto each = [&](auto&& f) {
    for (std::int64_t i = 0; i < p.n; i += kChunk) {
      const std::int64_t n = std::min(kChunk, p.n - i);
      f(part_of_line(table, p.dtype, in, p.stride, i, n, buffer), i, n);
    }
  };
  each([&](const float* x, std::int64_t, std::int64_t n) {
    const float part = table.max(x, n);
    if (part > largest || std::isnan(part)) largest = part;
  });
  each([&](const float* x, std::int64_t, std::int64_t n) { total += table.exp_sum(x, largest, e, n, nullptr); });
  const auto factor = static_cast<float>(1 / total);
  const int mul = static_cast<int>(ops::ScalarOp::mul) - ops::kFirstBinary;
  each([&](const float* x, std::int64_t i, std::int64_t n) {
    table.exp_sum(x, largest, e, n, nullptr);
    table.binary[kF32][mul][kSecondScalar](e, &factor, e, n, kOneRow);
    store_line(table, p.dtype, e, out + i * p.out_stride * static_cast<std::int64_t>(dtype_size(p.dtype)), p.out_stride,
               n);
  });
}

void softmax_blocks(const HostCall& call) {
  const auto& p = parameters_of<Parameters>(call);
  const VectorTable& table = active_table();
  for_each_line(call, p, [&](const std::byte* in, std::byte* out) {
    if (p.n <= kLine)
      softmax_short_line(table, p, in, out);
    else
      softmax_long_line(table, p, in, out);
  });
  if (p.streaming) streaming_fence();
}

const runtime::Kernel kFold = host_kernel("fold", &fold_blocks);
const runtime::Kernel kFoldColumns = host_kernel("fold_columns", &fold_column_blocks);
const runtime::Kernel kSoftmax = host_kernel("softmax", &softmax_blocks);

// Shape and strides without one axis.
struct Lines {
  Shape shape;
  Strides in, out;
  std::int64_t n = 1, stride = 1, out_stride = 1;
};

Lines lines_of(const ops::OpCall& call) {
  const Tensor &in = call.input(0), &out = call.outputs[0];
  Lines lines{.shape = in.shape(), .in = in.strides(), .out = out.strides()};
  if (in.rank() == 0) return lines;
  const int axis = normal_axis(static_cast<int>(call.attributes.integer("dim", -1)), in.rank());
  lines.n = in.shape()[axis];
  lines.stride = in.strides()[axis];
  lines.shape.erase(axis);
  lines.in.erase(axis);
  if (out.rank() == in.rank()) {
    lines.out_stride = out.strides()[axis];
    lines.out.erase(axis);
  }
  return lines;
}

Parameters parameters_for(const ops::OpCall& call, const Lines& lines) {
  Parameters p;
  const Strides strides[2] = {lines.in, lines.out};
  p.lines = collapse<2>(lines.shape, strides, 2);
  p.n = lines.n;
  p.stride = lines.stride;
  p.out_stride = lines.out_stride;
  p.dtype = call.input(0).dtype();
  return p;
}

void submit(ops::Context& context, const ops::OpCall& call, const runtime::Kernel& kernel, Parameters& p,
            std::int64_t lines_per_block) {
  runtime::Launch launch = ops::make_launch(kernel, call);
  p.block = std::max<std::int64_t>(lines_per_block, 1);
  launch.grid = static_cast<std::uint32_t>((p.lines.total + p.block - 1) / p.block);
  launch.add_buffer(runtime::read_arg(call.input(0)));
  launch.add_buffer(runtime::write_arg(call.outputs[0]));
  launch.set_parameters(p);
  context.submit(launch);
}

template <Fold fold>
void run_fold(ops::Context& context, const ops::OpCall& call) {
  if (call.outputs[0].elements() == 0) return;
  Parameters p = parameters_for(call, lines_of(call));
  p.fold = fold;
  const std::int64_t per_block = 16384 / std::max<std::int64_t>(p.n, 1);
  if (p.stride != 1 && p.lines.inner_stride(0) == 1 && p.lines.inner() >= 16)
    submit(context, call, kFoldColumns, p, std::clamp<std::int64_t>(per_block, 64, kColumns));
  else
    submit(context, call, kFold, p, per_block);
}

void run_softmax(ops::Context& context, const ops::OpCall& call) {
  if (call.outputs[0].elements() == 0) return;
  Parameters p = parameters_for(call, lines_of(call));
  p.streaming = call.outputs[0].elements() * static_cast<std::int64_t>(dtype_size(p.dtype)) >= streaming_bytes();
  std::uint32_t grid = 0;  // not that of lines
  submit(context, call, kSoftmax, p,
         block_elements(call.outputs[0].elements(), 2 * static_cast<std::int64_t>(dtype_size(p.dtype)), grid) / p.n);
}

// ---- argmax: every line is cut into parts, one a block; the block that finishes last picks the winner of each line.

struct ArgmaxParameters {
  Walk<2> lines;
  std::int64_t n, stride, part;  // part: elements of a line that a block looks at
  std::int64_t parts, block;     // parts of a line; lines of a block (1 where a line has several parts)
  DType dtype;
};
struct Candidate {
  float value;
  std::int32_t unused;
  std::int64_t index;
};

bool better(float a, float b) { return a > b || (std::isnan(a) && !std::isnan(b)); }

Candidate largest_of(const VectorTable& table, const ArgmaxParameters& p, const std::byte* line, std::int64_t begin,
                     std::int64_t end) {
  alignas(64) float buffer[kChunk];
  Candidate best{-std::numeric_limits<float>::infinity(), 0, begin};
  std::int64_t chunk = begin;
  for (std::int64_t i = begin; i < end; i += kChunk) {
    const std::int64_t n = std::min(kChunk, end - i);
    const float value = table.max(part_of_line(table, p.dtype, line, p.stride, i, n, buffer), n);
    if (!better(value, best.value)) continue;
    best.value = value;
    chunk = i;
  }
  const std::int64_t n = std::min(kChunk, end - chunk);
  const float* x = part_of_line(table, p.dtype, line, p.stride, chunk, n, buffer);
  for (std::int64_t i = 0; i < n; ++i)
    if (x[i] == best.value || std::isnan(x[i])) {
      best.index = chunk + i;
      break;
    }
  return best;
}

void argmax_blocks(const HostCall& call) {
  const auto& p = parameters_of<ArgmaxParameters>(call);
  const VectorTable& table = active_table();
  const auto size = static_cast<std::int64_t>(dtype_size(p.dtype));
  auto* out = static_cast<std::int64_t*>(call.buffers[1]);
  auto* found = static_cast<Candidate*>(call.buffers[2]);
  for (std::uint32_t block = call.begin; block < call.end; ++block) {
    const std::int64_t part = block % p.parts, first = block / p.parts * p.block;
    for (std::int64_t line = first; line < std::min(first + p.block, p.lines.total); ++line) {
      const Cursor cursor(p.lines, line);
      const auto* in = static_cast<const std::byte*>(call.buffers[0]) + cursor.offset(p.lines, 0) * size;
      const Candidate best = largest_of(table, p, in, part * p.part, std::min((part + 1) * p.part, p.n));
      if (p.parts == 1)
        out[cursor.offset(p.lines, 1)] = best.index;
      else
        found[line * p.parts + part] = best;
    }
  }
  if (p.parts == 1) return;
  const std::uint32_t done = call.end - call.begin;
  if (call.phase->fetch_add(done, std::memory_order_acq_rel) + done != call.grid) return;
  for (std::int64_t line = 0; line < p.lines.total; ++line) {
    Candidate best = found[line * p.parts];
    for (std::int64_t part = 1; part < p.parts; ++part)
      if (better(found[line * p.parts + part].value, best.value)) best = found[line * p.parts + part];
    out[Cursor(p.lines, line).offset(p.lines, 1)] = best.index;
  }
}
const runtime::Kernel kArgmax = host_kernel("argmax", &argmax_blocks);

void run_argmax(ops::Context& context, const ops::OpCall& call) {
  const Tensor& out = call.outputs[0];
  if (out.elements() == 0) return;
  const Lines lines = lines_of(call);
  ArgmaxParameters p;
  const Strides strides[2] = {lines.in, lines.out};
  p.lines = collapse<2>(lines.shape, strides, 2);
  p.n = lines.n;
  p.stride = lines.stride;
  p.dtype = call.input(0).dtype();
  p.block = std::max<std::int64_t>(1, 8192 / p.n);
  p.parts = p.lines.total >= 16 ? 1 : std::max<std::int64_t>(1, p.n / 8192);
  p.part = ((p.n + p.parts - 1) / p.parts + 63) / 64 * 64;
  p.parts = (p.n + p.part - 1) / p.part;
  runtime::Launch launch = ops::make_launch(kArgmax, call);
  launch.grid = static_cast<std::uint32_t>((p.lines.total + p.block - 1) / p.block * p.parts);
  launch.add_buffer(runtime::read_arg(call.input(0)));
  launch.add_buffer(runtime::write_arg(out));
  if (p.parts > 1) {
    const Tensor scratch =
        context.empty(DType::u8, {p.lines.total * p.parts * static_cast<std::int64_t>(sizeof(Candidate))});
    launch.add_buffer(runtime::write_arg(scratch));
    launch.set_parameters(p);
    return context.submit(launch);
  }
  launch.add_buffer(runtime::write_arg(out));
  launch.set_parameters(p);
  context.submit(launch);
}

}  // namespace

void add_reduce_candidates(ops::Registry& registry) {
  add_small(registry, "sum", run_fold<Fold::sum>);
  add_small(registry, "mean", run_fold<Fold::mean>);
  add_small(registry, "amax", run_fold<Fold::amax>);
  add_small(registry, "argmax", run_argmax);
  add_small(registry, "softmax", run_softmax);
}

}  // namespace tilewright::backends::host
