#include "ops/core/derive/row_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>

#include "base/error.h"

namespace tilewright::ops {
namespace {

using tile::OpCode;
using Kind = RowNode::Kind;

[[noreturn]] void refuse(std::string reason) { throw NotRowWise{std::move(reason)}; }

// Thrown when a part of a row is met and the nest was begun with whole rows only.
struct NeedsParts {};

// For each dim of a tensor: the dim of the nest it runs along, or one of these.
using Map = std::vector<int>;
constexpr int kColumn = -1, kNowhere = -2;

bool narrow(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; }

double lowest(DType dtype) {
  return dtype == DType::f16    ? -65504.0
         : dtype == DType::bf16 ? -0x1.fep127
                                : static_cast<double>(std::numeric_limits<float>::lowest());
}

std::optional<OpCode> tile_opcode(ScalarOp op) {
  switch (op) {
    case ScalarOp::neg:
      return OpCode::neg;
    case ScalarOp::abs:
      return OpCode::abs;
    case ScalarOp::exp:
      return OpCode::exp;
    case ScalarOp::log:
      return OpCode::log;
    case ScalarOp::sqrt:
      return OpCode::sqrt;
    case ScalarOp::rsqrt:
      return OpCode::rsqrt;
    case ScalarOp::reciprocal:
      return OpCode::reciprocal;
    case ScalarOp::sin:
      return OpCode::sin;
    case ScalarOp::cos:
      return OpCode::cos;
    case ScalarOp::tanh:
      return OpCode::tanh;
    case ScalarOp::erf:
      return OpCode::erf;
    case ScalarOp::sigmoid:
      return OpCode::sigmoid;
    case ScalarOp::silu:
      return OpCode::silu;
    case ScalarOp::gelu:
      return OpCode::gelu;
    case ScalarOp::gelu_tanh:
      return OpCode::gelu_tanh;
    case ScalarOp::logical_not:
      return OpCode::logical_not;
    case ScalarOp::add:
      return OpCode::add;
    case ScalarOp::sub:
      return OpCode::sub;
    case ScalarOp::mul:
      return OpCode::mul;
    case ScalarOp::div:
      return OpCode::div;
    case ScalarOp::maximum:
      return OpCode::maximum;
    case ScalarOp::minimum:
      return OpCode::minimum;
    case ScalarOp::eq:
      return OpCode::eq;
    case ScalarOp::ne:
      return OpCode::ne;
    case ScalarOp::lt:
      return OpCode::lt;
    case ScalarOp::le:
      return OpCode::le;
    case ScalarOp::gt:
      return OpCode::gt;
    case ScalarOp::ge:
      return OpCode::ge;
    case ScalarOp::logical_and:
      return OpCode::logical_and;
    case ScalarOp::logical_or:
      return OpCode::logical_or;
    case ScalarOp::select:
      return OpCode::where;
    default:
      return std::nullopt;  // input, attribute, constant, relu, square, pow
  }
}

// What was made by which call, and who reads it.
class Chain {
 public:
  Chain(std::span<const TracedCall> calls, std::span<const ChainInput> inputs, std::span<const ChainOutput> outputs)
      : calls(calls), inputs(inputs), outputs(outputs) {
    for (std::size_t k = 0; k < calls.size(); ++k) {
      const TracedCall& one = calls[k];
      if (one.outputs.size() != 1) refuse(one.op->schema.name + " has several results");
      for (const Tensor& input : one.inputs)
        if (input.defined()) readers_[&input.memory()].push_back(static_cast<int>(k));
      const runtime::Memory* made = &one.outputs[0].memory();
      if (producers_.count(made) || readers_.count(made))
        refuse(one.op->schema.name + " writes a tensor that the chain has already used");
      producers_[made] = static_cast<int>(k);
    }
    for (const ChainOutput& output : outputs) written_.insert(&output.value.memory());
  }
  int producer(const Tensor& tensor) const {
    const auto found = producers_.find(&tensor.memory());
    return found == producers_.end() ? -1 : found->second;
  }
  int input(const Tensor& tensor) const {
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (inputs[i].tensor.defined() && &inputs[i].tensor.memory() == &tensor.memory()) return static_cast<int>(i);
    refuse(fmt::format("{} is neither an input of the chain nor made by it", tensor.describe()));
  }
  bool is_output(int call) const { return written_.count(&result(call).memory()) != 0; }
  const TracedCall& call(int k) const { return calls[static_cast<std::size_t>(k)]; }
  const Tensor& result(int k) const { return call(k).outputs[0]; }
  const std::string& name(int k) const { return call(k).op->schema.name; }
  // True if all that reads the result, through casts, is a softmax or a search for the largest.
  bool only_compared(int k) const {
    if (is_output(k)) return false;
    const auto found = readers_.find(&result(k).memory());
    if (found == readers_.end()) return false;
    return std::all_of(found->second.begin(), found->second.end(), [&](int reader) {
      return name(reader) == "softmax" || name(reader) == "amax" || (name(reader) == "to" && only_compared(reader));
    });
  }

