// copy, cat, arange, full and causal_mask on the host.
#include <cstring>

#include "backends/host/host_kernel.h"
#include "backends/host/small/lines.h"
#include "backends/host/small/small_candidates.h"
#include "backends/host/small/strided_walk.h"
#include "ops/core/context.h"

namespace tilewright::backends::host {
namespace {

using runtime::Tensor;

std::int64_t size_of(const Tensor& tensor) { return static_cast<std::int64_t>(dtype_size(tensor.dtype())); }

template <typename T>
void copy_strided(const std::byte* in, std::int64_t in_stride, std::byte* out, std::int64_t out_stride,
                  std::int64_t n) {
  const T* from = reinterpret_cast<const T*>(in);
  T* to = reinterpret_cast<T*>(out);
  if (in_stride == 0 && out_stride == 1)
    std::fill_n(to, n, *from);
  else
    for (std::int64_t i = 0; i < n; ++i) to[i * out_stride] = from[i * in_stride];
}

void copy_line(std::int64_t size, const std::byte* in, std::int64_t in_stride, std::byte* out, std::int64_t out_stride,
               std::int64_t n, bool streaming) {
  if (in_stride == 1 && out_stride == 1) {
    if (streaming)
      active_table().copy_stream(in, out, n * size);
    else
      std::memcpy(out, in, static_cast<std::size_t>(n * size));
    return;
  }
  if (size == 1) copy_strided<std::uint8_t>(in, in_stride, out, out_stride, n);
  if (size == 2) copy_strided<std::uint16_t>(in, in_stride, out, out_stride, n);
  if (size == 4) copy_strided<std::uint32_t>(in, in_stride, out, out_stride, n);
  if (size == 8) copy_strided<std::uint64_t>(in, in_stride, out, out_stride, n);
}

// ---- copy and cat: parts, each a walk of output (0) and input (1)

constexpr int kParts = 3;
constexpr int kPartRank = 5;

struct Part {
  std::int64_t total;
  std::int64_t block;       // elements
  std::int64_t out_offset;  // elements
  std::int64_t extent[kPartRank];
  std::int64_t stride[2][kPartRank];
};
struct CopyParameters {
  Part parts[kParts];
  std::uint32_t first_block[kParts];  // of each part
  std::uint8_t rank[kParts];
  std::uint8_t count;
  std::uint8_t size;
  bool streaming;
};
static_assert(sizeof(CopyParameters) <= runtime::kMaxParameterBytes);

void copy_blocks(const HostCall& call) {
  const auto& p = parameters_of<CopyParameters>(call);
  auto* base = static_cast<std::byte*>(call.buffers[p.count]);
  for (std::uint32_t block = call.begin; block < call.end; ++block) {
    int which = p.count - 1;
    while (block < p.first_block[which]) --which;
    const Part& part = p.parts[which];
    Walk<2> walk;
    walk.total = part.total;
    walk.rank = p.rank[which];
    for (int i = 0; i < walk.rank; ++i) {
      walk.extent[i] = part.extent[i];
      walk.stride[0][i] = part.stride[0][i];
      walk.stride[1][i] = part.stride[1][i];
    }
    const auto* in = static_cast<const std::byte*>(call.buffers[which]);
    std::byte* out = base + part.out_offset * p.size;
    const std::int64_t begin = static_cast<std::int64_t>(block - p.first_block[which]) * part.block;
    const std::int64_t in_step = walk.rank > 1 ? walk.stride[1][walk.rank - 2] * p.size : 0;
    const std::int64_t out_step = walk.rank > 1 ? walk.stride[0][walk.rank - 2] * p.size : 0;
    for_each_run(walk, 2, begin, std::min(begin + part.block, part.total),
                 [&](const std::int64_t* offset, std::int64_t n, std::int64_t rows) {
                   for (std::int64_t row = 0; row < rows; ++row)
                     copy_line(p.size, in + offset[1] * p.size + row * in_step, walk.inner_stride(1),
                               out + offset[0] * p.size + row * out_step, walk.inner_stride(0), n, p.streaming);
                 });
  }
  if (p.streaming) streaming_fence();
}
const runtime::Kernel kCopy = host_kernel("copy", &copy_blocks);

// Transposing copies: tiles of one cache line by one cache line over the input's dense dim (columns) and the output's
// (rows). A tile's lines are read whole into a small buffer first: lines a power of two apart would push each other
// out.
constexpr std::int64_t kLineBytes = 64;
constexpr std::int64_t kTilesPerBlock = 16;
struct TransposeParameters {
  Walk<2> outer;               // the other dims
  std::int64_t rows, columns;  // extents of the output's dense dim and of the input's
  std::int64_t in_stride;      // of rows in the input
  std::int64_t out_stride;     // of columns in the output
  std::int64_t row_tiles, tiles;
  std::uint8_t size;
};
static_assert(sizeof(TransposeParameters) <= runtime::kMaxParameterBytes);

template <typename T>
void transpose_tile(const T* in, std::int64_t in_stride, T* out, std::int64_t out_stride, std::int64_t rows,
                    std::int64_t columns) {
  constexpr std::int64_t kTile = kLineBytes / static_cast<std::int64_t>(sizeof(T));
  alignas(64) T tile[kTile][kTile];
  if (rows == kTile && columns == kTile) {
    for (std::int64_t r = 0; r < kTile; ++r) std::memcpy(tile[r], in + r * in_stride, kLineBytes);
    for (std::int64_t c = 0; c < kTile; ++c) {
      T line[kTile];
      for (std::int64_t r = 0; r < kTile; ++r) line[r] = tile[r][c];
      std::memcpy(out + c * out_stride, line, kLineBytes);
    }
    return;
  }
  for (std::int64_t c = 0; c < columns; ++c)
    for (std::int64_t r = 0; r < rows; ++r) out[c * out_stride + r] = in[r * in_stride + c];
}

template <typename T>
void transpose_all(const HostCall& call) {
  const auto& p = parameters_of<TransposeParameters>(call);
  constexpr std::int64_t kTile = kLineBytes / static_cast<std::int64_t>(sizeof(T));
  const std::int64_t end = std::min(static_cast<std::int64_t>(call.end) * kTilesPerBlock, p.outer.total * p.tiles);
  for (std::int64_t i = call.begin * kTilesPerBlock; i < end; ++i) {
    const Cursor cursor(p.outer, i / p.tiles);
    const std::int64_t row = i % p.tiles % p.row_tiles * kTile, column = i % p.tiles / p.row_tiles * kTile;
    transpose_tile(static_cast<const T*>(call.buffers[0]) + cursor.offset(p.outer, 1) + row * p.in_stride + column,
                   p.in_stride,
                   static_cast<T*>(call.buffers[1]) + cursor.offset(p.outer, 0) + column * p.out_stride + row,
                   p.out_stride, std::min(kTile, p.rows - row), std::min(kTile, p.columns - column));
  }
}

void transpose_blocks(const HostCall& call) {
  const std::uint8_t size = parameters_of<TransposeParameters>(call).size;
  if (size == 1) transpose_all<std::uint8_t>(call);
  if (size == 2) transpose_all<std::uint16_t>(call);
  if (size == 4) transpose_all<std::uint32_t>(call);
  if (size == 8) transpose_all<std::uint64_t>(call);
}
const runtime::Kernel kTranspose = host_kernel("copy_transposed", &transpose_blocks);

bool run_transpose(ops::Context& context, const ops::OpCall& call, const Walk<2>& walk) {
  const int inner = walk.rank - 1;
  int dense = -1;  // the dim whose input stride is 1
  for (int i = 0; i < inner; ++i)
    if (walk.stride[1][i] == 1) dense = i;
  if (dense < 0 || walk.stride[0][inner] != 1 || walk.stride[1][inner] <= 1) return false;
  if (walk.extent[inner] < 8 || walk.extent[dense] < 8) return false;
  TransposeParameters p;
  p.rows = walk.extent[inner];
  p.columns = walk.extent[dense];
  p.in_stride = walk.stride[1][inner];
  p.out_stride = walk.stride[0][dense];
  p.size = static_cast<std::uint8_t>(size_of(call.outputs[0]));
  const std::int64_t tile = kLineBytes / p.size;
  p.row_tiles = (p.rows + tile - 1) / tile;
  p.tiles = p.row_tiles * ((p.columns + tile - 1) / tile);
  p.outer.rank = 0;
  for (int i = 0; i < inner; ++i) {
    if (i == dense) continue;
    p.outer.extent[p.outer.rank] = walk.extent[i];
    p.outer.total *= walk.extent[i];
    for (int k = 0; k < 2; ++k) p.outer.stride[k][p.outer.rank] = walk.stride[k][i];
    ++p.outer.rank;
  }
  if (p.outer.rank == 0) p.outer.rank = 1;
  runtime::Launch launch = ops::make_launch(kTranspose, call);
  launch.grid = static_cast<std::uint32_t>((p.outer.total * p.tiles + kTilesPerBlock - 1) / kTilesPerBlock);
  launch.add_buffer(runtime::read_arg(call.input(0)));
  launch.add_buffer(runtime::write_arg(call.outputs[0]));
  launch.set_parameters(p);
  context.submit(launch);
  return true;
}

// Blocks of a copy that repeats its input (heads shared by a group) hold whole repetitions where a second-level cache
// holds the repeated part: the second copy of it is then read from there, not from another thread's cache.
void keep_repetitions_together(const Walk<2>& walk, std::int64_t size, std::int64_t& block, std::uint32_t& grid) {
  std::int64_t repeated = walk.inner();
  for (int i = walk.rank - 2; i >= 0; --i) {
    const std::int64_t once = repeated;
    repeated *= walk.extent[i];
    if (walk.stride[1][i] != 0) continue;
    if (once * size > (256 << 10) || repeated == walk.total) return;
    block = (block + repeated - 1) / repeated * repeated;
    grid = static_cast<std::uint32_t>((walk.total + block - 1) / block);
    return;
  }
}

// Several tensors copied to places of one output, in as few launches as the parameters allow.
class CopyLauncher {
 public:
  CopyLauncher(ops::Context& context, const ops::OpCall& call)
      : context_(context), call_(call), size_(size_of(call.outputs[0])) {
    start();
  }
  void add(const Tensor& in, const Walk<2>& walk, std::int64_t out_offset) {
    if (p_.count == kParts) flush();
    Part& part = p_.parts[p_.count];
    std::uint32_t grid = 1;
    part.total = walk.total;
    part.block = block_elements(walk.total, 2 * size_, grid);
    keep_repetitions_together(walk, size_, part.block, grid);
    part.out_offset = out_offset;
    TW_CHECK(walk.rank <= kPartRank);
    for (int i = 0; i < walk.rank; ++i) {
      part.extent[i] = walk.extent[i];
      part.stride[0][i] = walk.stride[0][i];
      part.stride[1][i] = walk.stride[1][i];
    }
    p_.rank[p_.count] = static_cast<std::uint8_t>(walk.rank);
    p_.first_block[p_.count] = grid_;
    p_.count = static_cast<std::uint8_t>(p_.count + 1);
    grid_ += grid;
    inputs_[p_.count - 1] = &in;
    p_.streaming = p_.streaming && walk.inner() * size_ >= 4096;  // short pieces are slower past the caches
  }
  void flush() {
    if (p_.count == 0) return;
    runtime::Launch launch = ops::make_launch(kCopy, call_);
    launch.grid = grid_;
    double bytes = 0;
    for (int i = 0; i < p_.count; ++i) {
      launch.add_buffer(runtime::read_arg(*inputs_[i]));
      bytes += static_cast<double>(inputs_[i]->elements() * size_);
    }
    if (p_.count < static_cast<int>(call_.inputs.size())) launch.cost.bytes_read = launch.cost.bytes_written = bytes;
    launch.add_buffer(runtime::write_arg(call_.outputs[0]));
    launch.set_parameters(p_);
    context_.submit(launch);
    start();
  }

