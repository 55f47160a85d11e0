#include "tile/cost/cost.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "tile/cost/buffers.h"

namespace tilewright::tile {
namespace {

constexpr std::int64_t kLarge = std::int64_t{1} << 40;  // a loaded index: as large as can be
constexpr std::int64_t kAssumed = 4096;                 // a bound that nothing but loads limits

struct Work {
  double read = 0, written = 0, vector = 0, special = 0, matrix = 0, nodes = 0;
  Work& add(const Work& other, double times) {
    read += other.read * times;
    written += other.written * times;
    vector += other.vector * times;
    special += other.special * times;
    matrix += other.matrix * times;
    nodes += other.nodes * times;
    return *this;
  }
};

bool is_special(OpCode op) {
  return in_range(op, OpCode::exp, OpCode::gelu_tanh) || op == OpCode::div;  // what needs more than one instruction
}

class Estimate {
 public:
  Estimate(const Program& program, const TileTarget& target, const CostQuestion& question)
      : program_(program),
        target_(target),
        question_(question),
        index_(program.nodes.size(), 0),
        valid_(program.nodes.size(), {kNone, kNone}),
        moved_(program.tensors.size(), 0) {}

  TileCost cost() {
    const Work work = block(0, 1);
    TileCost out;
    for (std::size_t i = 0; i < moved_.size(); ++i) {
      double whole = static_cast<double>(dtype_size(program_.tensors[i].dtype));
      for (const TensorDim& dim : program_.tensors[i].shape)
        whole *= static_cast<double>(dim.symbol == kNone ? dim.size : dim_value(dim.symbol));
      const double traffic = whole <= target_.cache_bytes ? std::min(whole, moved_[i]) : moved_[i];
      (program_.tensors[i].access == Access::read ? out.bytes_read : out.bytes_written) += traffic;
    }
    out.bytes_moved = work.read + work.written;
    out.vector_flops = work.vector;
    out.special_flops = work.special;
    out.matrix_flops = work.matrix;
    out.nodes = work.nodes;
    out.blocks = std::max(1.0, blocks());
    out.buffer_bytes = buffer_table(program_, target_).peak;
    // Cores that find no block stand idle.
    const double rounds = std::ceil(out.blocks / target_.cores);
    const double idle = rounds * target_.cores / out.blocks;
    const double arithmetic = (out.vector_flops / target_.vector_flops + out.special_flops / target_.special_flops +
                               out.nodes * target_.node_seconds / target_.cores) *
                                  idle +
                              out.matrix_flops / target_.matrix_flops * idle;
    out.seconds = std::max({(out.bytes_read + out.bytes_written) / target_.bandwidth,
                            out.bytes_moved / target_.cache_bandwidth, arithmetic}) +
                  target_.launch_seconds;
    return out;
  }

 private:
  std::int64_t named(const std::map<std::string, std::int64_t>& values, const std::string& name) const {
    const auto found = values.find(name);
    return found == values.end() ? question_.other_dims : found->second;
  }
  std::int64_t dim_value(int symbol) const {
    return named(question_.dims, program_.dims[static_cast<std::size_t>(symbol)]);
  }
  std::int64_t size(const Extent& extent) const {
    if (extent.fixed()) return extent.size;
    return tile_size(static_cast<std::size_t>(extent.parameter));
  }
  std::int64_t tile_size(std::size_t parameter) const {
    const TileParameter& tile = program_.tiles[parameter];
    return tile.chosen != 0 ? tile.chosen : tile.choices.empty() ? 1 : tile.choices[0];
  }
  std::int64_t& index(ValueId id) { return index_[static_cast<std::size_t>(id)]; }

  std::int64_t evaluate(const Node& node) {
    switch (node.op) {
      case OpCode::index_constant:
        return node.integer2 != 0 ? tile_size(static_cast<std::size_t>(node.integer2 - 1)) : node.integer;
      case OpCode::index_dim:
        return dim_value(static_cast<int>(node.integer));
      case OpCode::index_scalar:
        return named(question_.scalars, program_.scalars[static_cast<std::size_t>(node.integer)].name);
      case OpCode::index_load:
        return kLarge;
      default:
        break;
    }
    const std::int64_t a = index(node.operands[0]), b = index(node.operands[1]);
    const auto limited = [](double value) {
      return static_cast<std::int64_t>(std::clamp(value, -static_cast<double>(kLarge), static_cast<double>(kLarge)));
    };
    const auto x = static_cast<double>(a), y = static_cast<double>(b);
    switch (node.op) {
      case OpCode::index_add:
        return limited(x + y);
      case OpCode::index_sub:
        return limited(x - y);
      case OpCode::index_mul:
        return limited(x * y);
      case OpCode::index_div:
        return b == 0 ? 0 : limited(std::floor(x / y));
      case OpCode::index_mod:
        return b == 0 ? 0 : limited(x - std::floor(x / y) * y);
      case OpCode::index_min:
        return std::min(a, b);
      default:
        return std::max(a, b);
    }
  }