  std::span<const TracedCall> calls;
  std::span<const ChainInput> inputs;
  std::span<const ChainOutput> outputs;

 private:
  std::unordered_map<const runtime::Memory*, int> producers_;
  std::unordered_map<const runtime::Memory*, std::vector<int>> readers_;
  std::set<const runtime::Memory*> written_;
};

// How an operand that is a view of a call's result lies in it.
struct ViewOfResult {
  Map map;                 // of the result's dims
  std::int64_t shift = 0;  // of its columns
};

ViewOfResult look_through(const Chain& chain, int producer, const Tensor& view, const Map& map) {
  const Tensor& made = chain.result(producer);
  const std::string where = chain.name(producer) + "'s result";
  ViewOfResult out{Map(static_cast<std::size_t>(made.rank()), kNowhere), 0};
  std::vector<bool> met(static_cast<std::size_t>(made.rank()), false);
  int column = -1;
  for (int j = 0; j < view.rank(); ++j) {
    if (view.shape()[j] == 1 || (view.strides()[j] == 0 && made.elements() != 0)) continue;
    int at = -1;
    for (int i = 0; i < made.rank(); ++i)
      if (made.shape()[i] > 1 && made.strides()[i] == view.strides()[j]) at = i;
    const bool is_column = map[static_cast<std::size_t>(j)] == kColumn;
    if (made.elements() == 0) {  // strides tell nothing, and nothing depends on them
      at = is_column ? made.rank() - 1 : made.shape() == view.shape() ? j : -1;
      for (int i = made.rank() - 2; i >= 0 && at < 0; --i)
        if (!met[static_cast<std::size_t>(i)] && made.shape()[i] == view.shape()[j]) at = i;
    }
    if (at < 0 || met[static_cast<std::size_t>(at)] || view.shape()[j] > made.shape()[at])
      refuse(where + " is read in another shape, not row by row");
    if (!is_column && view.shape()[j] != made.shape()[at]) refuse("only some rows of " + where + " are read");
    met[static_cast<std::size_t>(at)] = true;
    out.map[static_cast<std::size_t>(at)] = map[static_cast<std::size_t>(j)];
    if (is_column) column = at;
  }
  // A single column of several has no stride to be known by.
  const int last = made.rank() - 1;
  if (column < 0 && last >= 0 && made.shape()[last] > 1 && !met[static_cast<std::size_t>(last)] &&
      (view.rank() == 0 || view.shape()[view.rank() - 1] == 1)) {
    column = last;
    out.map[static_cast<std::size_t>(last)] = kColumn;
    met[static_cast<std::size_t>(last)] = true;
  }
  for (int i = 0; i < made.rank(); ++i)
    if (made.shape()[i] > 1 && !met[static_cast<std::size_t>(i)] && made.elements() != 0)
      refuse("only some rows of " + where + " are read");
  if (column < 0)  // a dim of one column is one all the same
    for (int j = 0; j < view.rank(); ++j)
      if (map[static_cast<std::size_t>(j)] == kColumn && view.rank() == made.rank() && made.shape()[j] == 1)
        out.map[static_cast<std::size_t>(j)] = kColumn;
  const std::int64_t distance = view.offset() - made.offset();
  if (distance != 0) {
    const std::int64_t stride = column >= 0 ? made.strides()[column] : 0;
    if (stride <= 0 || distance % stride != 0 || distance < 0) refuse("only some rows of " + where + " are read");
    out.shift = distance / stride;
    if (out.shift >= made.shape()[column]) refuse("only some rows of " + where + " are read");
  }
  return out;
}

// Builds one nest.
class NestBuilder {
 public:
  NestBuilder(const Chain& chain, RowGraph& graph, bool fixed) : chain_(chain), graph_(graph) { nest_.fixed = fixed; }

