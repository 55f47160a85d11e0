#include "tile/interp/error_bound.h"

#include <algorithm>
#include <cmath>

#include "tile/interp/element_error.h"

namespace tilewright::tile {
namespace {

bool all_exact(const std::vector<double>& errors) {
  return std::all_of(errors.begin(), errors.end(), [](double error) { return error == 0; });
}

}  // namespace

ErrorBound::ErrorBound(const Program& program)
    : program_(program), errors_(program.nodes.size()), written_(program.tensors.size()) {}

ErrorBound::Errors ErrorBound::of(ValueId id, const Environment& environment) const {
  const Errors& errors = errors_[static_cast<std::size_t>(id)];
  if (!errors.empty()) return errors;
  return Errors(environment.tile[static_cast<std::size_t>(id)].values.size(), 0.0);
}

void ErrorBound::moved(ValueId node, std::size_t element, std::int64_t at) {
  if (program_.node(node).op == OpCode::assemble) moves_.emplace_back(element, at);
}

void ErrorBound::carried(std::span<const ValueId> arguments, std::span<const ValueId> sources, const Environment&) {
  std::vector<Errors> next;
  for (const ValueId source : sources) next.push_back(errors_[static_cast<std::size_t>(source)]);
  for (std::size_t i = 0; i < next.size(); ++i) errors_[static_cast<std::size_t>(arguments[i])] = std::move(next[i]);
}

void ErrorBound::computed(ValueId id, const Environment& environment) {
  const Node& node = program_.node(id);
  if (node.op == OpCode::assemble) {
    const TileValue& from = environment.tile[static_cast<std::size_t>(node.operands[0])];
    const Errors errors = of(node.operands[0], environment);
    for (const auto& [element, at] : moves_)
      written_[static_cast<std::size_t>(node.tensor)][at] = {from.values[element], errors[element]};
    moves_.clear();
    return;
  }
  if (node.type.index || node.op == OpCode::top_k) return;
  const TileValue& value = environment.tile[static_cast<std::size_t>(id)];
  Errors errors = is_elementwise(node.op) ? elementwise(node, value, environment) : whole(id, node, value, environment);
  if (all_exact(errors)) errors.clear();
  errors_[static_cast<std::size_t>(id)] = std::move(errors);
}

ErrorBound::Errors ErrorBound::elementwise(const Node& node, const TileValue& value,
                                           const Environment& environment) const {
  std::vector<const TileValue*> tiles;
  std::vector<Errors> errors;
  for (const ValueId operand : node.operands) {
    tiles.push_back(&environment.tile[static_cast<std::size_t>(operand)]);
    errors.push_back(of(operand, environment));
  }
  Errors out(value.values.size(), 0.0);
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (!value.defined[i]) continue;
    const auto at = [&](std::size_t k) { return Approximate{tiles[k]->values[i], errors[k][i]}; };
    const double result = value.values[i];
    if (node.op == OpCode::cast)
      out[i] = cast_error(tiles[0]->dtype, value.dtype, at(0), result);
    else if (is_unary(node.op))
      out[i] = unary_error(node.op, tiles[0]->dtype, at(0), result);
    else if (is_binary(node.op))
      out[i] = binary_error(node.op, tiles[0]->dtype, at(0), at(1), result);
    else
      out[i] = where_error(at(0), at(1), at(2));
  }
  return out;
}

