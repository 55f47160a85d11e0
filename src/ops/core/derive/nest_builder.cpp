#include "ops/core/derive/nest_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "base/error.h"
#include "ops/core/derive/tile_opcode.h"

namespace tilewright::ops {
namespace {

using tile::OpCode;
using Kind = RowNode::Kind;

bool narrow(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; }

double lowest(DType dtype) {
  return dtype == DType::f16    ? -65504.0
         : dtype == DType::bf16 ? -0x1.fep127
                                : static_cast<double>(std::numeric_limits<float>::lowest());
}

// Builds one nest.
class NestBuilder {
 public:
  NestBuilder(const ChainIndex& chain, RowGraph& graph, bool fixed) : chain_(chain), graph_(graph) {
    nest_.fixed = fixed;
  }

  RowNest take() { return std::move(nest_); }

  void add_output(int index) {
    const ChainOutput& output = chain_.outputs[static_cast<std::size_t>(index)];
    const int producer = chain_.producer(output.value);
    if (producer < 0) refuse_chain("output " + output.name + " is not made by the chain");
    const Shape& shape = output.value.shape();
    const bool columns = shape.rank() > 0 && !folds_away_columns(producer);
    DimMap map;
    const int leading = shape.rank() - (columns ? 1 : 0);
    for (int i = 0; i < leading; ++i) map.push_back(i);
    if (columns) map.push_back(kColumn);
    if (nest_.extents.empty()) nest_.extents.assign(shape.begin(), shape.begin() + leading);
    const std::int64_t width = columns ? shape.back() : 1;
    RowTensor tensor{.output = true, .source = index, .dtype = output.target.dtype(), .width = width};
    for (int i = 0; i < leading; ++i) tensor.strides.push_back(output.target.strides()[i]);
    if (columns && width > 1 && output.target.strides()[leading] != 1)
      refuse_chain("the elements of a row of " + output.name + " do not lie side by side");
    std::set<std::int64_t> cuts;
    if (nest_.fixed) cuts_of_view(output.value, map, width, cuts);
    const int number = static_cast<int>(nest_.tensors.size());
    nest_.tensors.push_back(tensor);
    bool all_single = true;
    for (const RowPart& part : parts(cuts, width)) {
      const int node = operand(output.value, map, part);
      all_single = all_single && at(node).single;
      nest_.outputs.push_back({node, number, part});
    }
    nest_.tensors[static_cast<std::size_t>(number)].single = all_single && width == 1;
  }

 private:
  const RowNode& at(int node) const { return nest_.nodes[static_cast<std::size_t>(node)]; }

  // A result that is one value per row although its shape does not say so (no keepdim).
  bool folds_away_columns(int producer) const {
    const TracedCall& call = chain_.call(producer);
    const std::string& name = call.op->schema.name;
    if (name == "mean" || name == "sum" || name == "amax") return !call.attributes.flag("keepdim", false);
    if (!call.op->schema.scalar) return false;
    bool any = false;
    for (const Tensor& input : call.inputs) {
      if (!input.defined() || input.rank() != call.outputs[0].rank()) continue;
      const int from = chain_.producer(input);
      any = any || (from >= 0 && input.shape() == chain_.result(from).shape() && folds_away_columns(from));
    }
    return any;
  }

  static std::vector<RowPart> parts(const std::set<std::int64_t>& cuts, std::int64_t width) {
    std::vector<RowPart> out;
    std::int64_t begin = 0;
    for (const std::int64_t cut : cuts) {
      if (cut <= begin || cut >= width) continue;
      out.push_back({begin, cut - begin});
      begin = cut;
    }
    out.push_back({begin, width - begin});
    return out;
  }

  // Nodes -----------------------------------------------------------------------------------------------------------

