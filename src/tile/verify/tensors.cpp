// check_tensors and check_extents.
#include <fmt/format.h>

#include <array>
#include <set>

#include "tile/ir/printer.h"
#include "tile/ir/type_rule.h"
#include "tile/verify/checks.h"

namespace tilewright::tile {
namespace {

std::vector<ValueId> in_order(const Program& program) {
  std::vector<ValueId> order(program.nodes.size(), kNone);
  const std::vector<int> numbers = printed_numbers(program);
  for (std::size_t id = 0; id < numbers.size(); ++id)
    if (numbers[id] != kNone) order[static_cast<std::size_t>(numbers[id])] = static_cast<ValueId>(id);
  std::erase(order, kNone);
  return order;
}

// Valid extents of all nodes; every node's operands come before it.
class ValidTable {
 public:
  ValidTable(const Program& program, const std::vector<ValueId>& order) : table_(program.nodes.size(), {kNone, kNone}) {
    for (const ValueId id : order)
      if (!program.node(id).type.index)
        for (const int axis : {0, 1})
          table_[static_cast<std::size_t>(id)][static_cast<std::size_t>(axis)] =
              valid_extent_rule(program, id, axis, [&](ValueId of, int along) { return at(of, along); });
  }
  ValueId at(ValueId id, int axis) const {
    return table_[static_cast<std::size_t>(id)][static_cast<std::size_t>(axis)];
  }

 private:
  std::vector<std::array<ValueId, 2>> table_;
};

std::set<int> written_tensors(const Program& program, BlockId block) {
  std::set<int> out;
  for (const ValueId id : program.block(block).nodes) {
    const Node& node = program.node(id);
    if (node.op == OpCode::assemble) out.insert(node.tensor);
    if (node.op == OpCode::loop) out.merge(written_tensors(program, node.body));
  }
  return out;
}

class Tensors {
 public:
  Tensors(const Program& program, IndexForms& forms)
      : program_(program), forms_(forms), valid_(program, in_order(program)) {}

  void run() {
    block(0, kNone, {});
    const std::set<int> written = written_tensors(program_, 0);
    for (int i = 0; i < static_cast<int>(program_.tensors.size()); ++i)
      if (program_.tensor(i).access == Access::write && !written.contains(i))
        refuse(program_, kNone, fmt::format("output {} is never written", program_.tensor(i).name),
               "an assemble to every output", "none", "assemble a tile to it, or drop the output");
  }

 private:
  void block(BlockId id, ValueId loop, const std::set<int>& written) {
    for (const ValueId value : program_.block(id).nodes) {
      const Node& node = program_.node(value);
      if (node.op == OpCode::loop) {
        // `written` of the outermost loop around, for outputs may be written in any iteration of it.
        block(node.body, value, loop == kNone ? written_tensors(program_, node.body) : written);
      } else if (accesses_tensor(node.op)) {
        access(value, node, written);
      }
    }
  }

  void access(ValueId id, const Node& node, const std::set<int>& written) {
    const TensorParameter& tensor = program_.tensor(node.tensor);
    const bool writes = node.op == OpCode::assemble;
    if (writes && tensor.access == Access::read)
      refuse(program_, id, fmt::format("input {} is written", tensor.name), "an output", "an input",
             fmt::format("declare {} as output, or assemble to another tensor", tensor.name));
    if (!writes && tensor.access == Access::write) {
      const bool both = written.contains(node.tensor);
      refuse(program_, id,
             both ? fmt::format("output {} is viewed and assembled in one loop", tensor.name)
                  : fmt::format("output {} is read", tensor.name),
             "views of inputs only: writes have no order that reads could rely on",
             fmt::format("a {} of an output", opcode_name(node.op)),
             "carry the tile through the loop, or pass the old values as an input of their own");
    }
    const int first = first_offset(node.op);
    for (int dim = 0; dim < static_cast<int>(tensor.shape.size()); ++dim) {
      const ValueId offset = node.operands[static_cast<std::size_t>(first + dim)];
      if (offset != kNone) inside(id, node, dim, offset);
    }
  }

  // Along dims of rows and columns: a valid extent, or proof. One position along any other dim is trusted unless it is
  // a number outside.
  void inside(ValueId id, const Node& node, int dim, ValueId offset) {
    const TensorDim& size = program_.tensor(node.tensor).shape[static_cast<std::size_t>(dim)];
    const LinearForm& at = forms_.of(offset);
    const Type& type = node.op == OpCode::assemble ? program_.node(node.operands[0]).type : node.type;
    Extent extent;
    bool extended = false;  // valid extents of its own, or of the tile it writes
    if (node.op != OpCode::index_load && (dim == node.row_dim || dim == node.column_dim)) {
      const int axis = dim == node.row_dim ? 0 : 1;
      extent = axis == 0 ? type.rows : type.columns;
      extended = valid_operand(node, axis) != kNone ||
                 (node.op == OpCode::assemble && valid_.at(node.operands[0], axis) != kNone);
    }
    const LinearForm whole = forms_.of_extent(extent);
    const std::string name = program_.tensor(node.tensor).name;
    const bool outside =
        at.fixed() &&
        (at.constant < 0 || (size.symbol == kNone && at.constant >= size.size && !extended && extent.one()));
    if (outside)
      refuse(program_, id, fmt::format("an offset lies outside {}", name),
             size.symbol == kNone ? fmt::format("0 … {} along dim {}", size.size - 1, dim) : "at least 0",
             forms_.text(at), "correct the offset");
    if (extended || extent.one()) return;
    LinearForm all;
    if (size.symbol == kNone)
      all.constant = size.size;
    else
      all = forms_.of_dim(size.symbol);
    const auto end = scaled_sum(at, whole, 1);
    if (end && forms_.at_least_zero(at) && forms_.at_most(*end, all)) return;
    const std::string tile =
        extent.fixed() ? std::to_string(extent.size) : program_.tiles[static_cast<std::size_t>(extent.parameter)].name;
    const std::string dim_name =
        size.symbol == kNone ? std::to_string(size.size) : program_.dims[static_cast<std::size_t>(size.symbol)];
    refuse(program_, id, "an offset has no valid extent, and the tile may reach beyond the tensor",
           fmt::format("{} + {} provably at most {} (dim {} of {}), or a valid extent", forms_.text(at), tile, dim_name,
                       dim, name),
           fmt::format("offset {} without one", forms_.text(at)),
           fmt::format("pass to_end, or valid(…) with min({}, {} - ({})){}", tile, dim_name, forms_.text(at),
                       size.symbol == kNone ? fmt::format(", or a tile that divides {}", dim_name) : ""));
  }