namespace {

std::vector<double> reduce_errors(OpCode op, int axis, const TileValue& a, const std::vector<double>& errors,
                                  const TileValue& value) {
  std::vector<double> out(value.values.size(), 0.0);
  const std::int64_t reduced = axis == 0 ? a.valid_rows : a.valid_columns;
  for (std::size_t k = 0; k < out.size(); ++k) {
    if (!value.defined[k]) continue;
    std::vector<Approximate> terms;
    for (std::int64_t i = 0; i < reduced; ++i) {
      const auto kept = static_cast<std::int64_t>(k);
      const std::size_t from = axis == 0 ? a.at(i, kept) : a.at(kept, i);
      terms.push_back({a.values[from], errors[from]});
    }
    out[k] = op == OpCode::reduce_max
                 ? max_error(terms, value.values[k])
                 : sum_error(terms, op == OpCode::reduce_mean ? static_cast<double>(reduced) : 1, value.values[k]);
  }
  return out;
}

std::vector<double> matmul_errors(const TileValue& a, const std::vector<double>& a_errors, const TileValue& b,
                                  const std::vector<double>& b_errors, const TileValue* accumulator,
                                  const std::vector<double>& accumulator_errors, bool transposed,
                                  const TileValue& value) {
  std::vector<double> out(value.values.size(), 0.0);
  const std::int64_t inner = std::min(a.valid_columns, transposed ? b.valid_columns : b.valid_rows);
  for (std::int64_t r = 0; r < value.valid_rows; ++r)
    for (std::int64_t c = 0; c < value.valid_columns; ++c) {
      const std::size_t at = value.at(r, c);
      if (!value.defined[at]) continue;
      std::vector<Approximate> terms;
      double products = 0;
      if (accumulator) terms.push_back({accumulator->values[at], accumulator_errors[at]});
      for (std::int64_t k = 0; k < inner; ++k) {
        const std::size_t left = a.at(r, k), right = transposed ? b.at(c, k) : b.at(k, c);
        const Approximate x{a.values[left], a_errors[left]}, y{b.values[right], b_errors[right]};
        Approximate term{x.value * y.value, 0};
        // A product may be rounded before it is added, and operands that are denormal be taken for zero.
        if (x.error > 0 || y.error > 0)
          term.error = std::fabs(x.value) * y.error + std::fabs(y.value) * x.error + x.error * y.error;
        if (std::isnan(term.error)) term.error = kUnknown;
        if (std::isfinite(term.value)) {
          if (static_cast<double>(static_cast<float>(term.value)) != term.value) products += std::fabs(term.value);
          if ((std::fabs(x.value) < 0x1p-126 || std::fabs(y.value) < 0x1p-126 || std::fabs(term.value) < 0x1p-126) &&
              term.value != 0)
            term.error += std::fabs(term.value);
        }
        terms.push_back(term);
      }
      double error = sum_error(terms, 1, value.values[at]);
      // Sums below the smallest normal number may be flushed too.
      if (products > 0 && std::isfinite(value.values[at])) error += 0x1p-24 * products + 0x1p-126;
      out[at] = settled(DType::f32, value.values[at], error);
    }
  return out;
}

std::vector<double> top_k_errors(const TileValue& a, const std::vector<double>& errors, bool columns,
                                 const TileValue& value) {
  std::vector<double> out(value.values.size(), 0.0);
  for (std::int64_t r = 0; r < value.valid_rows; ++r) {
    const std::span<const double> row(a.values.data() + a.at(r, 0), static_cast<std::size_t>(a.valid_columns));
    double most = 0;
    for (std::int64_t c = 0; c < a.valid_columns; ++c) {
      const double error = errors[a.at(r, c)];
      most = std::max(most, error > 0 && !std::isfinite(a.values[a.at(r, c)]) ? kUnknown : error);
    }
    if (most == 0) continue;
    const std::vector<std::int64_t> order = top_k_columns(row, a.valid_columns);
    for (std::int64_t i = 0; i < value.columns; ++i) {
      if (i >= a.valid_columns) continue;  // too few: said exactly
      double& error = out[value.at(r, i)];
      error = most;
      if (!columns) continue;
      const auto apart = [&](std::int64_t j) {
        if (j < 0 || j >= a.valid_columns) return true;
        return std::fabs(row[static_cast<std::size_t>(order[static_cast<std::size_t>(i)])] -
                         row[static_cast<std::size_t>(order[static_cast<std::size_t>(j)])]) > 2 * most;
      };
      error = apart(i - 1) && apart(i + 1) ? 0 : static_cast<double>(a.valid_columns);
    }
  }
  return out;
}

}  // namespace

ErrorBound::Errors ErrorBound::whole(ValueId, const Node& node, const TileValue& value,
                                     const Environment& environment) const {
  const auto tile = [&](std::size_t i) -> const TileValue& {
    return environment.tile[static_cast<std::size_t>(node.operands[i])];
  };
  // Moves: the operand's errors go where its elements go.
  const auto as_tile = [&](std::size_t i) {
    TileValue errors = tile(i);
    errors.values = of(node.operands[i], environment);
    return errors;
  };
  if (is_reduction(node.op))
    return reduce_errors(node.op, node.axis, tile(0), of(node.operands[0], environment), value);
  switch (node.op) {
    case OpCode::broadcast:
      return broadcast_tile(as_tile(0), value.rows, value.columns).values;
    case OpCode::slice:
      return slice_tile(as_tile(0), node.integer, node.integer2, value.rows, value.columns).values;
    case OpCode::transpose:
      return transpose_tile(as_tile(0)).values;
    case OpCode::reshape:
    case OpCode::restrict:
      return of(node.operands[0], environment);
    case OpCode::concat: {
      std::vector<TileValue> parts;
      std::vector<const TileValue*> pointers;
      for (std::size_t i = 0; i < node.operands.size(); ++i) parts.push_back(as_tile(i));
      for (const TileValue& part : parts) pointers.push_back(&part);
      return concat_tiles(pointers, node.axis).values;
    }
    case OpCode::matmul: {
      const bool accumulates = node.operands.size() > 2 && node.operands[2] != kNone;
      return matmul_errors(tile(0), of(node.operands[0], environment), tile(1), of(node.operands[1], environment),
                           accumulates ? &tile(2) : nullptr, accumulates ? of(node.operands[2], environment) : Errors{},
                           node.transposed, value);
    }
    case OpCode::gather: {
      const Errors rows = of(node.operands[0], environment);
      Errors out(value.values.size(), 0.0);
      for (std::size_t i = 0; i < out.size(); ++i)
        if (rows[i / static_cast<std::size_t>(value.columns)] > 0) out[i] = kUnknown;
      return out;
    }
    case OpCode::result: {
      const Node& from = program_.node(node.operands[0]);
      if (from.op == OpCode::loop)
        return of(program_.block(from.body).arguments[static_cast<std::size_t>(1 + node.integer)], environment);
      const TileValue& a = environment.tile[static_cast<std::size_t>(from.operands[0])];
      return top_k_errors(a, of(from.operands[0], environment), node.integer == 1, value);
    }
    default:
      return {};
  }
}

}  // namespace tilewright::tile