  int add(RowNode node) {
    for (std::size_t i = 0; i < nest_.nodes.size(); ++i) {
      const RowNode& other = nest_.nodes[i];
      if (other.kind == node.kind && other.op == node.op && other.dtype == node.dtype && other.index == node.index &&
          other.value == node.value && other.part == node.part && other.single == node.single &&
          other.arguments == node.arguments)
        return static_cast<int>(i);
    }
    nest_.nodes.push_back(std::move(node));
    return static_cast<int>(nest_.nodes.size()) - 1;
  }
  int number(double value) { return add({.kind = Kind::number, .value = value}); }
  int compute(OpCode op, std::vector<int> arguments) {
    RowNode node{.kind = Kind::compute, .op = op};
    const bool logic =
        tile::is_comparison(op) || op == OpCode::logical_and || op == OpCode::logical_or || op == OpCode::logical_not;
    node.dtype = logic ? DType::b8 : DType::f32;
    for (const int argument : arguments) {
      if (at(argument).single) continue;
      node.single = false;
      node.part = at(argument).part;
    }
    node.arguments = std::move(arguments);
    return add(std::move(node));
  }
  int as_number(int node) {
    if (at(node).dtype != DType::b8) return node;
    const int one = number(1), zero = number(0);
    return compute(OpCode::where, {node, one, zero});
  }
  int as_condition(int node) {
    if (at(node).dtype == DType::b8) return node;
    const int zero = number(0);
    return compute(OpCode::ne, {node, zero});
  }
  bool exact_in(int node, DType dtype) const {
    const RowNode& n = at(node);
    if (n.kind == Kind::leaf) return nest_.tensors[static_cast<std::size_t>(n.index)].dtype == dtype;
    if (n.kind == Kind::round) return n.dtype == dtype;
    return n.kind == Kind::compute && (n.op == OpCode::neg || n.op == OpCode::abs) && exact_in(n.arguments[0], dtype);
  }
  int round(int node, DType dtype) {
    if (!narrow(dtype) || exact_in(node, dtype)) return node;
    RowNode out{.kind = Kind::round, .dtype = dtype, .part = at(node).part, .single = at(node).single};
    out.arguments = {node};
    return add(std::move(out));
  }

  // Reads -----------------------------------------------------------------------------------------------------------

  int operand(const Tensor& tensor, const DimMap& map, const RowPart& part) {
    const int producer = chain_.producer(tensor);
    if (producer < 0) return leaf(tensor, map, part);
    const ViewOfResult view = look_through(chain_, producer, tensor, map);
    return result(producer, view.map, within(tensor, chain_.result(producer), map, view, part));
  }

  // The part of a result's row that a part of a view of it is.
  RowPart within(const Tensor& tensor, const Tensor& made, const DimMap& map, const ViewOfResult& view,
                 const RowPart& part) {
    std::int64_t whole = 1, seen = 1;
    for (int i = 0; i < made.rank(); ++i)
      if (view.map[static_cast<std::size_t>(i)] == kColumn) whole = made.shape()[i];
    bool broadcast = true;
    for (int j = 0; j < tensor.rank(); ++j)
      if (map[static_cast<std::size_t>(j)] == kColumn && (tensor.strides()[j] != 0 || tensor.shape()[j] == 1)) {
        seen = tensor.shape()[j];
        broadcast = false;
      }
    if (!nest_.fixed && (view.shift != 0 || (seen != whole && !(broadcast && whole == 1)))) throw NeedsParts{};
    if (broadcast) return {view.shift, 1};
    return {part.begin + view.shift, part.length};
  }

