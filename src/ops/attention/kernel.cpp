// Attention by blocks of keys with a running softmax (Milakov and Gimelshein 2018; Dao et al. 2022): scores never reach
// memory beyond the caches. Prompts: a block of rows of some query heads of one kv head, so that one block of k and v
// serves them all. Single tokens: the query heads of a kv head are the rows of one tile, and the cache is read once.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "ops/attention/parts.h"
#include "tile/build/builder.h"

namespace tilewright::ops {
namespace {

constexpr std::int64_t kMaxWidth = 256;        // of a head
constexpr std::int64_t kMaxGroups = 64;        // query heads of a kv head that are the rows of one tile
constexpr std::int64_t kHeadsTogether = 2;     // in prompts
constexpr std::int64_t kRows = 64;             // of a block of a prompt
constexpr std::int64_t kKeys = 256;            // of a block, prompts
constexpr std::int64_t kKeysOfToken = 256;     // of a block, single tokens
constexpr std::int64_t kWindowAlignment = 64;  // a window's first block starts at a multiple

enum Number { width_of_head, group_size, single_token, has_mask, has_position, has_window };

double lowest(DType dtype) {
  return dtype == DType::f16    ? -65504.0
         : dtype == DType::bf16 ? -0x1.fep127
                                : static_cast<double>(std::numeric_limits<float>::lowest());
}

// How many heads share a block of k and v: as many as divide the group.
std::int64_t heads_together(std::int64_t groups) {
  std::int64_t heads = std::min(groups, kHeadsTogether);
  while (groups % heads != 0) --heads;
  return heads;
}

// One head's running softmax: rows × 1, rows × 1, rows × width.
struct Running {
  tile::Tile highest, sum, mixed;
};

tile::Program build(const Specialisation& s) {
  using namespace tile;
  const std::int64_t width = s.numbers[width_of_head], groups = s.numbers[group_size];
  const bool token = s.numbers[single_token] != 0, masked = s.numbers[has_mask] != 0;
  Builder b(token ? "attention_token" : "attention");
  const Dim batch = b.dim("batch"), kv_heads = b.dim("kv_heads"), tokens = b.dim("tokens"), keys = b.dim("keys");
  const auto q = b.input("q", s.dtype, {batch, kv_heads, groups, tokens, width});
  const auto k = b.input("k", s.dtype, {batch, kv_heads, keys, width});
  const auto v = b.input("v", s.dtype, {batch, kv_heads, keys, width});
  TensorHandle mask, position;
  if (masked) mask = b.input("mask", s.dtype, {batch, tokens, keys});
  if (s.numbers[has_position] != 0) position = b.input("position", DType::i32, {batch});
  const auto out = b.output("out", s.dtype, {batch, tokens, kv_heads, groups, width});
  const Tile scale = b.scalar("scale");
  const bool windowed = s.numbers[has_window] != 0;
  const Index window = windowed ? b.index_scalar("window") : Index(0);

  const std::int64_t together = token ? 1 : heads_together(groups);
  const std::int64_t rows = token ? groups : kRows, block = token ? kKeysOfToken : kKeys;

  // Rows row … row + rows - 1 of heads head … head + together - 1 (or of all heads of one token).
  const auto part = [&](Index i, Index kv, Index head, Index row) {
    const Index left = token ? Index(rows) : min(rows, tokens - row);
    Index begin = 0, end = keys;
    if (s.numbers[has_position] != 0) {
      const Index first = b.load(position, {i}) + row;  // where the first row stands
      end = min(keys, max(first + (token ? Index(1) : left), 1));
      // Some key is always visited, also where the window lies beyond them all.
      if (windowed) begin = max(min(first - window + 1, end - 1), 0) / kWindowAlignment * kWindowAlignment;
    }
    std::vector<Tile> queries, initial;
    for (std::int64_t h = 0; h < together; ++h) {
      queries.push_back(token ? b.view(q, {i, kv, 0, 0, 0}, {rows, width, 2, 4})
                              : b.view(q, {i, kv, head + h, row, 0}, {rows, width, 3, 4}, valid(left, width)));
      // A finite start, so that a block which is hidden wholly gives differences of 0 and not of infinities.
      initial.push_back(b.constant(std::numeric_limits<float>::lowest(), rows, 1));
      initial.push_back(b.constant(0, rows, 1));
      initial.push_back(b.constant(0, rows, width));
    }
    const std::vector<Tile> last =
        b.loop("key", begin, end, block, initial, [&](Index key, const std::vector<Tile>& now) {
          const Index some = min(block, end - key);
          const Tile key_block = b.view(k, {i, kv, key, 0}, {block, width}, valid(some, width));
          const Tile value_block = b.view(v, {i, kv, key, 0}, {block, width}, valid(some, width));
          std::vector<Tile> next;
          for (std::size_t h = 0; h < queries.size(); ++h) {
            const Running before{now[3 * h], now[3 * h + 1], now[3 * h + 2]};
            Tile scores = matmul_transposed(queries[h], key_block) * scale;
            if (masked) {
              const Tile hidden = cast(token ? b.view(mask, {i, 0, key}, {1, block}, valid(1, some))
                                             : b.view(mask, {i, row, key}, {rows, block}, valid(left, some)),
                                       DType::f32);
              const Tile masks = token ? broadcast(hidden, rows, block) : hidden;
              scores = where(less_equal(masks, b.constant(lowest(s.dtype), rows, block)), masks, scores + masks);
            }
            const Tile highest = maximum(before.highest, max(scores, 1));
            const Tile weights = exp(scores - highest);
            const Tile shrink = exp(before.highest - highest);
            next.push_back(highest);
            next.push_back(before.sum * shrink + sum(weights, 1));
            next.push_back(matmul(cast(weights, s.dtype), value_block, before.mixed * shrink));
          }
          return next;
        });
    for (std::int64_t h = 0; h < together; ++h) {
      const Tile mixed =
          cast(last[static_cast<std::size_t>(3 * h + 2)] / last[static_cast<std::size_t>(3 * h + 1)], s.dtype);
      if (token)
        b.assemble(mixed, out, {i, 0, kv, 0, 0}, whole, 3, 4);
      else
        b.assemble(mixed, out, {i, row, kv, head + h, 0}, valid(left, width), 1, 4);
    }
  };
  b.parallel("batch", 0, batch, 1, [&](Index i) {
    b.parallel("kv_head", 0, kv_heads, 1, [&](Index kv) {
      if (token) return part(i, kv, 0, 0);
      b.parallel("head", 0, groups, together,
                 [&](Index head) { b.parallel("row", 0, tokens, rows, [&](Index row) { part(i, kv, head, row); }); });
    });
  });
  return b.finish();
}

std::int64_t groups_of(const OpCall& call) { return call.input(0).dim(1) / call.input(1).dim(1); }

// A kernel may stop at the position because the mask hides what comes later; without a mask nothing is hidden.
bool uses_position(const OpCall& call) { return call.has(3) && call.has(4); }
bool uses_window(const OpCall& call) { return uses_position(call) && call.attributes.integer("window", 0) > 0; }

Specialisation specialise(const OpCall& call) {
  Specialisation s{.dtype = call.input(0).dtype()};
  s.numbers[width_of_head] = call.input(0).dim(3);
  s.numbers[group_size] = groups_of(call);
  s.numbers[single_token] = call.input(0).dim(2) == 1;
  s.numbers[has_mask] = call.has(3);
  s.numbers[has_position] = uses_position(call);
  s.numbers[has_window] = uses_window(call);
  return s;
}

TileArguments bind(const OpCall& call) {
  const Tensor &q = call.input(0), &k = call.input(1);
  const std::int64_t batch = q.dim(0), kv_heads = k.dim(1), groups = groups_of(call), tokens = q.dim(2),
                     width = q.dim(3);
  TileArguments arguments;
  arguments.tensors = {q.view({batch, kv_heads, groups, tokens, width}), k, call.input(2)};
  if (call.has(3)) arguments.tensors.push_back(call.input(3).select(1, 0).expand({batch, tokens, k.dim(2)}));
  if (uses_position(call)) arguments.tensors.push_back(call.input(4));
  arguments.tensors.push_back(call.outputs[0].view({batch, tokens, kv_heads, groups, width}));
  arguments.scalars = {call.attributes.number("scale", 1)};
  if (uses_window(call)) arguments.scalars.push_back(static_cast<double>(call.attributes.integer("window", 0)));
  return arguments;
}

std::string refuse(const OpCall& call) {
  if (call.input(0).dim(3) > kMaxWidth)
    return fmt::format("heads of {} are wider than {}", call.input(0).dim(3), kMaxWidth);
  if (groups_of(call) > kMaxGroups)
    return fmt::format("{} query heads to a kv head are more than {}", groups_of(call), kMaxGroups);
  return call.input(1).dim(2) == 0 ? "there are no keys" : "";
}

}  // namespace

TileKernel attention_kernel() {
  TileKernel kernel;
  kernel.name = "attention";
  kernel.numbers = {"dim", "groups", "token", "mask", "position", "window"};
  kernel.refuse = refuse;
  kernel.specialise = specialise;
  kernel.build = build;
  kernel.bind = bind;
  // Decoders call it with a mask and a position; heads and groups are those of published ones.
  struct Heads {
    std::int64_t width, groups;
  };
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16})
    for (const Heads& heads : {Heads{64, 2}, {64, 3}, {64, 4}, {64, 7}, {128, 1}, {128, 2}, {128, 4}, {128, 8}})
      for (const std::int64_t token : {0, 1})
        kernel.shipped.push_back({.dtype = dtype, .numbers = {heads.width, heads.groups, token, 1, 1, 0}});
  return kernel;
}

}  // namespace tilewright::ops
