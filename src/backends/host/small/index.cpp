// embedding, index_select, gather, index_copy, scatter_ and cache_write on the host: copies of which one side is
// displaced by a tensor of indices; and floor_divide, which makes row numbers of flat ones.
#include <cstring>

#include "backends/host/host_kernel.h"
#include "backends/host/linear/panels.h"
#include "backends/host/small/lines.h"
#include "backends/host/small/small_candidates.h"
#include "backends/host/small/strided_walk.h"
#include "ops/core/context.h"

namespace tilewright::backends::host {
namespace {

using runtime::Tensor;

enum Side { kPlain, kIndexed, kIndices };

struct Parameters {
  Walk<3> walk;        // of the plain side, the indexed side and the indices
  std::int64_t scale;  // elements of the indexed side per index
  std::int64_t limit;  // indices are 0 … limit - 1
  std::int64_t block;
  const char* complaint;  // literal
  std::uint8_t size;
  bool writes_indexed;
  bool wide_indices;  // i64
};
static_assert(sizeof(Parameters) <= runtime::kMaxParameterBytes);

// Buffers: plain side, indexed side, indices.
template <typename T>
void copy_indexed(const HostCall& call, const Parameters& p, std::int64_t begin, std::int64_t end) {
  T* plain = static_cast<T*>(call.buffers[0]);
  T* indexed = static_cast<T*>(call.buffers[1]);
  const auto index_at = [&](std::int64_t at) {
    return p.wide_indices ? static_cast<const std::int64_t*>(call.buffers[2])[at]
                          : std::int64_t{static_cast<const std::int32_t*>(call.buffers[2])[at]};
  };
  const std::int64_t plain_stride = p.walk.inner_stride(kPlain), indexed_stride = p.walk.inner_stride(kIndexed),
                     index_stride = p.walk.inner_stride(kIndices);
  Cursor cursor(p.walk, begin);
  while (begin < end) {
    const std::int64_t n = std::min(end - begin, cursor.segment(p.walk));
    T* a = plain + cursor.offset(p.walk, kPlain);
    T* b = indexed + cursor.offset(p.walk, kIndexed);
    const std::int64_t at = cursor.offset(p.walk, kIndices);
    const std::int64_t lines = index_stride == 0 ? 1 : n, each = index_stride == 0 ? n : 1;
    for (std::int64_t i = 0; i < lines; ++i) {
      const std::int64_t index = index_at(at + i * index_stride);
      if (index < 0 || index >= p.limit) {
        call.fault(call, p.complaint, index);
        continue;
      }
      T* x = a + i * plain_stride;
      T* y = b + i * indexed_stride + index * p.scale;
      const T* from = p.writes_indexed ? x : y;
      T* to = p.writes_indexed ? y : x;
      const std::int64_t from_stride = p.writes_indexed ? plain_stride : indexed_stride,
                         to_stride = p.writes_indexed ? indexed_stride : plain_stride;
      if (from_stride == 1 && to_stride == 1)
        std::memcpy(to, from, static_cast<std::size_t>(each) * sizeof(T));
      else
        for (std::int64_t k = 0; k < each; ++k) to[k * to_stride] = from[k * from_stride];
    }
    begin += n;
    cursor.advance(p.walk, n);
  }
}

void indexed_blocks(const HostCall& call) {
  const auto& p = parameters_of<Parameters>(call);
  const std::int64_t begin = call.begin * p.block, end = std::min(call.end * p.block, p.walk.total);
  if (p.size == 1) copy_indexed<std::uint8_t>(call, p, begin, end);
  if (p.size == 2) copy_indexed<std::uint16_t>(call, p, begin, end);
  if (p.size == 4) copy_indexed<std::uint32_t>(call, p, begin, end);
  if (p.size == 8) copy_indexed<std::uint64_t>(call, p, begin, end);
}
const runtime::Kernel kIndexed_ = host_kernel("copy_indexed", &indexed_blocks);

struct IndexedCopy {
  const Tensor& plain;
  const Tensor& indexed;
  const Tensor& indices;
  Strides indexed_strides;  // in dims of `plain`
  Strides index_strides;    // the same
  std::int64_t scale, limit;
  const char* complaint;
  bool writes_indexed = false;
};

void launch(ops::Context& context, const ops::OpCall& call, const IndexedCopy& copy) {
  if (copy.plain.elements() == 0) return;
  Parameters p;
  const Strides strides[3] = {copy.plain.strides(), copy.indexed_strides, copy.index_strides};
  p.walk = collapse<3>(copy.plain.shape(), strides, 3);
  p.scale = copy.scale;
  p.limit = copy.limit;
  p.complaint = copy.complaint;
  p.size = static_cast<std::uint8_t>(dtype_size(copy.plain.dtype()));
  p.writes_indexed = copy.writes_indexed;
  p.wide_indices = copy.indices.dtype() == DType::i64;
  runtime::Launch launch = ops::make_launch(kIndexed_, call);
  // What is touched, not the whole table.
  const double moved = static_cast<double>(copy.plain.elements()) * static_cast<double>(p.size);
  launch.cost.bytes_read = moved + ops::tensor_bytes({&copy.indices, 1});
  launch.cost.bytes_written = moved;
  p.block = block_elements(p.walk.total, 2 * p.size, launch.grid);
  launch.add_buffer(copy.writes_indexed ? runtime::read_arg(copy.plain) : runtime::write_arg(copy.plain));
  launch.add_buffer(copy.writes_indexed ? runtime::read_write_arg(copy.indexed) : runtime::read_arg(copy.indexed));
  launch.add_buffer(runtime::read_arg(copy.indices));
  launch.set_parameters(p);
  context.submit(launch);
}

int axis_of(const ops::OpCall& call, int rank) {
  return normal_axis(static_cast<int>(call.attributes.integer("dim", -1)), rank);
}

// ---- embedding from packed panels of 32 rows

struct PackedParameters {
  std::int64_t ids, width, rows, block;  // block: ids
  std::int64_t id_stride;
  DType dtype;
  bool wide_indices;
};

void packed_embedding_blocks(const HostCall& call) {
  const auto& p = parameters_of<PackedParameters>(call);
  for (std::int64_t i = call.begin * p.block; i < std::min(call.end * p.block, p.ids); ++i) {
    const std::int64_t id = p.wide_indices ? static_cast<const std::int64_t*>(call.buffers[2])[i * p.id_stride]
                                           : static_cast<const std::int32_t*>(call.buffers[2])[i * p.id_stride];
    if (id < 0 || id >= p.rows) {
      call.fault(call, "embedding: a token id is outside the vocabulary", id);
      continue;
    }
    unpack_row(p.dtype, call.buffers[1], static_cast<long>(p.rows), static_cast<long>(p.width), static_cast<long>(id),
               static_cast<std::byte*>(call.buffers[0]) + i * p.width * static_cast<std::int64_t>(dtype_size(p.dtype)));
  }
}
const runtime::Kernel kPackedEmbedding = host_kernel("embedding_packed", &packed_embedding_blocks);

void run_packed_embedding(ops::Context& context, const ops::OpCall& call) {
  const Tensor &weight = call.input(0), &ids = call.input(1), &out = call.outputs[0];
  if (out.elements() == 0) return;
  PackedParameters p{.ids = ids.elements(),
                     .width = weight.dim(1),
                     .rows = weight.dim(0),
                     .block = 4,
                     .id_stride = ids.elements() > 1 ? ids.view({-1}).strides()[0] : 1,
                     .dtype = weight.dtype(),
                     .wide_indices = ids.dtype() == DType::i64};
  runtime::Launch launch = ops::make_launch(kPackedEmbedding, call);
  launch.cost.bytes_read = launch.cost.bytes_written + ops::tensor_bytes({&ids, 1});
  launch.grid = static_cast<std::uint32_t>((p.ids + p.block - 1) / p.block);
  launch.add_buffer(runtime::write_arg(out));
  launch.add_buffer(runtime::read_arg(weight));
  launch.add_buffer(runtime::read_arg(ids));
  launch.set_parameters(p);
  context.submit(launch);
}

std::string refuse_unpacked(ops::Context&, const ops::OpCall& call) {
  if (!call.has(1) || call.input(0).layout() == ops::Layout::strided) return "the weight is not packed";
  if (call.input(1).layout() != ops::Layout::strided) return "the ids are packed";
  if (call.input(1).elements() > 1 && !call.input(1).viewable({call.input(1).elements()}))
    return "the ids' dims do not merge";
  return {};
}

void run_embedding(ops::Context& context, const ops::OpCall& call) {
  const Tensor &weight = call.input(0), &ids = call.input(1), &out = call.outputs[0];
  Strides weight_strides = Dims::filled(out.rank(), 0), id_strides = weight_strides;
  weight_strides[out.rank() - 1] = weight.strides()[1];
  for (int i = 0; i < ids.rank(); ++i) id_strides[i] = ids.strides()[i];
  launch(context, call,
         {.plain = out,
          .indexed = weight,
          .indices = ids,
          .indexed_strides = weight_strides,
          .index_strides = id_strides,
          .scale = weight.strides()[0],
          .limit = weight.dim(0),
          .complaint = "embedding: a token id is outside the vocabulary"});
}

void run_index_select(ops::Context& context, const ops::OpCall& call) {
  const Tensor &self = call.input(0), &index = call.input(1), &out = call.outputs[0];
  const int axis = axis_of(call, self.rank());
  Strides self_strides = self.strides(), index_strides = Dims::filled(self.rank(), 0);
  self_strides[axis] = 0;
  index_strides[axis] = index.strides()[0];
  launch(context, call,
         {.plain = out,
          .indexed = self,
          .indices = index,
          .indexed_strides = self_strides,
          .index_strides = index_strides,
          .scale = self.strides()[axis],
          .limit = self.shape()[axis],
          .complaint = "index_select: an index is outside the dim"});
}

void run_gather(ops::Context& context, const ops::OpCall& call) {
  const Tensor &self = call.input(0), &index = call.input(1), &out = call.outputs[0];
  const int axis = axis_of(call, self.rank());
  Strides self_strides = self.strides();
  self_strides[axis] = 0;
  launch(context, call,
         {.plain = out,
          .indexed = self,
          .indices = index,
          .indexed_strides = self_strides,
          .index_strides = index.strides(),
          .scale = self.strides()[axis],
          .limit = self.shape()[axis],
          .complaint = "gather: an index is outside the dim"});
}

void run_index_copy(ops::Context& context, const ops::OpCall& call) {
  const Tensor &self = call.input(0), &index = call.input(1), &source = call.input(2);
  const int axis = axis_of(call, self.rank());
  Strides self_strides = self.strides(), index_strides = Dims::filled(self.rank(), 0);
  self_strides[axis] = 0;
  index_strides[axis] = index.strides()[0];
  launch(context, call,
         {.plain = source,
          .indexed = self,
          .indices = index,
          .indexed_strides = self_strides,
          .index_strides = index_strides,
          .scale = self.strides()[axis],
          .limit = self.shape()[axis],
          .complaint = "index_copy: an index is outside the dim",
          .writes_indexed = true});
}

void run_cache_write(ops::Context& context, const ops::OpCall& call) {
  const Tensor &cache = call.input(0), &position = call.input(1), &source = call.input(2);
  launch(context, call,
         {.plain = source,
          .indexed = cache,
          .indices = position,
          .indexed_strides = cache.strides(),
          .index_strides = {position.strides()[0], 0, 0, 0},
          .scale = cache.strides()[2],
          .limit = cache.dim(2) - source.dim(2) + 1,
          .complaint = "cache_write: the rows do not fit behind the position",
          .writes_indexed = true});
}

// ---- one value written at indices; quotients of indices

struct ScatterParameters {
  Walk<2> walk;  // of the target without its dim (0) and the indices (1)
  std::int64_t scale, limit, block;
  std::uint64_t bits;  // of the value
  std::uint8_t size;
  bool wide_indices;
};

struct DivideParameters {
  Walk<2> walk;  // of the output (0) and the input (1)
  std::int64_t other, block;
  bool wide;
};

void scatter_blocks(const HostCall& call) {
  const auto& p = parameters_of<ScatterParameters>(call);
  const std::int64_t begin = call.begin * p.block, end = std::min(call.end * p.block, p.walk.total);
  Cursor cursor(p.walk, begin);
  for (std::int64_t i = begin; i < end; ++i, cursor.advance(p.walk, 1)) {
    const std::int64_t at = cursor.offset(p.walk, 1);
    const std::int64_t index = p.wide_indices ? static_cast<const std::int64_t*>(call.buffers[1])[at]
                                              : static_cast<const std::int32_t*>(call.buffers[1])[at];
    if (index < 0 || index >= p.limit) {
      call.fault(call, "scatter_: an index is outside the dim", index);
      continue;
    }
    std::memcpy(static_cast<std::byte*>(call.buffers[0]) + (cursor.offset(p.walk, 0) + index * p.scale) * p.size,
                &p.bits, p.size);
  }
}
const runtime::Kernel kScatter = host_kernel("scatter", &scatter_blocks);

template <typename T>
void divide_all(const HostCall& call, const DivideParameters& p) {
  const std::int64_t begin = call.begin * p.block, end = std::min(call.end * p.block, p.walk.total);
  Cursor cursor(p.walk, begin);
  for (std::int64_t i = begin; i < end; ++i, cursor.advance(p.walk, 1)) {
    const std::int64_t value = static_cast<const T*>(call.buffers[1])[cursor.offset(p.walk, 1)];
    static_cast<T*>(call.buffers[0])[cursor.offset(p.walk, 0)] =
        static_cast<T>(value / p.other - (value % p.other < 0));
  }
}

void divide_blocks(const HostCall& call) {
  const auto& p = parameters_of<DivideParameters>(call);
  p.wide ? divide_all<std::int64_t>(call, p) : divide_all<std::int32_t>(call, p);
}
const runtime::Kernel kFloorDivide = host_kernel("floor_divide", &divide_blocks);

void run_scatter(ops::Context& context, const ops::OpCall& call) {
  const Tensor &self = call.input(0), &index = call.input(1);
  if (index.elements() == 0) return;
  const int axis = axis_of(call, self.rank());
  Strides self_strides = self.strides();
  self_strides[axis] = 0;
  const Strides strides[2] = {self_strides, index.strides()};
  ScatterParameters p{.walk = collapse<2>(index.shape(), strides, 2),
                      .scale = self.strides()[axis],
                      .limit = self.shape()[axis],
                      .size = static_cast<std::uint8_t>(dtype_size(self.dtype())),
                      .wide_indices = index.dtype() == DType::i64};
  store_element(self.dtype(), &p.bits, call.attributes.number("value", 0));
  runtime::Launch launch = ops::make_launch(kScatter, call);
  launch.cost.bytes_read = ops::tensor_bytes({&index, 1});
  launch.cost.bytes_written = static_cast<double>(index.elements()) * static_cast<double>(p.size);
  p.block = block_elements(p.walk.total, 16, launch.grid);
  launch.add_buffer(runtime::read_write_arg(self));
  launch.add_buffer(runtime::read_arg(index));
  launch.set_parameters(p);
  context.submit(launch);
}

void run_floor_divide(ops::Context& context, const ops::OpCall& call) {
  const Tensor &in = call.input(0), &out = call.outputs[0];
  if (out.elements() == 0) return;
  const Strides strides[2] = {out.strides(), in.strides()};
  DivideParameters p{.walk = collapse<2>(out.shape(), strides, 2),
                     .other = call.attributes.integer("other", 1),
                     .wide = in.dtype() == DType::i64};
  runtime::Launch launch = ops::make_launch(kFloorDivide, call);
  p.block = block_elements(p.walk.total, 16, launch.grid);
  launch.add_buffer(runtime::write_arg(out));
  launch.add_buffer(runtime::read_arg(in));
  launch.set_parameters(p);
  context.submit(launch);
}

}  // namespace

void add_index_candidates(ops::Registry& registry) {
  add_small(registry, "embedding", run_embedding);
  registry.add_candidate("embedding", "host",
                         {.name = "embedding_packed",
                          .kind = ops::CandidateKind::small,
                          .refuse = refuse_unpacked,
                          .run = run_packed_embedding});
  add_small(registry, "index_select", run_index_select);
  add_small(registry, "gather", run_gather);
  add_small(registry, "index_copy", run_index_copy);
  add_small(registry, "scatter_", run_scatter);
  add_small(registry, "floor_divide", run_floor_divide);
  add_small(registry, "cache_write", run_cache_write);
}

}  // namespace tilewright::backends::host