  int leaf(const Tensor& tensor, const DimMap& map, const RowPart& part) {
    const int source = chain_.input(tensor);
    const ChainInput& input = chain_.inputs[static_cast<std::size_t>(source)];
    if (tensor.layout() != runtime::Layout::strided) refuse_chain(input.name + " is packed");
    const DType dtype = tensor.dtype();
    if (dtype != DType::f32 && !narrow(dtype) && dtype != DType::b8)
      refuse_chain(fmt::format("{} has dtype {}", input.name, dtype_name(dtype)));
    RowTensor wanted{.source = source, .dtype = dtype, .offset = tensor.offset() - input.tensor.offset()};
    wanted.strides.assign(nest_.extents.size(), 0);
    wanted.single = true;
    for (int j = 0; j < tensor.rank(); ++j) {
      const int to = map[static_cast<std::size_t>(j)];
      const std::int64_t stride = tensor.strides()[j];
      if (to >= 0 && tensor.shape()[j] > 1) wanted.strides[static_cast<std::size_t>(to)] += stride;
      if (to != kColumn || (stride == 0 && tensor.shape()[j] > 1)) continue;
      if (stride != 1 && tensor.shape()[j] > 1)
        refuse_chain("the elements of a row of " + input.name + " do not lie side by side");
      wanted.single = false;
      wanted.width = tensor.shape()[j];
    }
    if (wanted.single) wanted.width = 1;
    std::int64_t shift = 0;
    if (nest_.fixed && !wanted.single) {  // parts of one tensor's rows are one tensor
      const Tensor& all = input.tensor;
      const std::int64_t before = wanted.offset;
      const bool side_by_side = all.rank() > 0 && (all.strides()[all.rank() - 1] == 1 || all.dim(-1) == 1);
      if (side_by_side && before >= 0 && before + wanted.width <= all.dim(-1)) {
        shift = before;
        wanted.offset = 0;
        wanted.width += shift;
      }
    }
    int number = -1;
    for (std::size_t i = 0; i < nest_.tensors.size(); ++i) {
      RowTensor& known = nest_.tensors[i];
      if (known.output || known.source != source || known.offset != wanted.offset || known.dtype != dtype ||
          known.strides != wanted.strides || known.single != wanted.single)
        continue;
      if (!nest_.fixed && known.width != wanted.width) continue;
      known.width = std::max(known.width, wanted.width);
      number = static_cast<int>(i);
    }
    if (number < 0) {
      number = static_cast<int>(nest_.tensors.size());
      nest_.tensors.push_back(wanted);
    }
    RowNode node{.kind = Kind::leaf, .dtype = dtype == DType::b8 ? DType::b8 : DType::f32, .index = number};
    node.single = wanted.single;
    node.part = wanted.single ? RowPart{} : RowPart{part.begin + shift, part.length};
    return add(std::move(node));
  }

  // Results ---------------------------------------------------------------------------------------------------------

  int result(int k, const DimMap& map, const RowPart& part) {
    const auto key = std::tuple(k, map, part);
    const auto found = known_.find(key);
    if (found != known_.end()) return found->second;
    int node = result_unrounded(k, map, part);
    const DType dtype = chain_.result(k).dtype();
    if (dtype == DType::b8)
      node = as_condition(node);
    else if (dtype == DType::f32 || narrow(dtype))
      node = as_number(node);
    else
      refuse_chain(fmt::format("{} gives {}", chain_.name(k), dtype_name(dtype)));
    if (chain_.name(k) == "to" || chain_.is_output(k)) node = round(node, dtype);
    known_[key] = node;
    return node;
  }

  DimMap broadcast_map(const Tensor& operand, const Tensor& whole, const DimMap& map) const {
    DimMap out;
    const int shift = whole.rank() - operand.rank();
    for (int j = 0; j < operand.rank(); ++j)
      out.push_back(operand.shape()[j] == whole.shape()[j + shift] ? map[static_cast<std::size_t>(j + shift)]
                                                                   : kNowhere);
    return out;
  }

  int result_unrounded(int k, const DimMap& map, const RowPart& part) {
    const TracedCall& call = chain_.call(k);
    const std::string& name = call.op->schema.name;
    if (call.op->schema.scalar) return elementwise(k, map, part);
    if (name == "copy") return operand(call.inputs[0], map, part);
    if (name == "cat") return joined(call, map, part);
    if (name == "softmax") return softmax(k, map, part);
    if (name == "mean" || name == "sum" || name == "amax") return folded(k, map);
    refuse_chain(name + " is not computed row by row");
  }

