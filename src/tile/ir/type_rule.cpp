#include "tile/ir/type_rule.h"

#include <fmt/format.h>

#include "base/error.h"

namespace tilewright::tile {
namespace {

std::string extent_text(const Program& program, const Extent& extent) {
  if (extent.fixed()) return std::to_string(extent.size);
  const auto parameter = static_cast<std::size_t>(extent.parameter);
  return parameter < program.tiles.size() ? program.tiles[parameter].name : "?";
}

class Rule {
 public:
  Rule(const Program& program, const Node& node) : program_(program), node_(node) {}

  const Type& operand(std::size_t i) const {
    if (i >= node_.operands.size() || node_.operands[i] == kNone)
      refuse(fmt::format("operand {}", i), "none", "pass it");
    const ValueId id = node_.operands[i];
    if (id < 0 || id >= static_cast<ValueId>(program_.nodes.size()))
      refuse("an operand written before", fmt::format("%{}", id), "define it first");
    return program_.node(id).type;
  }
  [[noreturn]] void refuse(const std::string& expected, const std::string& found, const std::string& fix) const {
    fail({.what = fmt::format("{} does not fit its operands", opcode_name(node_.op)),
          .where = fmt::format("tile program {}", program_.name),
          .expected = expected,
          .found = found,
          .fix = fix});
  }
  std::string text(const Type& type) const { return type_text(program_, type); }
  const Type& tile(std::size_t i) const {
    const Type& type = operand(i);
    if (type.index) refuse(fmt::format("a tile as operand {}", i), "an index", "use from_index");
    return type;
  }
  void index(std::size_t i) const {
    if (!operand(i).index) refuse(fmt::format("an index as operand {}", i), text(operand(i)), "pass an index");
  }
  void dtype(std::size_t i, DType wanted) const {
    if (tile(i).dtype != wanted)
      refuse(std::string(dtype_name(wanted)), text(tile(i)),
             fmt::format("write cast(x, {}) first", dtype_name(wanted)));
  }
  void same(std::size_t i, std::size_t j) const {
    if (tile(i).dtype != tile(j).dtype)
      refuse(fmt::format("one dtype, as operand {} has: {}", i, text(tile(i))), text(tile(j)),
             "cast one of them; no cast is added by itself");
    if (!(tile(i) == tile(j)))
      refuse(fmt::format("one shape, as operand {} has: {}", i, text(tile(i))), text(tile(j)),
             "broadcast one of them or use tiles of one size");
  }
  // Of a sum, a product …
  void arithmetic(std::size_t i, bool integers) const {
    const DType found = tile(i).dtype;
    if (found == DType::f32 || (integers && found == DType::i32)) return;
    refuse(integers ? "f32 or i32" : "f32", text(tile(i)),
           "write cast(x, f32) first: arithmetic is f32, and no cast is added by itself");
  }
  Type shaped(DType dtype) const {
    Type type = node_.type;
    type.index = false;
    type.dtype = dtype;
    return type;
  }

  Type of_binary() const {
    same(0, 1);
    Type type = tile(0);
    if (node_.op == OpCode::logical_and || node_.op == OpCode::logical_or) {
      dtype(0, DType::b8);
    } else if (is_comparison(node_.op)) {
      type.dtype = DType::b8;
    } else {
      arithmetic(0, node_.op != OpCode::div);
    }
    return type;
  }

  Type of_unary() const {
    Type type = tile(0);
    if (node_.op == OpCode::cast) {
      type.dtype = node_.type.dtype;
    } else if (node_.op == OpCode::logical_not) {
      dtype(0, DType::b8);
    } else {
      arithmetic(0, node_.op == OpCode::neg || node_.op == OpCode::abs);
    }
    return type;
  }

  Type of_reduction() const {
    dtype(0, DType::f32);
    Type type = tile(0);
    (node_.axis == 0 ? type.rows : type.columns) = {};
    return type;
  }

  Type of_broadcast() const {
    const Type& from = tile(0);
    if ((!from.rows.one() && from.rows != node_.type.rows) ||
        (!from.columns.one() && from.columns != node_.type.columns))
      refuse("a tile of one row or one column, or of the shape itself", text(from),
             "reduce it or use the same tile size");
    return shaped(from.dtype);
  }

  Type of_slice() const {
    const Type& from = tile(0);
    const auto fits = [&](std::int64_t start, const Extent& part, const Extent& all) {
      if (start == 0 && part == all) return true;
      return start >= 0 && part.fixed() && all.fixed() && part.size > 0 && start + part.size <= all.size;
    };
    if (!fits(node_.integer, node_.type.rows, from.rows) || !fits(node_.integer2, node_.type.columns, from.columns))
      refuse(fmt::format("a part of {}", text(from)),
             fmt::format("{} from ({}, {})", text(shaped(from.dtype)), node_.integer, node_.integer2),
             "stay inside the tile; a part of a chosen extent needs a fixed size");
    return shaped(from.dtype);
  }

  Type of_concat() const {
    Type type = tile(0);
    Extent& along = node_.axis == 0 ? type.rows : type.columns;
    for (std::size_t i = 1; i < node_.operands.size(); ++i) {
      const Type& part = tile(i);
      const Extent& other = node_.axis == 0 ? part.columns : part.rows;
      const Extent& extent = node_.axis == 0 ? part.rows : part.columns;
      if (part.dtype != type.dtype || other != (node_.axis == 0 ? type.columns : type.rows))
        refuse(fmt::format("parts like the first, {}", text(tile(0))), text(part), "cast or slice the part");
      if (!along.fixed() || !extent.fixed())
        refuse("fixed sizes along the axis", text(part), "give these tiles a number as size");
      along.size += extent.size;
    }
    return type;
  }

