// topk, sort and searchsorted on the host: elements become integer keys of the same order, so that one comparison
// serves every dtype.
#include <bit>
#include <cmath>
#include <limits>

#include "backends/host/host_kernel.h"
#include "backends/host/small/lines.h"
#include "backends/host/small/small_candidates.h"
#include "backends/host/small/strided_walk.h"
#include "ops/core/context.h"

namespace tilewright::backends::host {
namespace {

using runtime::Tensor;

struct Entry {
  std::int64_t key, index;
};

std::int64_t key_of(float x) {
  if (std::isnan(x)) return std::numeric_limits<std::int64_t>::max();
  const auto bits = std::bit_cast<std::int32_t>(x + 0.0f);  // no negative zero
  return bits ^ ((bits >> 31) & 0x7fffffff);
}

std::int64_t key_at(DType dtype, const std::byte* at) {
  if (dtype == DType::i64) {
    std::int64_t value;
    std::memcpy(&value, at, sizeof value);
    return value;
  }
  if (dtype == DType::i32) {
    std::int32_t value;
    std::memcpy(&value, at, sizeof value);
    return value;
  }
  return key_of(static_cast<float>(load_element(dtype, at)));
}

// ---- topk, sort

// Buffers: input, values, indices, scratch of n entries for each block.
struct OrderParameters {
  Walk<2> lines;  // places of the lines: input (0), outputs (1)
  std::int64_t n, k, stride, out_stride, block;
  DType dtype;
  bool descending;
};
static_assert(sizeof(OrderParameters) <= runtime::kMaxParameterBytes);

void read_entries(const OrderParameters& p, const std::byte* line, Entry* entries) {
  const auto size = static_cast<std::int64_t>(dtype_size(p.dtype));
  if (p.dtype == DType::i64 || p.dtype == DType::i32) {
    for (std::int64_t i = 0; i < p.n; ++i) entries[i] = {key_at(p.dtype, line + i * p.stride * size), i};
    return;
  }
  constexpr std::int64_t kChunk = 1024;
  alignas(64) float values[kChunk];
  const VectorTable& table = active_table();
  for (std::int64_t begin = 0; begin < p.n; begin += kChunk) {
    const std::int64_t n = std::min(kChunk, p.n - begin);
    load_line(table, p.dtype, line + begin * p.stride * size, p.stride, values, n);
    for (std::int64_t i = 0; i < n; ++i) entries[begin + i] = {key_of(values[i]), begin + i};
  }
}

void order_blocks(const HostCall& call) {
  const auto& p = parameters_of<OrderParameters>(call);
  const auto size = static_cast<std::int64_t>(dtype_size(p.dtype));
  for (std::uint32_t block = call.begin; block < call.end; ++block) {
    Entry* entries = static_cast<Entry*>(call.buffers[3]) + block * p.n;
    const std::int64_t begin = block * p.block, end = std::min(begin + p.block, p.lines.total);
    Cursor cursor(p.lines, begin);
    for (std::int64_t line = begin; line < end; ++line, cursor.advance(p.lines, 1)) {
      const std::byte* in = static_cast<const std::byte*>(call.buffers[0]) + cursor.offset(p.lines, 0) * size;
      read_entries(p, in, entries);
      const auto sort = [&](auto before) {
        if (p.k < p.n)
          std::partial_sort(entries, entries + p.k, entries + p.n, before);
        else
          std::sort(entries, entries + p.n, before);
      };
      if (p.descending)
        sort([](const Entry& a, const Entry& b) { return a.key != b.key ? a.key > b.key : a.index < b.index; });
      else
        sort([](const Entry& a, const Entry& b) { return a.key != b.key ? a.key < b.key : a.index < b.index; });
      const std::int64_t out = cursor.offset(p.lines, 1);
      for (std::int64_t i = 0; i < p.k; ++i) {
        const std::int64_t at = out + i * p.out_stride;
        std::memcpy(static_cast<std::byte*>(call.buffers[1]) + at * size, in + entries[i].index * p.stride * size,
                    static_cast<std::size_t>(size));
        static_cast<std::int64_t*>(call.buffers[2])[at] = entries[i].index;
      }
    }
  }
}
const runtime::Kernel kOrder = host_kernel("order", &order_blocks);

void run_order(ops::Context& context, const ops::OpCall& call, std::int64_t k, bool descending) {
  const Tensor &in = call.input(0), &values = call.outputs[0], &indices = call.outputs[1];
  if (values.elements() == 0) return;
  const int axis = normal_axis(static_cast<int>(call.attributes.integer("dim", -1)), in.rank());
  Shape shape = in.shape();
  Strides strides[2] = {in.strides(), values.strides()};
  shape.erase(axis);
  for (Strides& each : strides) each.erase(axis);
  OrderParameters p{.lines = collapse<2>(shape, strides, 2),
                    .n = in.shape()[axis],
                    .k = k,
                    .stride = in.strides()[axis],
                    .out_stride = values.strides()[axis],
                    .dtype = in.dtype(),
                    .descending = descending};
  p.block = std::max<std::int64_t>(1, 2048 / p.n);
  runtime::Launch launch = ops::make_launch(kOrder, call);
  launch.grid = static_cast<std::uint32_t>((p.lines.total + p.block - 1) / p.block);
  const Tensor scratch = context.empty(
      DType::u8, {static_cast<std::int64_t>(launch.grid) * p.n * static_cast<std::int64_t>(sizeof(Entry))});
  launch.add_buffer(runtime::read_arg(in));
  launch.add_buffer(runtime::write_arg(values));
  launch.add_buffer(runtime::write_arg(indices));
  launch.add_buffer(runtime::write_arg(scratch));
  launch.set_parameters(p);
  context.submit(launch);
}

void run_topk(ops::Context& context, const ops::OpCall& call) {
  run_order(context, call, call.attributes.integer("k", 1), call.attributes.flag("largest", true));
}

void run_sort(ops::Context& context, const ops::OpCall& call) {
  run_order(context, call,
            call.input(0).dim(normal_axis(static_cast<int>(call.attributes.integer("dim", -1)), call.input(0).rank())),
            call.attributes.flag("descending", false));
}

// ---- searchsorted

// Buffers: the list, values, output.
struct SearchParameters {
  Walk<2> walk;  // of the output (0) and the values (1)
  std::int64_t n, stride, block;
  DType dtype;
  bool right, narrow_output;
};

void search_blocks(const HostCall& call) {
  const auto& p = parameters_of<SearchParameters>(call);
  const auto size = static_cast<std::int64_t>(dtype_size(p.dtype));
  const auto* list = static_cast<const std::byte*>(call.buffers[0]);
  const std::int64_t begin = call.begin * p.block, end = std::min(call.end * p.block, p.walk.total);
  Cursor cursor(p.walk, begin);
  for (std::int64_t i = begin; i < end; ++i, cursor.advance(p.walk, 1)) {
    const std::int64_t value =
        key_at(p.dtype, static_cast<const std::byte*>(call.buffers[1]) + cursor.offset(p.walk, 1) * size);
    std::int64_t low = 0, high = p.n;
    while (low < high) {
      const std::int64_t middle = low + (high - low) / 2, key = key_at(p.dtype, list + middle * p.stride * size);
      if (p.right ? key <= value : key < value)
        low = middle + 1;
      else
        high = middle;
    }
    const std::int64_t out = cursor.offset(p.walk, 0);
    if (p.narrow_output)
      static_cast<std::int32_t*>(call.buffers[2])[out] = static_cast<std::int32_t>(low);
    else
      static_cast<std::int64_t*>(call.buffers[2])[out] = low;
  }
}
const runtime::Kernel kSearch = host_kernel("searchsorted", &search_blocks);

void run_searchsorted(ops::Context& context, const ops::OpCall& call) {
  const Tensor &list = call.input(0), &values = call.input(1), &out = call.outputs[0];
  if (out.elements() == 0) return;
  const Strides strides[2] = {out.strides(), values.strides()};
  SearchParameters p{.walk = collapse<2>(out.shape(), strides, 2),
                     .n = list.dim(0),
                     .stride = list.strides()[0],
                     .dtype = list.dtype(),
                     .right = call.attributes.flag("right", false),
                     .narrow_output = out.dtype() == DType::i32};
  runtime::Launch launch = ops::make_launch(kSearch, call);
  p.block = block_elements(p.walk.total, 128, launch.grid);
  launch.add_buffer(runtime::read_arg(list));
  launch.add_buffer(runtime::read_arg(values));
  launch.add_buffer(runtime::write_arg(out));
  launch.set_parameters(p);
  context.submit(launch);
}

}  // namespace

void add_order_candidates(ops::Registry& registry) {
  add_small(registry, "topk", run_topk);
  add_small(registry, "sort", run_sort);
  add_small(registry, "searchsorted", run_searchsorted);
}

}  // namespace tilewright::backends::host