  int joined(const TracedCall& call, const DimMap& map, const RowPart& part) {
    const auto axis = static_cast<std::size_t>(
        normal_axis(static_cast<int>(call.attributes.integer("dim", -1)), call.outputs[0].rank()));
    if (map[axis] != kColumn) refuse_chain("cat joins rows");
    if (!nest_.fixed) throw NeedsParts{};
    std::int64_t begin = 0;
    for (const Tensor& piece : call.inputs) {
      const std::int64_t width = piece.shape()[static_cast<int>(axis)];
      if (part.begin >= begin && part.begin + part.length <= begin + width)
        return operand(piece, map, {part.begin - begin, part.length});
      begin += width;
    }
    fail({.what = "a part of a row spans pieces of a concatenation", .where = "derive", .fix = "report this"});
  }

  // The map of a folded call's operand from the result's: rows as they are, columns along the folded dim.
  DimMap folded_map(int k, const DimMap& map) const {
    const TracedCall& call = chain_.call(k);
    const Tensor& input = call.inputs[0];
    const std::string& name = call.op->schema.name;
    if (input.rank() == 0) refuse_chain(name + " of a single number");
    const int axis = normal_axis(static_cast<int>(call.attributes.integer("dim", -1)), input.rank());
    DimMap out(map);
    const auto place = static_cast<std::ptrdiff_t>(axis);
    if (name == "softmax") {
      if (out[static_cast<std::size_t>(axis)] != kColumn) refuse_chain("softmax runs across rows");
      return out;
    }
    if (call.attributes.flag("keepdim", false))
      out[static_cast<std::size_t>(axis)] = kColumn;
    else
      out.insert(out.begin() + place, kColumn);
    for (std::size_t i = 0; i < out.size(); ++i)
      if (out[i] == kColumn && static_cast<int>(i) != axis) refuse_chain(name + " runs across rows");
    return out;
  }

  template <typename F>
  int reduce(int k, OpCode op, const DimMap& inside, const F& value) {
    const Tensor& input = chain_.call(k).inputs[0];
    std::int64_t width = 1;
    for (int j = 0; j < input.rank(); ++j)
      if (inside[static_cast<std::size_t>(j)] == kColumn) width = input.shape()[j];
    std::set<std::int64_t> cuts;
    if (nest_.fixed) cuts_of_view(input, inside, width, cuts);
    RowNode node{.kind = Kind::reduce, .op = op, .part = {0, width}};
    for (const RowPart& part : parts(cuts, width)) {
      node.arguments.push_back(value(part));
      if (at(node.arguments.back()).single) refuse_chain(chain_.name(k) + " folds one value repeated along the row");
    }
    return add(std::move(node));
  }

  int folded(int k, const DimMap& map) {
    const TracedCall& call = chain_.call(k);
    const DimMap inside = folded_map(k, map);
    const bool largest = call.op->schema.name == "amax";
    const int fold = reduce(k, largest ? OpCode::reduce_max : OpCode::reduce_sum, inside,
                            [&](const RowPart& part) { return as_number(operand(call.inputs[0], inside, part)); });
    if (call.op->schema.name != "mean") return fold;
    const int extent = add({.kind = Kind::extent, .part = at(fold).part});
    return compute(OpCode::div, {fold, extent});
  }

  int softmax(int k, const DimMap& map, const RowPart& part) {
    const TracedCall& call = chain_.call(k);
    const DimMap inside = folded_map(k, map);
    const auto value = [&](const RowPart& p) { return as_number(operand(call.inputs[0], inside, p)); };
    const int largest = reduce(k, OpCode::reduce_max, inside, value);
    const auto power = [&](const RowPart& p) {
      const int x = value(p);
      const int below = compute(OpCode::sub, {x, largest});
      return compute(OpCode::exp, {below});
    };
    const int sum = reduce(k, OpCode::reduce_sum, inside, power);
    const int scale = compute(OpCode::reciprocal, {sum});
    const int e = power(part);
    return compute(OpCode::mul, {e, scale});
  }

  int scalar(int k, const ScalarStep& step, std::size_t position) {
    const double value = chain_.call(k).attributes.number(step.attribute, step.constant);
    const auto [it, fresh] = scalars_.try_emplace({k, position}, static_cast<int>(graph_.scalars.size()));
    if (fresh) {
      const auto taken = [&](const std::string& name) {
        return std::any_of(graph_.scalars.begin(), graph_.scalars.end(),
                           [&](const RowScalar& s) { return s.name == name; });
      };
      std::string name(step.attribute);
      for (int i = 2; taken(name); ++i) name = fmt::format("{}{}", step.attribute, i);
      graph_.scalars.push_back({name, value});
    }
    return add({.kind = Kind::scalar, .index = it->second});
  }