  double elements(ValueId tile) {
    const Type& type = program_.node(tile).type;
    double out = 1;
    for (const int axis : {0, 1}) {
      const std::int64_t extent = size(axis == 0 ? type.rows : type.columns);
      const ValueId valid = valid_[static_cast<std::size_t>(tile)][static_cast<std::size_t>(axis)];
      std::int64_t used = valid == kNone ? extent : std::clamp<std::int64_t>(index(valid), 0, extent);
      if (axis == 1) used = (used + target_.lanes - 1) / target_.lanes * target_.lanes;  // whole vectors are computed
      out *= static_cast<double>(used);
    }
    return out;
  }
  // Of an access; counts towards its tensor.
  double bytes(ValueId id, const Node& node, double times) {
    const ValueId tile = node.op == OpCode::assemble ? node.operands[0] : id;
    const Type& type = program_.node(tile).type;
    double out = static_cast<double>(dtype_size(type.dtype));
    for (const int axis : {0, 1}) {
      const std::int64_t extent = size(axis == 0 ? type.rows : type.columns);
      ValueId valid = valid_operand(node, axis);
      if (valid == kNone) valid = valid_[static_cast<std::size_t>(tile)][static_cast<std::size_t>(axis)];
      out *= static_cast<double>(valid == kNone ? extent : std::clamp<std::int64_t>(index(valid), 0, extent));
    }
    moved_[static_cast<std::size_t>(node.tensor)] += out * times;
    return out;
  }

  // Work of one run of the block, which runs `times` times.
  Work block(BlockId id, double times) {
    Work work;
    for (const ValueId value : program_.block(id).nodes) {
      const Node& node = program_.node(value);
      if (node.op == OpCode::loop) {
        work.add(loop(node, times), 1);
      } else if (node.type.index) {
        index(value) = evaluate(node);
      } else {
        for (const int axis : {0, 1})
          valid_[static_cast<std::size_t>(value)][static_cast<std::size_t>(axis)] =
              valid_extent_rule(program_, value, axis, [&](ValueId of, int along) {
                return valid_[static_cast<std::size_t>(of)][static_cast<std::size_t>(along)];
              });
        tile(value, node, times, work);
      }
    }
    return work;
  }

  void tile(ValueId id, const Node& node, double times, Work& work) {
    switch (node.op) {
      case OpCode::constant:
      case OpCode::scalar:
      case OpCode::result:
      case OpCode::restrict:
      case OpCode::reshape:
      case OpCode::is_first:
      case OpCode::is_last:
      case OpCode::from_index:
        return;
      default:
        work.nodes += 1;
    }
    if (node.op == OpCode::view || node.op == OpCode::gather) {
      work.read += bytes(id, node, times);
    } else if (node.op == OpCode::assemble) {
      work.written += bytes(id, node, times);
    } else if (node.op == OpCode::matmul) {
      const Node& a = program_.node(node.operands[0]);
      work.matrix += 2 * elements(id) * static_cast<double>(size(a.type.columns));
    } else if (is_special(node.op)) {
      work.special += elements(id);
    } else if (is_reduction(node.op) || node.op == OpCode::top_k) {
      work.vector += elements(node.operands[0]);
    } else if (node.op != OpCode::broadcast) {
      work.vector += elements(id);
    }
  }

  Work loop(const Node& node, double times) {
    std::int64_t start = index(node.operands[kLoopStart]), stop = index(node.operands[kLoopStop]);
    const std::int64_t step = std::max<std::int64_t>(1, index(node.operands[kLoopStep]));
    if (stop >= kLarge / 2) stop = start + kAssumed;
    Work work;
    if (stop <= start) return work;
    const std::int64_t trips = (stop - start - 1) / step + 1;
    const ValueId variable = program_.block(node.body).arguments[0];
    const auto at = [&](std::int64_t trip, double many) {
      index(variable) = start + trip * step;
      work.add(block(node.body, times * many), many);
    };
    if (trips > 1) at((trips - 1) / 2, static_cast<double>(trips - 1));
    at(trips - 1, 1);
    return work;
  }

  double blocks() {
    double sum = 0;
    for (const ValueId id : program_.block(0).nodes) {
      if (program_.node(id).op != OpCode::loop) continue;
      if (!program_.node(id).parallel) return 1;
      sum += nest(program_.node(id));
    }
    return sum;
  }
  double nest(const Node& node) {
    const std::int64_t start = index(node.operands[kLoopStart]), stop = index(node.operands[kLoopStop]);
    const std::int64_t step = std::max<std::int64_t>(1, index(node.operands[kLoopStep]));
    if (stop <= start) return 0;
    double out = static_cast<double>((stop - start - 1) / step + 1);
    ValueId only = kNone;
    for (const ValueId id : program_.block(node.body).nodes) {
      const Node& inner = program_.node(id);
      if (inner.type.index && inner.op != OpCode::loop) continue;
      if (only != kNone || inner.op != OpCode::loop || !inner.parallel) return out;
      only = id;
    }
    return only == kNone ? out : out * std::max(1.0, nest(program_.node(only)));
  }

  const Program& program_;
  const TileTarget& target_;
  const CostQuestion& question_;
  std::vector<std::int64_t> index_;
  std::vector<std::array<ValueId, 2>> valid_;
  std::vector<double> moved_;
};

}  // namespace

TileCost predict_cost(const Program& program, const TileTarget& target, const CostQuestion& question) {
  return Estimate(program, target, question).cost();
}

}  // namespace tilewright::tile