 private:
  void start() {
    grid_ = 0;
    p_.count = 0;
    p_.size = static_cast<std::uint8_t>(size_);
    p_.streaming = call_.outputs[0].elements() * size_ >= streaming_bytes();
  }
  ops::Context& context_;
  const ops::OpCall& call_;
  std::int64_t size_;
  std::uint32_t grid_ = 0;
  CopyParameters p_;
  const Tensor* inputs_[kParts] = {};
};

void run_copy(ops::Context& context, const ops::OpCall& call) {
  const Tensor &in = call.input(0), &out = call.outputs[0];
  if (out.elements() == 0) return;
  const Strides strides[2] = {out.strides(), in.strides()};
  const Walk<2> walk = collapse<2>(out.shape(), strides, 2);
  if (run_transpose(context, call, walk)) return;
  CopyLauncher launcher(context, call);
  launcher.add(in, walk, 0);
  launcher.flush();
}

void run_cat(ops::Context& context, const ops::OpCall& call) {
  const Tensor& out = call.outputs[0];
  if (out.elements() == 0) return;
  const int axis = normal_axis(static_cast<int>(call.attributes.integer("dim", -1)), out.rank());
  CopyLauncher launcher(context, call);
  std::int64_t offset = 0;
  for (const Tensor& in : call.inputs) {
    const Strides strides[2] = {out.strides(), in.strides()};
    if (in.elements() > 0) launcher.add(in, collapse<2>(in.shape(), strides, 2), offset);
    offset += in.shape()[axis] * out.strides()[axis];
  }
  launcher.flush();
}

std::string refuse_rank(ops::Context& context, const ops::OpCall& call) {
  for (const Tensor& t : call.inputs)
    if (t.defined() && t.rank() > kPartRank) {
      const Strides strides[2] = {contiguous_strides(t.shape()), t.strides()};
      if (collapse<2>(t.shape(), strides, 2).rank > kPartRank) return "more than 5 dims that do not merge";
    }
  return refuse_packed(context, call);
}

// ---- elements made from nothing

struct FillParameters {
  double start, step;
  std::int64_t total, block;
  std::uint64_t bits;  // of one element, for `full`
  DType dtype;
};

void full_blocks(const HostCall& call) {
  const auto& p = parameters_of<FillParameters>(call);
  const std::int64_t begin = call.begin * p.block, end = std::min(call.end * p.block, p.total);
  const auto size = static_cast<std::int64_t>(dtype_size(p.dtype));
  std::byte pattern[8];
  std::memcpy(pattern, &p.bits, 8);
  copy_line(size, pattern, 0, static_cast<std::byte*>(call.buffers[0]) + begin * size, 1, end - begin, false);
}

void arange_blocks(const HostCall& call) {
  const auto& p = parameters_of<FillParameters>(call);
  const std::int64_t begin = call.begin * p.block, end = std::min(call.end * p.block, p.total);
  auto* out = static_cast<std::byte*>(call.buffers[0]);
  for (std::int64_t i = begin; i < end; ++i)
    store_element(p.dtype, out + i * static_cast<std::int64_t>(dtype_size(p.dtype)),
                  p.start + static_cast<double>(i) * p.step);
}
const runtime::Kernel kFull = host_kernel("full", &full_blocks);
const runtime::Kernel kArange = host_kernel("arange", &arange_blocks);

void launch_fill(ops::Context& context, const ops::OpCall& call, const runtime::Kernel& kernel, FillParameters p) {
  const Tensor& out = call.outputs[0];
  if (out.elements() == 0) return;
  p.dtype = out.dtype();
  p.total = out.elements();
  store_element(p.dtype, &p.bits, p.start);
  runtime::Launch launch = ops::make_launch(kernel, call);
  p.block = block_elements(p.total, size_of(out), launch.grid);
  launch.add_buffer(runtime::write_arg(out));
  launch.set_parameters(p);
  context.submit(launch);
}

void run_full(ops::Context& context, const ops::OpCall& call) {
  launch_fill(context, call, kFull, {.start = call.attributes.number("value", 0)});
}
void run_arange(ops::Context& context, const ops::OpCall& call) {
  launch_fill(context, call, kArange,
              {.start = call.attributes.number("start", 0), .step = call.attributes.number("step", 1)});
}

struct MaskParameters {
  std::int64_t total, rows, columns, window, position_stride, block;  // block: rows of the output
  std::uint64_t lowest;
  std::int64_t size;
};

void mask_blocks(const HostCall& call) {
  const auto& p = parameters_of<MaskParameters>(call);
  const auto* position = static_cast<const std::int32_t*>(call.buffers[0]);
  auto* out = static_cast<std::byte*>(call.buffers[1]);
  std::byte lowest[8];
  std::memcpy(lowest, &p.lowest, 8);
  for (std::int64_t line = call.begin * p.block; line < std::min(call.end * p.block, p.total); ++line) {
    const std::int64_t last = position[line / p.rows * p.position_stride] + line % p.rows;
    const std::int64_t end = std::clamp<std::int64_t>(last + 1, 0, p.columns);
    const std::int64_t begin = p.window == 0 ? 0 : std::clamp<std::int64_t>(last - p.window + 1, 0, end);
    std::byte* to = out + line * p.columns * p.size;
    copy_line(p.size, lowest, 0, to, 1, begin, false);
    std::memset(to + begin * p.size, 0, static_cast<std::size_t>((end - begin) * p.size));
    copy_line(p.size, lowest, 0, to + end * p.size, 1, p.columns - end, false);
  }
}
const runtime::Kernel kMask = host_kernel("causal_mask", &mask_blocks);

void run_causal_mask(ops::Context& context, const ops::OpCall& call) {
  const Tensor &position = call.input(0), &out = call.outputs[0];
  if (out.elements() == 0) return;
  MaskParameters p{.total = out.dim(0) * out.dim(2),
                   .rows = out.dim(2),
                   .columns = out.dim(3),
                   .window = call.attributes.integer("window", 0),
                   .position_stride = position.strides()[0],
                   .block = 1,
                   .lowest = 0,
                   .size = size_of(out)};
  const double lowest = out.dtype() == DType::f16    ? -65504.0
                        : out.dtype() == DType::bf16 ? -0x1.fep127
                                                     : -0x1.fffffep127;
  store_element(out.dtype(), &p.lowest, lowest);
  p.block = std::max<std::int64_t>(1, 32768 / std::max<std::int64_t>(p.columns * p.size, 1));
  runtime::Launch launch = ops::make_launch(kMask, call);
  launch.grid = static_cast<std::uint32_t>((p.total + p.block - 1) / p.block);
  launch.add_buffer(runtime::read_arg(position));
  launch.add_buffer(runtime::write_arg(out));
  launch.set_parameters(p);
  context.submit(launch);
}

}  // namespace

void add_move_candidates(ops::Registry& registry) {
  const auto add = [&](const char* name, void (*run)(ops::Context&, const ops::OpCall&)) {
    registry.add_candidate(name, "host",
                           {.name = name, .kind = ops::CandidateKind::small, .refuse = refuse_rank, .run = run});
  };
  add("copy", run_copy);
  add("cat", run_cat);
  add_small(registry, "full", run_full);
  add_small(registry, "arange", run_arange);
  add_small(registry, "causal_mask", run_causal_mask);
}

}  // namespace tilewright::backends::host