  int power(int k, int base, const ScalarStep& exponent) {
    const double e = exponent.op == ScalarOp::constant
                         ? exponent.constant
                         : chain_.call(k).attributes.number(exponent.attribute, exponent.constant);
    if (e == 1) return base;
    if (e == 2) return compute(OpCode::mul, {base, base});
    if (e == 3) return compute(OpCode::mul, {compute(OpCode::mul, {base, base}), base});
    if (e == 0.5) return compute(OpCode::sqrt, {base});
    if (e == -0.5) return compute(OpCode::rsqrt, {base});
    if (e == -1) return compute(OpCode::reciprocal, {base});
    refuse_chain(fmt::format("pow with exponent {}", e));
  }

  int elementwise(int k, const DimMap& map, const RowPart& part) {
    const TracedCall& call = chain_.call(k);
    int given = 0;
    for (const Tensor& input : call.inputs) given += input.defined() ? 1 : 0;
    const ScalarExpression& expression = call.op->schema.scalar(given, call.attributes);
    const std::span<const ScalarStep> steps = expression.steps();
    std::vector<int> stack;
    const auto pop = [&] {
      const int top = stack.back();
      stack.pop_back();
      return top;
    };
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const ScalarStep& step = steps[i];
      switch (step.op) {
        case ScalarOp::input: {
          const Tensor& tensor = call.inputs[static_cast<std::size_t>(step.index)];
          stack.push_back(operand(tensor, broadcast_map(tensor, call.outputs[0], map), part));
          continue;
        }
        case ScalarOp::attribute:
          if (i + 1 < steps.size() && steps[i + 1].op == ScalarOp::pow)
            stack.push_back(power(k, as_number(pop()), step)), ++i;
          else if (call.attributes.has(step.attribute))
            stack.push_back(scalar(k, step, i));
          else
            stack.push_back(number(step.constant));
          continue;
        case ScalarOp::constant:
          stack.push_back(number(step.constant));
          continue;
        case ScalarOp::square: {
          const int x = as_number(pop());
          stack.push_back(compute(OpCode::mul, {x, x}));
          continue;
        }
        case ScalarOp::relu: {
          const int x = as_number(pop()), zero = number(0);
          stack.push_back(compute(OpCode::maximum, {x, zero}));
          continue;
        }
        default:
          break;
      }
      const std::optional<OpCode> op = tile_opcode(step.op);
      if (!op) refuse_chain(fmt::format("{} computes {}", call.op->schema.name, scalar_op_name(step.op)));
      const int count = scalar_operands(step.op);
      std::vector<int> arguments(static_cast<std::size_t>(count));
      for (int a = count - 1; a >= 0; --a) arguments[static_cast<std::size_t>(a)] = pop();
      stack.push_back(applied(*op, std::move(arguments)));
    }
    const int node = stack.back();
    return masked_sum(k, map, part, node);
  }

  int applied(OpCode op, std::vector<int> arguments) {
    const bool logic = op == OpCode::logical_and || op == OpCode::logical_or || op == OpCode::logical_not;
    for (std::size_t a = 0; a < arguments.size(); ++a)
      arguments[a] = logic || (op == OpCode::where && a == 0) ? as_condition(arguments[a]) : as_number(arguments[a]);
    if (op == OpCode::maximum || op == OpCode::minimum) {  // a bound that is not given
      const RowNode& bound = at(arguments[1]);
      if (bound.kind == Kind::number && bound.value == (op == OpCode::maximum ? -HUGE_VAL : HUGE_VAL))
        return arguments[0];
    }
    return compute(op, std::move(arguments));
  }

