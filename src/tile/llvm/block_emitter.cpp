// Blocks: index values first (they depend on no tile), then nests, products and loops in the plan's order.
#include <llvm/IR/Constants.h>

#include <algorithm>
#include <limits>

#include "tile/llvm/math.h"
#include "tile/llvm/matmul_emitter.h"
#include "tile/llvm/program_emitter.h"

namespace tilewright::tile::llvm_back_end {

llvm::Value* ProgramEmitter::index_arithmetic(OpCode op, Value* a, Value* b) {
  switch (op) {
    case OpCode::index_add:
      return b_.CreateAdd(a, b);
    case OpCode::index_sub:
      return b_.CreateSub(a, b);
    case OpCode::index_mul:
      return b_.CreateMul(a, b);
    case OpCode::index_min:
      return e_.smin(a, b);
    case OpCode::index_max:
      return e_.smax(a, b);
    default:
      break;
  }
  // Floor division; a divisor of 0 gives 0.
  Value* zero = e_.number(0);
  Value* none = b_.CreateICmpEQ(b, zero);
  Value* divisor = b_.CreateSelect(none, e_.number(1), b);
  Value* quotient = b_.CreateSDiv(a, divisor);
  Value* rest = b_.CreateSub(a, b_.CreateMul(quotient, divisor));
  Value* other_sign = b_.CreateICmpSLT(b_.CreateXor(rest, divisor), zero);
  Value* adjust = b_.CreateAnd(b_.CreateICmpNE(rest, zero), other_sign);
  Value* out = op == OpCode::index_div ? b_.CreateSub(quotient, b_.CreateZExt(adjust, b_.getInt64Ty()))
                                       : b_.CreateAdd(rest, b_.CreateSelect(adjust, divisor, zero));
  return b_.CreateSelect(none, zero, out);
}

llvm::Value* ProgramEmitter::offset_address(const Node& node) {
  const auto tensor = static_cast<std::size_t>(node.tensor);
  const auto first = static_cast<std::size_t>(first_offset(node.op));
  Value* elements = e_.number(0);
  for (std::size_t dim = 0; dim < program_.tensor(node.tensor).shape.size(); ++dim) {
    const ValueId offset = node.operands[first + dim];
    if (offset == kNone) continue;
    // Where columns run, elements are neighbours: that stride is 1 by contract.
    const bool unit = static_cast<int>(dim) == node.column_dim && !node.type.columns.one();
    Value* at = index(offset);
    elements = b_.CreateAdd(elements, unit ? at : b_.CreateMul(at, strides_[tensor][dim]));
  }
  return e_.at(tensors_[tensor], elements, program_.tensor(node.tensor).dtype);
}

// Offsets are kept inside the tensor, so that a wrong one reads a wrong number and not foreign memory.
llvm::Value* ProgramEmitter::load_index(const Node& node) {
  const TensorParameter& tensor = program_.tensor(node.tensor);
  Value* elements = e_.number(0);
  for (std::size_t dim = 0; dim < tensor.shape.size(); ++dim) {
    const TensorDim& extent = tensor.shape[dim];
    Value* last = extent.symbol == kNone ? e_.number(extent.size) : dims_[static_cast<std::size_t>(extent.symbol)];
    Value* at = e_.smin(index(node.operands[dim]), b_.CreateSub(last, e_.number(1)));
    at = e_.smax(at, e_.number(0));
    elements = b_.CreateAdd(elements, b_.CreateMul(at, strides_[static_cast<std::size_t>(node.tensor)][dim]));
  }
  Value* address = e_.at(tensors_[static_cast<std::size_t>(node.tensor)], elements, tensor.dtype);
  return b_.CreateSExt(e_.load(tensor.dtype, address, {}, true), b_.getInt64Ty());
}

llvm::Value* ProgramEmitter::index(ValueId id) {
  Value*& out = indices_[static_cast<std::size_t>(id)];
  if (out != nullptr) return out;
  const Node& node = program_.node(id);
  switch (node.op) {
    case OpCode::index_constant:
      // A chosen tile size is the number that the pass choose_tiles filled in.
      out = e_.number(node.integer2 > 0 ? program_.tiles[static_cast<std::size_t>(node.integer2 - 1)].chosen
                                        : node.integer);
      break;
    case OpCode::index_dim:
      out = dims_[static_cast<std::size_t>(node.integer)];
      break;
    case OpCode::index_scalar:
      out = scalars_[static_cast<std::size_t>(node.integer)];
      break;
    case OpCode::index_load:
      out = load_index(node);
      break;
    default: {
      Value* a = index(node.operands[0]);
      Value* b = index(node.operands[1]);
      out = index_arithmetic(node.op, a, b);
    }
  }
  return out;
}

// Index values and addresses of a block; computed where the block begins, so that they reach everything in it.
void ProgramEmitter::emit_names(BlockId block) {
  for (const ValueId id : program_.block(block).nodes) {
    const Node& node = program_.node(id);
    if (node.type.index && node.op != OpCode::loop) {
      indices_[static_cast<std::size_t>(id)] = nullptr;
      index(id);
    }
    if (node.op == OpCode::view || node.op == OpCode::gather || node.op == OpCode::assemble)
      bases_[static_cast<std::size_t>(id)] = offset_address(node);
  }
}

void ProgramEmitter::emit_block(BlockId block, ValueId skipped_loop) {
  emit_names(block);
  std::map<int, std::vector<ValueId>> order;
  for (const ValueId id : program_.block(block).nodes)
    if (program_.node(id).plan.nest != kNone) order[program_.node(id).plan.nest].push_back(id);
  std::vector<Nest> group;
  const auto flush = [&] {
    if (!group.empty()) emit_row_group(group);
    group.clear();
  };
  for (const auto& [number, ids] : order) {
    const Node& first = program_.node(ids[0]);
    const bool is_nest =
        first.op == OpCode::assemble || first.plan.stored || (is_reduction(first.op) && first.axis == 1);
    if (is_nest) {
      Nest nest;
      for (const ValueId id : ids) nest.roots.push_back({id, nullptr});
      nest.space = spaces_.of_root(ids[0]);
      nest.vector = std::max(first.plan.vector, 1);
      nest.unroll = std::max(first.plan.unroll, 1);
      if (!local_to_rows(group, nest)) flush();
      group.push_back(nest);
      continue;
    }
    flush();
    if (first.op == OpCode::loop) {
      if (skipped_loop == kNone) emit_loop(ids[0]);
    } else if (first.op == OpCode::matmul) {
      emit_matmul_node(ids[0]);
    } else if (first.op == OpCode::top_k) {
      emit_top_k(ids[0]);
    } else {
      emit_column_sums(ids[0]);
    }
  }
  flush();
}

ProgramEmitter::Memory ProgramEmitter::allocate(const Type& type, bool single_row, Rows layout) {
  const std::int64_t rows = single_row ? 1 : size(type.rows);
  const std::int64_t columns = size(type.columns);
  const auto bytes = static_cast<std::int64_t>(dtype_size(type.dtype));
  const std::int64_t line = 64 / bytes;
  const std::int64_t stride =
      layout == Rows::dense || (columns == 1 && layout == Rows::tight) ? columns : (columns + line - 1) / line * line;
  return {e_.stack((rows * stride * bytes + 127) / 64 * 64), stride, type.dtype, single_row};
}

ProgramEmitter::Memory ProgramEmitter::result_memory(ValueId id) {
  const auto found = destinations_.find(id);
  return found != destinations_.end() ? found->second : allocate(program_.node(id).type, false, layout_of(id));
}

// Products write whole vectors.
ProgramEmitter::Rows ProgramEmitter::layout_of(ValueId id) const {
  if (program_.node(id).op == OpCode::matmul) return Rows::padded;
  return dense_.count(id) != 0 ? Rows::dense : Rows::tight;
}

// Evaluates a tile into memory.
void ProgramEmitter::copy_tile(ValueId tile, const Memory& to) {
  Nest nest;
  nest.roots.push_back({tile, &to});
  nest.space = spaces_.of_tile(tile);
  nest.vector = e_.level.lanes;
  while (nest.vector > 1 && nest.vector > nest.space.columns) nest.vector /= 2;
  nest.unroll = nest.vector == 1 ? 1 : 2;
  emit_row_group({nest});
}

void ProgramEmitter::emit_matmul_node(ValueId id) {
  const Node& node = program_.node(id);
  const auto matrix = [&](ValueId tile) {
    const Node& from = program_.node(tile);
    Matrix out;
    out.dtype = from.type.dtype;
    out.rows = size(from.type.rows);
    out.columns = size(from.type.columns);
    const IterationSpace space = spaces_.of_tile(tile);
    out.valid_rows = limit(space.valid_rows, space.rows);
    out.valid_columns = limit(space.valid_columns, space.columns);
    if (const Memory* memory = memory_of(tile)) {
      out.base = memory->base;
      out.row_stride = e_.number(memory->row_stride);
      out.padded = memory->row_stride * static_cast<std::int64_t>(dtype_size(out.dtype)) % 64 == 0;
    } else if (from.op == OpCode::view) {
      out.base = bases_[static_cast<std::size_t>(tile)];
      out.row_stride = from.row_dim == kNone
                           ? e_.number(0)
                           : strides_[static_cast<std::size_t>(from.tensor)][static_cast<std::size_t>(from.row_dim)];
      out.constant = true;
    } else {  // single tiles
      const Memory memory = allocate(from.type);
      e_.store(from.type.dtype, value(tile, {}), memory.base, {});
      out.base = memory.base;
      out.row_stride = e_.number(1);
    }
    return out;
  };
  Matmul matmul;
  matmul.transposed = node.transposed;
  const ValueId accumulator = node.operands.size() > 2 ? node.operands[2] : kNone;
  const Memory memory = result_memory(id);
  if (accumulator != kNone) {
    const Node& from = program_.node(accumulator);
    if (!(from.op == OpCode::constant && from.number == 0)) {
      matmul.accumulate = true;
      const Memory* old = memory_of(accumulator);
      if (old == nullptr || old->base != memory.base) copy_tile(accumulator, memory);
    }
  }
  memory_[id] = memory;
  matmul.a = matrix(node.operands[0]);
  matmul.b = matrix(node.operands[1]);
  matmul.c = matrix(id);
  const bool whole = spaces_.of_tile(node.operands[0]).valid_columns.empty();
  Value* inner_a = matmul.a.valid_columns;
  Value* inner_b = node.transposed ? matmul.b.valid_columns : matmul.b.valid_rows;
  matmul.inner = inner_b;
  // A view of b stays packed for the products of its block: the heads that share one block of keys and values.
  const ValueId b = node.operands[1];
  const std::int64_t bytes = panel_bytes(e_, matmul);
  Value* panel = nullptr;
  if (bytes != 0) {
    const bool shared = program_.node(b).op == OpCode::view &&
                        home_[static_cast<std::size_t>(b)] == home_[static_cast<std::size_t>(id)];
    Value*& kept = panels_[{shared ? b : id, matmul.transposed}];
    if (kept == nullptr) {
      kept = e_.stack(bytes);
      emit_pack(e_, matmul, kept);
    }
    panel = kept;
  }
  matmul.inner = whole ? inner_b : e_.smin(inner_a, inner_b);
  emit_product(e_, matmul, panel);
}

// The k largest by insertion: short rows, few of them.
void ProgramEmitter::emit_top_k(ValueId id) {
  const Node& node = program_.node(id);
  const ValueId from = node.operands[0];
  const IterationSpace space = spaces_.of_tile(from);
  const std::int64_t k = node.integer;
  Type type = node.type;
  type.columns = {k, kNone};
  const Memory values = allocate(type);
  type.dtype = DType::i32;
  const Memory columns = allocate(type);
  Results& results = results_[id];
  results.memory = {values, columns};
  results.single.assign(2, {});
  Preparation preparation;
  prepare(from, nullptr, preparation);
  const auto place = [&](const Memory& memory, Value* row, Value* at) {
    return e_.at(memory.base, b_.CreateAdd(b_.CreateMul(row, e_.number(memory.row_stride)), at), DType::f32);
  };
  e_.loop("row", e_.number(0), limit(space.valid_rows, space.rows), 1, [&](Value* row) {
    scopes_.emplace_back();
    e_.loop("clear", e_.number(0), e_.number(k), 1, [&](Value* at) {
      e_.store(DType::f32, e_.real(-std::numeric_limits<double>::infinity()), place(values, row, at), {});
      e_.store(DType::i32, e_.whole(-1), place(columns, row, at), {});
    });
    e_.loop("column", e_.number(0), limit(space.valid_columns, space.columns), 1, [&](Value* column) {
      scopes_.emplace_back();
      const Point point{.row = row, .column = column, .row_high = space.rows, .column_high = space.columns};
      Value* candidate = value(from, point);
      const auto better = [&](Value* at) {
        Value* known = e_.load(DType::f32, place(values, row, at), {}, false);
        Value* free = b_.CreateICmpSLT(e_.load(DType::i32, place(columns, row, at), {}, false), e_.whole(0));
        Value* first_nan = b_.CreateAnd(b_.CreateFCmpUNO(candidate, candidate), b_.CreateFCmpORD(known, known));
        return b_.CreateOr(free, b_.CreateOr(b_.CreateFCmpOGT(candidate, known), first_nan));
      };
      e_.when(better(e_.number(k - 1)), [&] {
        const Variable at = e_.variable(b_.getInt64Ty(), e_.number(k - 1));
        llvm::BasicBlock* test = e_.block("test");
        llvm::BasicBlock* compare = e_.block("compare");
        llvm::BasicBlock* move = e_.block("move");
        llvm::BasicBlock* insert = e_.block("insert");
        b_.CreateBr(test);
        b_.SetInsertPoint(test);
        b_.CreateCondBr(b_.CreateICmpSGT(e_.get(at), e_.number(0)), compare, insert);
        b_.SetInsertPoint(compare);
        Value* before = b_.CreateSub(e_.get(at), e_.number(1));
        b_.CreateCondBr(better(before), move, insert);
        b_.SetInsertPoint(move);
        for (const Memory* memory : {&values, &columns})
          e_.store(memory->dtype, e_.load(memory->dtype, place(*memory, row, before), {}, false),
                   place(*memory, row, e_.get(at)), {});
        e_.set(at, before);
        b_.CreateBr(test);
        b_.SetInsertPoint(insert);
        e_.store(DType::f32, candidate, place(values, row, e_.get(at)), {});
        e_.store(DType::i32, b_.CreateTrunc(column, b_.getInt32Ty()), place(columns, row, e_.get(at)), {});
      });
      scopes_.pop_back();
    });
    scopes_.pop_back();
  });
}

// Reductions over rows: columns outside, so that sums stay in registers.
void ProgramEmitter::emit_column_sums(ValueId id) {
  const Node& node = program_.node(id);
  const ValueId from = node.operands[0];
  const IterationSpace space = spaces_.of_root(id);
  const bool largest = node.op == OpCode::reduce_max;
  const double identity = largest ? -std::numeric_limits<double>::infinity() : 0.0;
  const double seed = largest && fault("reduction_seed") ? 0.0 : identity;
  Preparation preparation;
  prepare(from, nullptr, preparation);
  Variable single;
  if (is_single(node.type))
    single = registers_[id] = e_.variable(b_.getFloatTy(), e_.real(seed));
  else
    memory_[id] = result_memory(id);
  Value* rows = limit(space.valid_rows, space.rows);
  Value* columns = limit(space.valid_columns, space.columns);
  const std::vector<std::int64_t> parts = borders({{id, nullptr}}, 1, space.columns);
  const std::vector<std::int64_t> row_parts = borders({{id, nullptr}}, 0, space.rows);
  for (std::size_t part = 0; part + 1 < parts.size(); ++part)
    sweep(parts[part], parts[part + 1], e_.smin(columns, e_.number(parts[part + 1])), std::max(node.plan.vector, 1),
          std::max(node.plan.unroll, 1), nullptr, [&](const std::vector<std::pair<Value*, Lanes>>& steps) {
            std::vector<Variable> sums;
            for (const auto& [column, lanes] : steps)
              sums.push_back(e_.variable(e_.type(DType::f32, lanes.width), e_.real(seed, lanes.width)));
            for (std::size_t piece = 0; piece + 1 < row_parts.size(); ++piece)
              e_.loop("row", e_.number(row_parts[piece]), e_.smin(rows, e_.number(row_parts[piece + 1])), 1,
                      [&](Value* row) {
                        scopes_.emplace_back();
                        for (std::size_t i = 0; i < steps.size(); ++i) {
                          const Point point{.row = row,
                                            .column = space.columns == 1 ? nullptr : steps[i].first,
                                            .lanes = steps[i].second,
                                            .row_low = row_parts[piece],
                                            .row_high = row_parts[piece + 1],
                                            .column_low = parts[part],
                                            .column_high = parts[part + 1]};
                          Value* next = value(from, point);
                          Value* old = e_.get(sums[i]);
                          e_.set(sums[i], largest ? emit_maximum(e_, next, old) : b_.CreateFAdd(old, next));
                        }
                        scopes_.pop_back();
                      });
            for (std::size_t i = 0; i < steps.size(); ++i) {
              Value* total = e_.get(sums[i]);
              if (node.op == OpCode::reduce_mean) {
                Value* count = fault("mean_divisor") ? e_.number(space.rows) : rows;
                total = b_.CreateFDiv(total, e_.splat(b_.CreateSIToFP(count, b_.getFloatTy()), steps[i].second.width));
              }
              if (single.place != nullptr)
                e_.set(single, total);
              else
                e_.store(DType::f32, total, e_.at(memory_.at(id).base, steps[i].first, DType::f32), steps[i].second);
            }
          });
}

}  // namespace tilewright::tile::llvm_back_end
