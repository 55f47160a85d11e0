// Loops over the rows and columns of nests: one loop over rows for all nests that may share it, in it one loop over
// columns for each.
#include <llvm/IR/Constants.h>
#include <llvm/IR/Intrinsics.h>

#include <algorithm>
#include <limits>

#include "tile/llvm/math.h"
#include "tile/llvm/program_emitter.h"

namespace tilewright::tile::llvm_back_end {
namespace {

double identity_of(OpCode op) { return op == OpCode::reduce_max ? -std::numeric_limits<double>::infinity() : 0.0; }

}  // namespace

// The number of valid rows or columns.
llvm::Value* ProgramEmitter::limit(const std::vector<ValueId>& bounds, std::int64_t extent) {
  if (bounds.empty()) return e_.number(extent);
  Value* out = e_.number(extent);
  for (const ValueId bound : bounds) out = e_.smin(index(bound), out);
  return e_.smax(out, e_.number(0));
}

// Whether computing a row of `root` takes another row of the materialised tile `source`.
bool ProgramEmitter::reads_other_rows(ValueId root, ValueId source) const {
  std::set<std::pair<ValueId, bool>> seen;
  const auto visit = [&](auto&& self, ValueId id, bool local) -> bool {
    for (const ValueId operand : tile_operands(program_, id)) {
      if (!seen.insert({operand, local}).second) continue;
      if (operand == source && !local) return true;
      if (!is_materialised(program_, operand) &&
          self(self, operand, local && keeps_row(program_, program_.node(operand))))
        return true;
    }
    return false;
  };
  return visit(visit, root, keeps_row(program_, program_.node(root)));
}

// Whether `next` may be computed row by row right after the nests of the group.
bool ProgramEmitter::local_to_rows(const std::vector<Nest>& group, const Nest& next) const {
  if (group.empty()) return true;
  const IterationSpace& space = group.back().space;
  if (!space.same_rows(next.space)) return false;
  // A few short rows: sums of all of them first, or each row would wait for its own sum before it goes on, which takes
  // longer than the rest of it.
  const auto is_sum = [&](const Root& root) { return is_reduction(program_.node(root.tile).op); };
  if (space.rows > 1 && space.columns <= 256 && space.rows * space.columns <= 4096 &&
      std::any_of(group.back().roots.begin(), group.back().roots.end(), is_sum))
    return false;
  std::set<ValueId> computed;
  for (const Nest& nest : group)
    for (const Root& root : nest.roots) {
      if (root.copy_to != nullptr) return false;
      computed.insert(root.tile);
    }
  // A tile that is written where a loop carries it: the group must read the old one row by row.
  for (const Root& root : next.roots)
    if (const auto old = overwritten_.find(root.tile); old != overwritten_.end() && space.rows > 1)
      for (const Nest& nest : group)
        for (const Root& reader : nest.roots)
          if (reads_other_rows(reader.tile, old->second)) return false;
  std::set<std::pair<ValueId, bool>> seen;
  const auto visit = [&](auto&& self, ValueId id, bool local) -> bool {
    for (const ValueId operand : tile_operands(program_, id)) {
      if (!seen.insert({operand, local}).second) continue;
      if (computed.count(operand) != 0 && !local && space.rows > 1) return false;
      if (!is_materialised(program_, operand) &&
          !self(self, operand, local && keeps_row(program_, program_.node(operand))))
        return false;
    }
    return true;
  };
  return std::all_of(next.roots.begin(), next.roots.end(), [&](const Root& root) {
    return root.copy_to == nullptr && visit(visit, root.tile, keeps_row(program_, program_.node(root.tile)));
  });
}

bool ProgramEmitter::depends(ValueId id, Preparation& preparation) const {
  if (preparation.pending.count(id) != 0) return true;
  if (is_materialised(program_, id) || preparation.independent.count(id) != 0) return false;
  for (const ValueId part : tile_operands(program_, id))
    if (depends(part, preparation)) return true;
  preparation.independent.insert(id);
  return false;
}

// Computes single tiles, and (row given) values of one a row, before the loop that needs them.
void ProgramEmitter::prepare(ValueId id, const Point* row, Preparation& preparation) {
  if (!preparation.seen.insert(id).second) return;
  const Node& node = program_.node(id);
  const bool small = is_single(node.type) || (row != nullptr && node.type.columns.one());
  if (small && !depends(id, preparation)) {
    value(id, row == nullptr ? Point{} : *row);
    return;
  }
  if (is_materialised(program_, id) && !(node.plan.stored && preparation.pending.count(id) != 0)) return;
  const Point* inner = row != nullptr && keeps_row(program_, node) ? row : nullptr;
  for (const ValueId operand : tile_operands(program_, id)) prepare(operand, inner, preparation);
}

void ProgramEmitter::emit_row_group(const std::vector<Nest>& nests) {
  std::set<ValueId> members;
  std::set<int> numbers;
  std::vector<Root> roots;
  for (const Nest& nest : nests)
    for (const Root& root : nest.roots) {
      roots.push_back(root);
      if (root.copy_to != nullptr) continue;
      members.insert(root.tile);
      numbers.insert(program_.node(root.tile).plan.nest);
    }
  const IterationSpace& space = nests[0].space;
  // Results: in a register where there is one, in one row of memory where only this loop over rows reads them.
  for (const Root& root : roots) {
    const Node& node = program_.node(root.tile);
    if (root.copy_to != nullptr || node.op == OpCode::assemble) continue;
    if (is_single(node.type)) {
      registers_[root.tile] =
          e_.variable(e_.element(node.type.dtype), llvm::Constant::getNullValue(e_.element(node.type.dtype)));
    } else {
      const std::set<int>& readers = readers_[root.tile];
      const bool here = std::includes(numbers.begin(), numbers.end(), readers.begin(), readers.end());
      const bool in_row = here && space.rows > 1 && node.type.columns.one() && is_reduction(node.op);
      if (in_row)
        registers_[root.tile] = e_.variable(b_.getFloatTy(), e_.real(0));
      else if (const auto to = destinations_.find(root.tile); to != destinations_.end())
        memory_[root.tile] = to->second;
      else
        memory_[root.tile] =
            allocate(node.type, here && space.rows > 1 && dense_.count(root.tile) == 0, layout_of(root.tile));
    }
  }
  Preparation preparation{members, {}, {}};
  for (const Root& root : roots) {
    if (root.copy_to != nullptr) {
      prepare(root.tile, nullptr, preparation);
      continue;
    }
    for (const ValueId operand : tile_operands(program_, root.tile)) prepare(operand, nullptr, preparation);
  }
  Value* rows = limit(space.valid_rows, space.rows);
  if (nests.size() == 1 && space.rows > 1 && space.columns == 1) {
    const bool plain = std::all_of(roots.begin(), roots.end(), [&](const Root& root) {
      const Node& node = program_.node(root.tile);
      if (root.copy_to != nullptr) return root.copy_to->row_stride == 1;
      return node.plan.stored && !is_reduction(node.op) && memory_.at(root.tile).row_stride == 1 &&
             !memory_.at(root.tile).single_row;
    });
    if (plain) return emit_down(nests[0]);
  }
  const std::vector<std::int64_t> parts = borders(roots, 0, space.rows);
  for (std::size_t part = 0; part + 1 < parts.size(); ++part) {
    const auto body = [&](Value* row) {
      const Point point{.row = space.rows == 1 ? nullptr : row, .row_low = parts[part], .row_high = parts[part + 1]};
      for (const Nest& nest : nests) emit_columns(nest, point, &nest != &nests[0]);
    };
    if (space.rows == 1 && space.valid_rows.empty()) {
      body(nullptr);
    } else {
      e_.loop("row", e_.number(parts[part]), e_.smin(rows, e_.number(parts[part + 1])), 1, [&](Value* row) {
        scopes_.emplace_back();
        body(row);
        scopes_.pop_back();
      });
    }
  }
}

// What the nest writes in place may be read by others of its roots: old values come into registers first.
void ProgramEmitter::read_overwritten(const std::vector<Root>& roots, const std::vector<Point>& points) {
  for (const Root& root : roots)
    if (const auto old = overwritten_.find(root.tile); old != overwritten_.end() && root.copy_to == nullptr)
      for (const Point& point : points) value(old->second, point);
}

void ProgramEmitter::write_root(const Root& root, const Point& point) {
  const Node& node = program_.node(root.tile);
  if (root.copy_to != nullptr) {
    Value* out = value(root.tile, point);
    Value* elements = point.row == nullptr ? nullptr : b_.CreateNSWMul(point.row, e_.number(root.copy_to->row_stride));
    if (point.column != nullptr)
      elements = elements == nullptr ? point.column : b_.CreateNSWAdd(elements, point.column);
    Value* address =
        elements == nullptr ? root.copy_to->base : e_.at(root.copy_to->base, elements, root.copy_to->dtype);
    e_.store(root.copy_to->dtype, out, address, point.lanes);
    return;
  }
  if (node.op == OpCode::assemble) {
    Value* out = value(node.operands[0], point);
    Value* elements = point.column;
    if (point.row != nullptr && node.row_dim != kNone) {
      Value* row = b_.CreateNSWMul(
          point.row, strides_[static_cast<std::size_t>(node.tensor)][static_cast<std::size_t>(node.row_dim)]);
      elements = elements == nullptr ? row : b_.CreateNSWAdd(row, elements);
    }
    const DType dtype = program_.tensor(node.tensor).dtype;
    Value* base = bases_[static_cast<std::size_t>(root.tile)];
    e_.store(dtype, out, elements == nullptr ? base : e_.at(base, elements, dtype), point.lanes);
    return;
  }
  // A stored tile; other roots of the nest find it in a register, and later ones in the cache.
  Value* out = compute(root.tile, normal(root.tile, point));
  remember(root.tile, normal(root.tile, point), out);
  const Memory& to = memory_.at(root.tile);
  Value* elements =
      point.row == nullptr || to.single_row ? nullptr : b_.CreateNSWMul(point.row, e_.number(to.row_stride));
  if (point.column != nullptr) elements = elements == nullptr ? point.column : b_.CreateNSWAdd(elements, point.column);
  e_.store(to.dtype, out, elements == nullptr ? to.base : e_.at(to.base, elements, to.dtype),
           {.width = point.lanes.width, .mask = point.lanes.mask, .count = point.lanes.count});
}

// Whether outputs are large and begin, in this row, where a vector may.
llvm::Value* ProgramEmitter::may_stream(const Nest& nest, const Point& row, std::int64_t low) {
  if (streams_ == nullptr || nest.vector != e_.level.lanes) return nullptr;
  Value* out = nullptr;
  for (const Root& root : nest.roots) {
    const Node& node = program_.node(root.tile);
    if (root.copy_to != nullptr || node.op != OpCode::assemble) continue;
    const DType dtype = program_.tensor(node.tensor).dtype;
    const std::int64_t bytes = nest.vector * static_cast<std::int64_t>(dtype_size(dtype));
    if (bytes < 16) return nullptr;
    Value* elements = e_.number(low);
    if (row.row != nullptr && node.row_dim != kNone)
      elements = b_.CreateAdd(
          elements,
          b_.CreateMul(row.row,
                       strides_[static_cast<std::size_t>(node.tensor)][static_cast<std::size_t>(node.row_dim)]));
    Value* address = e_.at(bases_[static_cast<std::size_t>(root.tile)], elements, dtype);
    Value* rest = b_.CreateAnd(b_.CreatePtrToInt(address, b_.getInt64Ty()), e_.number(bytes - 1));
    Value* aligned = b_.CreateICmpEQ(rest, e_.number(0));
    out = b_.CreateAnd(out == nullptr ? streams_ : out, aligned);
  }
  return out;
}

// The larger of the numbers `vectors` and `single`; NaN where the latter is, or one was met in a lane.
llvm::Value* ProgramEmitter::number_or_nan(Value* vectors, const Variable& single, const Variable& met) {
  Value* lanes = e_.get(met);
  if (!e_.level.masks) lanes = b_.CreateICmpNE(lanes, llvm::Constant::getNullValue(lanes->getType()));
  const auto width = static_cast<unsigned>(Emitter::width_of(lanes));
  Value* any = b_.CreateIsNotNull(b_.CreateBitCast(lanes, b_.getIntNTy(width)));
  Value* number = emit_maximum(e_, e_.get(single), vectors);
  return b_.CreateSelect(any, e_.real(std::numeric_limits<double>::quiet_NaN()), number);
}

void ProgramEmitter::emit_columns(const Nest& nest, const Point& row, bool again) {
  Preparation preparation;
  for (const Root& root : nest.roots)
    if (root.copy_to == nullptr) preparation.pending.insert(root.tile);
  for (const Root& root : nest.roots) {
    if (root.copy_to != nullptr) {
      prepare(root.tile, &row, preparation);
      continue;
    }
    const Point* inner = keeps_row(program_, program_.node(root.tile)) ? &row : nullptr;
    for (const ValueId operand : tile_operands(program_, root.tile)) prepare(operand, inner, preparation);
  }
  struct Sum {
    OpCode op;
    ValueId id, operand;
    std::vector<Variable> vectors;
    Variable single;
    Variable nan;  // of a maximum of vectors, which are of numbers only: lanes in which NaN was met
  };
  std::vector<Sum> sums;
  const int vector = nest.vector, unroll = std::max(nest.unroll, 1);
  const bool longer = nest.space.columns > 1;
  llvm::Type* lanes_met = e_.vector_of(e_.level.masks ? b_.getInt1Ty() : b_.getInt32Ty(), vector);
  for (const Root& root : nest.roots) {
    const Node& node = program_.node(root.tile);
    if (root.copy_to != nullptr || !is_reduction(node.op)) continue;
    const double seed = fault("reduction_seed") && node.op == OpCode::reduce_max ? 0.0 : identity_of(node.op);
    Sum sum{node.op, root.tile, node.operands[0], {}, e_.variable(b_.getFloatTy(), e_.real(seed)), {}};
    if (vector > 1 && node.op == OpCode::reduce_max)
      sum.nan = e_.variable(lanes_met, llvm::Constant::getNullValue(lanes_met));
    if (vector > 1)
      for (int i = 0; i < unroll; ++i)
        sum.vectors.push_back(e_.variable(e_.type(DType::f32, vector), e_.real(seed, vector)));
    sums.push_back(sum);
  }
  const auto combine = [&](OpCode op, Value* a, Value* b) {
    return op == OpCode::reduce_max ? emit_larger_number(e_, a, b) : b_.CreateFAdd(a, b);
  };
  // One comparison looks at two vectors for NaN.
  const auto look_for_nan = [&](const Sum& sum, Value* a, Value* b) {
    Value* met = b_.CreateFCmpUNO(a, b);
    if (!e_.level.masks) met = b_.CreateSExt(met, lanes_met);
    e_.set(sum.nan, b_.CreateOr(e_.get(sum.nan), met));
  };
  Value* columns = limit(nest.space.valid_columns, nest.space.columns);
  // While this nest computes with a long row that is in the caches by now, memory can bring the next one (where rows
  // lie behind each other; else nothing is lost).
  const bool next_row = again && nest.space.rows == 1 && nest.space.columns >= 1024;
  const std::vector<std::int64_t> parts = borders(nest.roots, 1, nest.space.columns);
  for (std::size_t part = 0; part + 1 < parts.size(); ++part) {
    const std::int64_t low = parts[part], high = parts[part + 1];
    sweep(low, high, high == nest.space.columns ? columns : e_.smin(columns, e_.number(high)), vector, unroll,
          may_stream(nest, row, low), [&](const std::vector<std::pair<Value*, Lanes>>& steps) {
            std::vector<Point> points;
            for (const auto& [column, lanes] : steps) {
              Point point = row;
              point.column = longer ? column : nullptr;
              point.lanes = lanes;
              if (next_row) point.lanes.ahead = columns;
              point.column_low = low;
              point.column_high = high;
              points.push_back(point);
            }
            read_overwritten(nest.roots, points);
            for (const Root& root : nest.roots) {
              const bool reduces = root.copy_to == nullptr && is_reduction(program_.node(root.tile).op);
              if (!reduces)
                for (const Point& point : points) write_root(root, point);
            }
            for (const Sum& sum : sums) {
              std::vector<Value*> numbers;
              for (std::size_t i = 0; i < points.size(); ++i) {
                Value* next = value(sum.operand, points[i]);
                const int width = Emitter::width_of(next);
                if (points[i].lanes.mask != nullptr)
                  next = b_.CreateSelect(points[i].lanes.mask, next, e_.real(identity_of(sum.op), width));
                const Variable& into = width == 1 ? sum.single : sum.vectors[i % sum.vectors.size()];
                if (sum.op == OpCode::reduce_max && width == 1) {
                  e_.set(into, emit_maximum(e_, next, e_.get(into)));
                  continue;
                }
                if (sum.op == OpCode::reduce_max) numbers.push_back(next);
                // The running value stands second: where the next is NaN, the processor's maximum keeps it.
                e_.set(into, sum.op == OpCode::reduce_max ? combine(sum.op, next, e_.get(into))
                                                          : combine(sum.op, e_.get(into), next));
              }
              for (std::size_t i = 0; i < numbers.size(); i += 2)
                look_for_nan(sum, numbers[i], numbers[std::min(i + 1, numbers.size() - 1)]);
            }
          });
  }
  for (const Sum& sum : sums) {
    Value* total = nullptr;
    std::vector<Value*> left;
    for (const Variable& each : sum.vectors) left.push_back(e_.get(each));
    while (left.size() > 1) {
      std::vector<Value*> fewer;
      for (std::size_t i = 0; i + 1 < left.size(); i += 2) fewer.push_back(combine(sum.op, left[i], left[i + 1]));
      if (left.size() % 2 != 0) fewer.push_back(left.back());
      left = fewer;
    }
    if (!left.empty()) total = left[0];
    for (int width = vector; total != nullptr && width > 1; width /= 2) {
      std::vector<int> lower, upper;
      for (int i = 0; i < width / 2; ++i) {
        lower.push_back(i);
        upper.push_back(i + width / 2);
      }
      Value* a = width == 2 ? b_.CreateExtractElement(total, std::uint64_t{0}) : b_.CreateShuffleVector(total, lower);
      Value* b = width == 2 ? b_.CreateExtractElement(total, std::uint64_t{1}) : b_.CreateShuffleVector(total, upper);
      total = combine(sum.op, a, b);
    }
    if (total == nullptr)
      total = e_.get(sum.single);
    else if (sum.op != OpCode::reduce_max)
      total = combine(sum.op, total, e_.get(sum.single));
    else
      total = number_or_nan(total, sum.single, sum.nan);
    if (sum.op == OpCode::reduce_mean) {
      Value* count = fault("mean_divisor") ? e_.number(nest.space.columns) : columns;
      total = b_.CreateFDiv(total, b_.CreateSIToFP(count, b_.getFloatTy()));
    }
    Point point = row;
    point.column_low = 0;
    point.column_high = 1;
    if (const auto single = registers_.find(sum.id); single != registers_.end()) {
      e_.set(single->second, total);
    } else {
      const Memory& to = memory_.at(sum.id);
      Value* elements =
          point.row == nullptr || to.single_row ? nullptr : b_.CreateNSWMul(point.row, e_.number(to.row_stride));
      e_.store(DType::f32, total, elements == nullptr ? to.base : e_.at(to.base, elements, DType::f32), {});
    }
    remember(sum.id, normal(sum.id, point), total);
  }
}

// Tiles of one column: vectors run down the rows.
void ProgramEmitter::emit_down(const Nest& nest) {
  Value* rows = limit(nest.space.valid_rows, nest.space.rows);
  int vector = e_.level.lanes;
  while (vector > nest.space.rows) vector /= 2;
  const std::vector<std::int64_t> parts = borders(nest.roots, 0, nest.space.rows);
  for (std::size_t part = 0; part + 1 < parts.size(); ++part)
    sweep(parts[part], parts[part + 1], e_.smin(rows, e_.number(parts[part + 1])), vector, 1, nullptr,
          [&](const std::vector<std::pair<Value*, Lanes>>& steps) {
            for (const auto& [row, lanes] : steps) {
              const Point point{.row = row,
                                .lanes = lanes,
                                .down = lanes.width > 1,
                                .row_low = parts[part],
                                .row_high = parts[part + 1]};
              read_overwritten(nest.roots, {point});
              for (const Root& root : nest.roots) write_root(root, point);
            }
          });
}

}  // namespace tilewright::tile::llvm_back_end