  // In f16 the sum of a score and the lowest number is that number, and a mask relies on it; a wider sum would let the
  // score through. (In bf16 and f32 the wider sum is the lowest number as well.)
  int masked_sum(int k, const DimMap& map, const RowPart& part, int sum) {
    const TracedCall& call = chain_.call(k);
    if (call.op->schema.name != "add" || call.outputs[0].dtype() != DType::f16 || !chain_.only_compared(k)) return sum;
    for (const Tensor& tensor : call.inputs) {
      if (!tensor.defined() || chain_.producer(tensor) >= 0) continue;
      const int mask = operand(tensor, broadcast_map(tensor, call.outputs[0], map), part);
      const int floor = number(lowest(DType::f16));
      const int hidden = compute(OpCode::le, {mask, floor});
      sum = compute(OpCode::where, {hidden, mask, sum});
    }
    return sum;
  }

  // Where rows must be cut so that every part lies in one piece of each concatenation --------------------------------

  void cuts_of_view(const Tensor& tensor, const DimMap& map, std::int64_t width, std::set<std::int64_t>& cuts) {
    const int producer = chain_.producer(tensor);
    if (producer < 0) return;
    const ViewOfResult view = look_through(chain_, producer, tensor, map);
    const RowPart part = within(tensor, chain_.result(producer), map, view, {0, width});
    std::set<std::int64_t> inner;
    cuts_of_result(producer, view.map, inner);
    for (const std::int64_t cut : inner)
      if (cut > part.begin && cut < part.begin + part.length) cuts.insert(cut - part.begin);
  }

  void cuts_of_result(int k, const DimMap& map, std::set<std::int64_t>& cuts) {
    const auto key = std::pair(k, map);
    const auto found = known_cuts_.find(key);
    if (found != known_cuts_.end()) {
      cuts.insert(found->second.begin(), found->second.end());
      return;
    }
    const TracedCall& call = chain_.call(k);
    const Tensor& whole = call.outputs[0];
    std::int64_t width = 1;
    for (int i = 0; i < whole.rank(); ++i)
      if (map[static_cast<std::size_t>(i)] == kColumn) width = whole.shape()[i];
    std::set<std::int64_t> own;
    if (call.op->schema.name == "cat") {
      const int axis = normal_axis(static_cast<int>(call.attributes.integer("dim", -1)), whole.rank());
      if (map[static_cast<std::size_t>(axis)] != kColumn) refuse_chain("cat joins rows");
      std::int64_t begin = 0;
      for (const Tensor& piece : call.inputs) {
        std::set<std::int64_t> inner;
        cuts_of_view(piece, map, piece.shape()[axis], inner);
        for (const std::int64_t cut : inner) own.insert(cut + begin);
        own.insert(begin);
        begin += piece.shape()[axis];
      }
      own.erase(0);
    } else if (call.op->schema.scalar || call.op->schema.name == "copy" || call.op->schema.name == "softmax") {
      for (const Tensor& tensor : call.inputs)
        if (tensor.defined()) {
          const DimMap inside = broadcast_map(tensor, whole, map);
          if (std::count(inside.begin(), inside.end(), kColumn)) cuts_of_view(tensor, inside, width, own);
        }
    }
    cuts.insert(own.begin(), own.end());
    known_cuts_[key] = std::move(own);
  }

  const ChainIndex& chain_;
  RowGraph& graph_;
  RowNest nest_;
  std::map<std::tuple<int, DimMap, RowPart>, int> known_;
  std::map<std::pair<int, DimMap>, std::set<std::int64_t>> known_cuts_;
  std::map<std::pair<int, std::size_t>, int> scalars_;
};

}  // namespace

RowNest nest_of(const ChainIndex& chain, RowGraph& graph, const std::vector<int>& outputs) {
  const std::size_t scalars = graph.scalars.size();
  for (const bool fixed : {false, true}) {
    try {
      NestBuilder builder(chain, graph, fixed);
      for (const int output : outputs) builder.add_output(output);
      return builder.take();
    } catch (const NeedsParts&) {
      graph.scalars.resize(scalars);
    }
  }
  TW_CHECK(false);
  return {};
}

}  // namespace tilewright::ops
