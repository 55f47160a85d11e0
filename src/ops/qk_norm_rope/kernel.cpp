// The documented example of the tile language (docs/writing-a-kernel.md): q and k in one launch, each head read once.
#include <fmt/format.h>

#include "ops/qk_norm_rope/parts.h"
#include "tile/build/builder.h"

namespace tilewright::ops {
namespace {

constexpr std::int64_t kMaxWidth = 1024;  // of a head
constexpr std::int64_t kTokens = 16;      // rows of one head that are worked on together: they are written side by side

tile::Program build(const Specialisation& s) {
  using namespace tile;
  const std::int64_t width = s.numbers[0], half = width / 2;
  Builder b("qk_norm_rope");
  const Dim batch = b.dim("batch"), tokens = b.dim("tokens"), q_heads = b.dim("heads"), k_heads = b.dim("kv_heads");
  const auto q = b.input("q", s.dtype, {batch, tokens, q_heads, width});
  const auto k = b.input("k", s.dtype, {batch, tokens, k_heads, width});
  const auto q_weight = b.input("q_weight", s.dtype, {width});
  const auto k_weight = b.input("k_weight", s.dtype, {width});
  const auto cosines = b.input("cos", s.dtype, {batch, tokens, width});
  const auto sines = b.input("sin", s.dtype, {batch, tokens, width});
  const auto q_out = b.output("q_out", s.dtype, {batch, q_heads, tokens, width});
  const auto k_out = b.output("k_out", s.dtype, {batch, k_heads, tokens, width});
  const Tile eps = b.scalar("eps");
  const auto wide = [](Tile tile) { return cast(tile, DType::f32); };

  const auto heads_of = [&](TensorHandle x, TensorHandle weight, TensorHandle y, Dim heads) {
    b.parallel("batch", 0, batch, 1, [&](Index i) {
      b.parallel("token", 0, tokens, kTokens, [&](Index t) {
        b.parallel("head", 0, heads, 1, [&](Index h) {
          const Tile values = wide(b.view(x, {i, t, h, 0}, {kTokens, width, 1, 3}, to_end));
          const Tile factor = rsqrt(mean(values * values, 1) + eps);
          const Tile normal = wide(cast(values * factor, s.dtype));  // rounded as the reference implementation does
          const Tile weighted = normal * wide(b.view(weight, {0}, {1, width}));
          const Tile left = slice(weighted, 0, 0, kTokens, half), right = slice(weighted, 0, half, kTokens, half);
          const auto table = [&](TensorHandle of, std::int64_t column) {
            return wide(b.view(of, {i, t, column}, {kTokens, half}, to_end));
          };
          const Tile turned_left = left * table(cosines, 0) - right * table(sines, 0);
          const Tile turned_right = right * table(cosines, half) + left * table(sines, half);
          b.assemble(cast(turned_left, s.dtype), y, {i, h, t, 0}, to_end, 2, 3);
          b.assemble(cast(turned_right, s.dtype), y, {i, h, t, half}, to_end, 2, 3);
        });
      });
    });
  };
  heads_of(q, q_weight, q_out, q_heads);
  heads_of(k, k_weight, k_out, k_heads);
  return b.finish();
}

TileArguments bind(const OpCall& call) {
  const std::int64_t width = call.input(2).dim(0);
  const auto heads = [&](int input) {
    const Tensor& x = call.input(input);
    return x.view({x.dim(0), x.dim(1), x.dim(2) / width, width});
  };
  const auto table = [&](int input) {  // one for all rows of the batch: repeated by a stride of 0
    return call.input(input).expand({call.input(0).dim(0), call.input(0).dim(1), width});
  };
  return {{heads(0), heads(1), call.input(2), call.input(3), table(4), table(5), call.outputs[0], call.outputs[1]},
          {call.attributes.number("eps", 1e-6)}};
}

}  // namespace

TileKernel qk_norm_rope_kernel() {
  TileKernel kernel;
  kernel.name = "qk_norm_rope";
  kernel.numbers = {"dim"};
  kernel.guards = fmt::format("head sizes up to {}", kMaxWidth);
  kernel.refuse = [](const OpCall& call) {
    const std::int64_t width = call.input(2).dim(0);
    return width > kMaxWidth ? fmt::format("heads of {} are wider than {}", width, kMaxWidth) : std::string();
  };
  kernel.specialise = [](const OpCall& call) {
    return Specialisation{.dtype = call.input(0).dtype(), .numbers = {call.input(2).dim(0)}};
  };
  kernel.build = build;
  kernel.bind = bind;
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16})
    for (const std::int64_t width : {32, 64, 128}) kernel.shipped.push_back({.dtype = dtype, .numbers = {width}});
  return kernel;
}

}  // namespace tilewright::ops