  Type of_reshape() const {
    const Type& from = tile(0);
    const Type to = shaped(from.dtype);
    if (from.rows == to.rows && from.columns == to.columns) return to;
    if (!from.rows.fixed() || !from.columns.fixed() || !to.rows.fixed() || !to.columns.fixed() ||
        from.rows.size * from.columns.size != to.rows.size * to.columns.size)
      refuse(fmt::format("as many elements as {}, of fixed sizes", text(from)), text(to),
             "give the shape another size");
    return to;
  }

  Type of_matmul() const {
    const Type& a = tile(0);
    const Type& b = tile(1);
    if (a.dtype != b.dtype) refuse(fmt::format("one dtype, {}", text(a)), text(b), "cast one of them");
    if (a.dtype != DType::f32 && a.dtype != DType::f16 && a.dtype != DType::bf16)
      refuse("f32, f16 or bf16", text(a), "cast to f32");
    const Extent& inner = node_.transposed ? b.columns : b.rows;
    if (a.columns != inner)
      refuse(fmt::format("{} as inner extent of b", extent_text(program_, a.columns)), text(b),
             node_.transposed ? "b is [n, k]; without `transposed` it is [k, n]"
                              : "b is [k, n]; use matmul_transposed for [n, k]");
    const Type type{false, DType::f32, a.rows, node_.transposed ? b.rows : b.columns};
    if (node_.operands.size() > 2 && node_.operands[2] != kNone && !(tile(2) == type))
      refuse(fmt::format("an accumulator {}", text(type)), text(tile(2)), "start from constant(0) of that shape");
    return type;
  }

  Type of_result() const {
    const ValueId from = node_.operands.at(0);
    const Node& source = program_.node(from);
    if (source.op == OpCode::top_k) {
      Type type = program_.node(source.operands[0]).type;
      type.columns = {source.integer, kNone};
      type.dtype = node_.integer == 0 ? DType::f32 : DType::i32;
      return type;
    }
    const auto initial = static_cast<std::size_t>(kLoopInitial + node_.integer);
    if (source.op != OpCode::loop || node_.integer < 0 || initial >= source.operands.size())
      refuse("a loop or top_k with that result", fmt::format("result {} of {}", node_.integer, opcode_name(source.op)),
             "carry the tile through the loop");
    return program_.node(source.operands[initial]).type;
  }

  Type of() const {
    const OpCode op = node_.op;
    if (is_index_arithmetic(op)) return index(0), index(1), Type{.index = true};
    if (is_unary(op)) return of_unary();
    if (is_binary(op)) return of_binary();
    if (is_reduction(op)) return of_reduction();
    switch (op) {
      case OpCode::index_constant:
      case OpCode::index_dim:
      case OpCode::index_scalar:
      case OpCode::index_load:
      case OpCode::loop_variable:
      case OpCode::loop:
        return {.index = true};
      case OpCode::constant:
        return shaped(node_.type.dtype);
      case OpCode::scalar:
        return {};
      case OpCode::from_index:
        return index(0), Type{.dtype = DType::i32};
      case OpCode::iota:
        return index(0), shaped(DType::i32);
      case OpCode::view:
        return shaped(program_.tensor(node_.tensor).dtype);
      case OpCode::gather:
        dtype(0, DType::i32);
        if (tile(0).rows != node_.type.rows || !tile(0).columns.one())
          refuse(fmt::format("row numbers [{}, 1]", extent_text(program_, node_.type.rows)), text(tile(0)),
                 "transpose or slice them");
        return shaped(program_.tensor(node_.tensor).dtype);
      case OpCode::where:
        dtype(0, DType::b8);
        same(1, 2);
        if (tile(0).rows != tile(1).rows || tile(0).columns != tile(1).columns)
          refuse(fmt::format("a condition of the shape of {}", text(tile(1))), text(tile(0)), "broadcast it");
        return tile(1);
      case OpCode::broadcast:
        return of_broadcast();
      case OpCode::slice:
        return of_slice();
      case OpCode::concat:
        return of_concat();
      case OpCode::transpose: {
        const Type& from = tile(0);
        return {false, from.dtype, from.columns, from.rows};
      }
      case OpCode::reshape:
        return of_reshape();
      case OpCode::restrict:
        return tile(0);
      case OpCode::matmul:
        return of_matmul();
      case OpCode::top_k:
        dtype(0, DType::f32);
        if (node_.integer < 1 || !tile(0).columns.fixed() || node_.integer > tile(0).columns.size)
          refuse(fmt::format("k in 1 … columns of {}", text(tile(0))), std::to_string(node_.integer),
                 "use a smaller k");
        return tile(0);
      case OpCode::result:
        return of_result();
      case OpCode::is_first:
      case OpCode::is_last:
        return index(0), Type{.dtype = DType::b8};
      case OpCode::assemble:
        return tile(0);
      case OpCode::carried:
        return node_.type;
      default:
        return node_.type;
    }
  }

 private:
  const Program& program_;
  const Node& node_;
};

}  // namespace

std::string type_text(const Program& program, const Type& type) {
  if (type.index) return "index";
  return fmt::format("{}[{}, {}]", dtype_name(type.dtype), extent_text(program, type.rows),
                     extent_text(program, type.columns));
}

Type type_rule(const Program& program, const Node& node) { return Rule(program, node).of(); }

}  // namespace tilewright::tile