  const Program& program_;
  IndexForms& forms_;
  const ValidTable valid_;
};

class Extents {
 public:
  Extents(const Program& program, IndexForms& forms)
      : program_(program), forms_(forms), order_(in_order(program)), valid_(program, order_) {}

  void run() {
    for (const ValueId id : order_) node(id, program_.node(id));
  }

 private:
  bool same(ValueId a, ValueId b) const { return a == b || forms_.of(a) == forms_.of(b); }
  std::string text(ValueId extent) const { return extent == kNone ? "all" : forms_.text(forms_.of(extent)); }

  void agree(ValueId id, ValueId a, ValueId b, const std::string& what) const {
    if (a == kNone || b == kNone || same(a, b)) return;
    refuse(program_, id, fmt::format("{} have different valid extents", what), text(a), text(b),
           "read both with the same valid extent, or restrict one of them to the other's");
  }
  // Not restricted along `axis`, or to no less than the whole tile.
  bool whole(ValueId tile, int axis) const {
    const ValueId extent = valid_.at(tile, axis);
    const Type& type = program_.node(tile).type;
    return extent == kNone || forms_.at_most(forms_.of_extent(axis == 0 ? type.rows : type.columns), forms_.of(extent));
  }
  void need_whole(ValueId id, ValueId tile, int axis, const std::string& fix) const {
    if (whole(tile, axis)) return;
    refuse(program_, id, "an operation moves elements along an axis of which only a part is valid",
           fmt::format("all {} valid", axis == 0 ? "rows" : "columns"),
           fmt::format("{} of {}", text(valid_.at(tile, axis)), type_text(program_, program_.node(tile).type)), fix);
  }

  void node(ValueId id, const Node& n) {
    if (is_elementwise(n.op) || n.op == OpCode::concat) {
      for (const int axis : {0, 1}) {
        ValueId first = kNone;
        for (const ValueId operand : n.operands) {
          const ValueId extent = valid_.at(operand, axis);
          if (n.op == OpCode::concat && n.axis == axis) {
            need_whole(id, operand, axis, "fill the rest with where(), or write the parts apart");
          } else if (extent != kNone) {
            agree(id, first, extent, fmt::format("the operands of {}", opcode_name(n.op)));
            first = extent;
          }
        }
      }
    } else if (n.op == OpCode::reshape) {
      if (n.type != program_.node(n.operands[0]).type)
        for (const int axis : {0, 1}) need_whole(id, n.operands[0], axis, "reshape a tile that is read whole");
    } else if (n.op == OpCode::slice) {
      const Type& from = program_.node(n.operands[0]).type;
      if (n.type.rows != from.rows) need_whole(id, n.operands[0], 0, "view the parts of the tensor apart");
      if (n.type.columns != from.columns) need_whole(id, n.operands[0], 1, "view the parts of the tensor apart");
    } else if (n.op == OpCode::matmul) {
      const ValueId a = n.operands[0], b = n.operands[1];
      agree(id, valid_.at(a, 1), valid_.at(b, n.transposed ? 1 : 0), "the inner extents of a product");
      const ValueId sum = n.operands.size() > 2 ? n.operands[2] : kNone;
      if (sum == kNone) return;
      agree(id, valid_.at(a, 0), valid_.at(sum, 0), "a product's rows and its accumulator");
      agree(id, valid_.at(b, n.transposed ? 0 : 1), valid_.at(sum, 1), "a product's columns and its accumulator");
      for (const int axis : {0, 1})
        if (valid_.at(id, axis) == kNone)
          need_whole(id, sum, axis, "start from constant(0), whose elements are all valid");
    } else if (n.op == OpCode::gather) {
      const ValueId rows = valid_.at(n.operands[0], 0);
      if (valid_operand(n, 0) == kNone)
        need_whole(id, n.operands[0], 0, "give the gather the valid rows that its row numbers have");
      agree(id, valid_operand(n, 0), rows, "a gather and its row numbers");
    }
  }

  const Program& program_;
  IndexForms& forms_;
  std::vector<ValueId> order_;
  ValidTable valid_;
};

}  // namespace

void check_tensors(const Program& program, IndexForms& forms) { Tensors(program, forms).run(); }
void check_extents(const Program& program, IndexForms& forms) { Extents(program, forms).run(); }

}  // namespace tilewright::tile