  RowNest take() { return std::move(nest_); }

  void add_output(int index) {
    const ChainOutput& output = chain_.outputs[static_cast<std::size_t>(index)];
    const int producer = chain_.producer(output.value);
    if (producer < 0) refuse("output " + output.name + " is not made by the chain");
    const Shape& shape = output.value.shape();
    const bool columns = shape.rank() > 0 && !folds_away_columns(producer);
    Map map;
    const int leading = shape.rank() - (columns ? 1 : 0);
    for (int i = 0; i < leading; ++i) map.push_back(i);
    if (columns) map.push_back(kColumn);
    if (nest_.extents.empty()) nest_.extents.assign(shape.begin(), shape.begin() + leading);
    const std::int64_t width = columns ? shape.back() : 1;
    RowTensor tensor{.output = true, .source = index, .dtype = output.target.dtype(), .width = width};
    for (int i = 0; i < leading; ++i) tensor.strides.push_back(output.target.strides()[i]);
    if (columns && width > 1 && output.target.strides()[leading] != 1)
      refuse("the elements of a row of " + output.name + " do not lie side by side");
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

  int operand(const Tensor& tensor, const Map& map, const RowPart& part) {
    const int producer = chain_.producer(tensor);
    if (producer < 0) return leaf(tensor, map, part);
    const ViewOfResult view = look_through(chain_, producer, tensor, map);
    return result(producer, view.map, within(tensor, chain_.result(producer), map, view, part));
  }

  // The part of a result's row that a part of a view of it is.
  RowPart within(const Tensor& tensor, const Tensor& made, const Map& map, const ViewOfResult& view,
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

  int leaf(const Tensor& tensor, const Map& map, const RowPart& part) {
    const int source = chain_.input(tensor);
    const ChainInput& input = chain_.inputs[static_cast<std::size_t>(source)];
    if (tensor.layout() != runtime::Layout::strided) refuse(input.name + " is packed");
    const DType dtype = tensor.dtype();
    if (dtype != DType::f32 && !narrow(dtype) && dtype != DType::b8)
      refuse(fmt::format("{} has dtype {}", input.name, dtype_name(dtype)));
    RowTensor wanted{.source = source, .dtype = dtype, .offset = tensor.offset() - input.tensor.offset()};
    wanted.strides.assign(nest_.extents.size(), 0);
    wanted.single = true;
    for (int j = 0; j < tensor.rank(); ++j) {
      const int to = map[static_cast<std::size_t>(j)];
      const std::int64_t stride = tensor.strides()[j];
      if (to >= 0 && tensor.shape()[j] > 1) wanted.strides[static_cast<std::size_t>(to)] += stride;
      if (to != kColumn || (stride == 0 && tensor.shape()[j] > 1)) continue;
      if (stride != 1 && tensor.shape()[j] > 1)
        refuse("the elements of a row of " + input.name + " do not lie side by side");
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

  int result(int k, const Map& map, const RowPart& part) {
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
      refuse(fmt::format("{} gives {}", chain_.name(k), dtype_name(dtype)));
    if (chain_.name(k) == "to" || chain_.is_output(k)) node = round(node, dtype);
    known_[key] = node;
    return node;
  }

  Map broadcast_map(const Tensor& operand, const Tensor& whole, const Map& map) const {
    Map out;
    const int shift = whole.rank() - operand.rank();
    for (int j = 0; j < operand.rank(); ++j)
      out.push_back(operand.shape()[j] == whole.shape()[j + shift] ? map[static_cast<std::size_t>(j + shift)]
                                                                   : kNowhere);
    return out;
  }

  int result_unrounded(int k, const Map& map, const RowPart& part) {
    const TracedCall& call = chain_.call(k);
    const std::string& name = call.op->schema.name;
    if (call.op->schema.scalar) return elementwise(k, map, part);
    if (name == "copy") return operand(call.inputs[0], map, part);
    if (name == "cat") return joined(call, map, part);
    if (name == "softmax") return softmax(k, map, part);
    if (name == "mean" || name == "sum" || name == "amax") return folded(k, map);
    refuse(name + " is not computed row by row");
  }

  int joined(const TracedCall& call, const Map& map, const RowPart& part) {
    const auto axis = static_cast<std::size_t>(
        normal_axis(static_cast<int>(call.attributes.integer("dim", -1)), call.outputs[0].rank()));
    if (map[axis] != kColumn) refuse("cat joins rows");
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
  Map folded_map(int k, const Map& map) const {
    const TracedCall& call = chain_.call(k);
    const Tensor& input = call.inputs[0];
    const std::string& name = call.op->schema.name;
    if (input.rank() == 0) refuse(name + " of a single number");
    const int axis = normal_axis(static_cast<int>(call.attributes.integer("dim", -1)), input.rank());
    Map out(map);
    const auto place = static_cast<std::ptrdiff_t>(axis);
    if (name == "softmax") {
      if (out[static_cast<std::size_t>(axis)] != kColumn) refuse("softmax runs across rows");
      return out;
    }
    if (call.attributes.flag("keepdim", false))
      out[static_cast<std::size_t>(axis)] = kColumn;
    else
      out.insert(out.begin() + place, kColumn);
    for (std::size_t i = 0; i < out.size(); ++i)
      if (out[i] == kColumn && static_cast<int>(i) != axis) refuse(name + " runs across rows");
    return out;
  }

  template <typename F>
  int reduce(int k, OpCode op, const Map& inside, const F& value) {
    const Tensor& input = chain_.call(k).inputs[0];
    std::int64_t width = 1;
    for (int j = 0; j < input.rank(); ++j)
      if (inside[static_cast<std::size_t>(j)] == kColumn) width = input.shape()[j];
    std::set<std::int64_t> cuts;
    if (nest_.fixed) cuts_of_view(input, inside, width, cuts);
    RowNode node{.kind = Kind::reduce, .op = op, .part = {0, width}};
    for (const RowPart& part : parts(cuts, width)) {
      node.arguments.push_back(value(part));
      if (at(node.arguments.back()).single) refuse(chain_.name(k) + " folds one value repeated along the row");
    }
    return add(std::move(node));
  }

  int folded(int k, const Map& map) {
    const TracedCall& call = chain_.call(k);
    const Map inside = folded_map(k, map);
    const bool largest = call.op->schema.name == "amax";
    const int fold = reduce(k, largest ? OpCode::reduce_max : OpCode::reduce_sum, inside,
                            [&](const RowPart& part) { return as_number(operand(call.inputs[0], inside, part)); });
    if (call.op->schema.name != "mean") return fold;
    const int extent = add({.kind = Kind::extent, .part = at(fold).part});
    return compute(OpCode::div, {fold, extent});
  }

  int softmax(int k, const Map& map, const RowPart& part) {
    const TracedCall& call = chain_.call(k);
    const Map inside = folded_map(k, map);
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
    refuse(fmt::format("pow with exponent {}", e));
  }

  int elementwise(int k, const Map& map, const RowPart& part) {
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
      if (!op) refuse(fmt::format("{} computes {}", call.op->schema.name, scalar_op_name(step.op)));
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
  int masked_sum(int k, const Map& map, const RowPart& part, int sum) {
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

  void cuts_of_view(const Tensor& tensor, const Map& map, std::int64_t width, std::set<std::int64_t>& cuts) {
    const int producer = chain_.producer(tensor);
    if (producer < 0) return;
    const ViewOfResult view = look_through(chain_, producer, tensor, map);
    const RowPart part = within(tensor, chain_.result(producer), map, view, {0, width});
    std::set<std::int64_t> inner;
    cuts_of_result(producer, view.map, inner);
    for (const std::int64_t cut : inner)
      if (cut > part.begin && cut < part.begin + part.length) cuts.insert(cut - part.begin);
  }

  void cuts_of_result(int k, const Map& map, std::set<std::int64_t>& cuts) {
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
      if (map[static_cast<std::size_t>(axis)] != kColumn) refuse("cat joins rows");
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
          const Map inside = broadcast_map(tensor, whole, map);
          if (std::count(inside.begin(), inside.end(), kColumn)) cuts_of_view(tensor, inside, width, own);
        }
    }
    cuts.insert(own.begin(), own.end());
    known_cuts_[key] = std::move(own);
  }

  const Chain& chain_;
  RowGraph& graph_;
  RowNest nest_;
  std::map<std::tuple<int, Map, RowPart>, int> known_;
  std::map<std::pair<int, Map>, std::set<std::int64_t>> known_cuts_;
  std::map<std::pair<int, std::size_t>, int> scalars_;
};

RowNest nest_of(const Chain& chain, RowGraph& graph, const std::vector<int>& outputs) {
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

}  // namespace

namespace {

// Loops in the order in which the inputs lie, so that they are read in one run and what repeats along a dim (a rotary
// table for all heads) stays near; where inputs do not tell, as the outputs lie.
void sort_by_inputs(RowNest& nest) {
  const auto key = [&](std::size_t dim) {
    std::int64_t of_inputs = 0, of_outputs = 0;
    for (const RowTensor& t : nest.tensors) {
      std::int64_t& of = t.output ? of_outputs : of_inputs;
      of = std::max(of, t.strides[dim]);
    }
    return std::pair(of_inputs, of_outputs);
  };
  std::vector<std::size_t> order(nest.extents.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return key(a) > key(b); });
  const auto sorted = [&](const std::vector<std::int64_t>& from) {
    std::vector<std::int64_t> out;
    for (const std::size_t dim : order) out.push_back(from[dim]);
    return out;
  };
  nest.extents = sorted(nest.extents);
  for (RowTensor& t : nest.tensors) t.strides = sorted(t.strides);
}

}  // namespace

bool RowNest::reduces() const {
  return std::any_of(nodes.begin(), nodes.end(), [](const RowNode& node) { return node.kind == Kind::reduce; });
}

RowGraph row_graph(std::span<const TracedCall> calls, std::span<const ChainInput> inputs,
                   std::span<const ChainOutput> outputs) {
  const Chain chain(calls, inputs, outputs);
  RowGraph graph;
  std::vector<bool> done(outputs.size(), false);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (done[i]) continue;
    std::vector<int> together;
    for (std::size_t j = i; j < outputs.size(); ++j)
      if (!done[j] && outputs[j].value.shape() == outputs[i].value.shape()) {
        done[j] = true;
        together.push_back(static_cast<int>(j));
      }
    graph.nests.push_back(nest_of(chain, graph, together));
  }
  return graph;
}

void collapse(RowNest& nest) {
  const auto drop = [&](std::size_t dim) {
    nest.extents.erase(nest.extents.begin() + static_cast<std::ptrdiff_t>(dim));
    for (RowTensor& t : nest.tensors) t.strides.erase(t.strides.begin() + static_cast<std::ptrdiff_t>(dim));
  };
  for (std::size_t i = nest.extents.size(); i-- > 0;)
    if (nest.extents[i] == 1) drop(i);
  // Outer dims first, as the outputs lie.
  const auto join = [&](std::size_t outer, std::size_t inner) {
    return std::all_of(nest.tensors.begin(), nest.tensors.end(),
                       [&](const RowTensor& t) { return t.strides[outer] == t.strides[inner] * nest.extents[inner]; });
  };
  bool again = true;
  while (again) {
    again = false;
    for (std::size_t i = 0; i < nest.extents.size() && !again; ++i)
      for (std::size_t j = 0; j < nest.extents.size() && !again; ++j) {
        if (i == j || !join(i, j)) continue;
        nest.extents[j] *= nest.extents[i];
        drop(i);
        again = true;
      }
  }
  sort_by_inputs(nest);
  // Whole rows: only where every tensor's rows follow each other.
  if (nest.fixed || nest.reduces()) return;
  for (std::size_t i = nest.extents.size(); i-- > 0;) {
    const bool follows = std::all_of(nest.tensors.begin(), nest.tensors.end(), [&](const RowTensor& t) {
      return t.single && !t.output ? t.strides[i] == 0 : t.strides[i] == t.width && !t.single;
    });
    if (!follows || nest.tensors.empty()) continue;
    const std::int64_t rows = nest.extents[i];
    for (RowTensor& t : nest.tensors)
      if (!t.single) t.width *= rows;
    for (RowNode& n : nest.nodes) n.part.length *= rows;
    for (RowOutput& o : nest.outputs) o.part.length *= rows;
    drop(i);
    i = nest.extents.size();
  }
}

}  // namespace tilewright::ops
