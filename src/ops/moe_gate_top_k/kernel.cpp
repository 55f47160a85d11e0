// The gate of one token after the other in one launch, all scores on chip. A group's two best and the chosen experts
// come from top_k; a chosen expert's own score is the sum of a row in which the others count for nothing.
#include <limits>

#include "ops/moe_gate_top_k/parts.h"
#include "tile/build/builder.h"

namespace tilewright::ops {
namespace {

constexpr std::int64_t kMostExperts = 1024, kMostChosen = 32;
constexpr double kDropped = -std::numeric_limits<double>::infinity();

struct Gate {
  explicit Gate(const Specialisation& s)
      : experts(s.numbers[0]),
        k(s.numbers[1]),
        sigmoid(s.numbers[2] != 0),
        groups(s.numbers[3]),
        kept(s.numbers[4]),
        renormalise(s.numbers[5] != 0),
        bias(s.numbers[6] != 0),
        weights(static_cast<DType>(s.numbers[7])) {}
  std::int64_t experts, k;
  bool sigmoid;
  std::int64_t groups, kept;
  bool renormalise, bias;
  DType weights;
};

// Minus infinity in all but the best groups.
tile::Tile keep_groups(tile::Builder& b, const Gate& gate, const tile::Tile& biased) {
  using namespace tile;
  const std::int64_t each = gate.experts / gate.groups;
  std::vector<Tile> sums;
  for (std::int64_t g = 0; g < gate.groups; ++g)
    sums.push_back(sum(top_k(slice(biased, 0, g * each, 1, each), 2).values, 1));
  const Tile best = top_k(concat(sums, 1), gate.kept).columns;
  std::vector<Tile> parts;
  for (std::int64_t g = 0; g < gate.groups; ++g) {
    const Tile stays = less(
        b.constant(0),
        sum(where(equal(best, b.constant(static_cast<double>(g), {}, {}, DType::i32)), b.constant(1), b.constant(0)),
            1));
    parts.push_back(where(stays, slice(biased, 0, g * each, 1, each), b.constant(kDropped)));
  }
  return concat(parts, 1);
}

tile::Program build(const Specialisation& s) {
  using namespace tile;
  const Gate gate(s);
  Builder b("moe_gate_top_k");
  const Dim tokens = b.dim("tokens");
  const auto logits = b.input("logits", s.dtype, {tokens, gate.experts});
  TensorHandle bias;
  if (gate.bias) bias = b.input("bias", DType::f32, {gate.experts});
  const auto weights = b.output("weights", gate.weights, {tokens, gate.k});
  const auto indices = b.output("indices", DType::i32, {tokens, gate.k});
  const Tile eps = b.scalar("renormalise_eps"), scale = b.scalar("scale");
  b.parallel("token", 0, tokens, 1, [&](Index token) {
    const Tile x = cast(b.view(logits, {token, 0}, {1, gate.experts}), DType::f32);
    Tile scores;
    if (gate.sigmoid) {
      scores = sigmoid(x);
    } else {
      const Tile powers = exp(x - max(x, 1));
      scores = powers / sum(powers, 1);
    }
    Tile biased = gate.bias ? scores + b.view(bias, {0}, {1, gate.experts}) : scores;
    if (gate.groups > 1) biased = keep_groups(b, gate, biased);
    const TopK chosen = top_k(biased, gate.k);
    Tile values = chosen.values;
    if (gate.bias) {
      const Tile number = b.iota(1, gate.experts, 1);
      std::vector<Tile> own;
      for (std::int64_t i = 0; i < gate.k; ++i)
        own.push_back(sum(where(equal(number, slice(chosen.columns, 0, i, 1, 1)), scores, b.constant(0)), 1));
      values = concat(own, 1);
    }
    if (gate.renormalise) values = values / (sum(values, 1) + eps);
    b.assemble(cast(values * scale, gate.weights), weights, {token, 0});
    b.assemble(chosen.columns, indices, {token, 0});
  });
  return b.finish();
}

Specialisation specialise(const OpCall& call) {
  const Attributes& a = call.attributes;
  return {.dtype = call.input(0).dtype(),
          .numbers = {call.input(0).dim(1), a.integer("k", 1), a.text("score", "softmax") == "sigmoid",
                      a.integer("n_group", 1), a.integer("topk_group", 1), a.flag("renormalise", true), call.has(1),
                      static_cast<std::int64_t>(a.dtype("dtype", DType::f32))}};
}

}  // namespace

TileKernel moe_gate_top_k_kernel() {
  TileKernel kernel;
  kernel.name = "moe_gate_top_k";
  kernel.guards = "up to 1024 experts, 32 of them chosen";
  kernel.numbers = {"experts", "k", "sigmoid", "groups", "kept", "renormalise", "bias", "weights_dtype"};
  kernel.refuse = [](const OpCall& call) {
    if (call.input(0).dim(1) > kMostExperts) return std::string("more than 1024 experts");
    return call.attributes.integer("k", 1) > kMostChosen ? std::string("more than 32 chosen experts") : std::string();
  };
  kernel.specialise = specialise;
  kernel.build = build;
  kernel.bind = [](const OpCall& call) {
    TileArguments out;
    out.tensors.push_back(call.input(0));
    if (call.has(1)) out.tensors.push_back(call.input(1));
    out.tensors.push_back(call.outputs[0]);
    out.tensors.push_back(call.outputs[1]);
    out.scalars.push_back(call.attributes.number("renormalise_eps", 0));
    out.scalars.push_back(call.attributes.number("scale", 1));
    return out;
  };
  return kernel;
}

}  // namespace tilewright::ops
