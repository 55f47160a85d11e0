// Code for a lowered tile program: functions tw_run and tw_blocks (tile/binary/kernel_abi.h). Reads the plan that
// passes/fuse and passes/vectorise made.
#pragma once

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "tile/ir/program.h"
#include "tile/llvm/emitter.h"
#include "tile/passes/iteration_space.h"

namespace tilewright::tile::llvm_back_end {

// Which elements of a tile are computed: `lanes.width` of them from (row, column) on, along the columns, or `down` the
// rows. Null: 0. They lie in the static ranges [row_low, row_high) × [column_low, column_high), which never cross the
// border of two concatenated parts.
struct Point {
  llvm::Value* row = nullptr;
  llvm::Value* column = nullptr;
  Lanes lanes;
  bool down = false;
  std::int64_t row_low = 0, row_high = 1, column_low = 0, column_high = 1;
};

class ProgramEmitter {
 public:
  // `fault`: one of the planted faults of docs/tile-language.md, or empty.
  ProgramEmitter(const Program& program, Emitter& emitter, std::string fault);
  void emit();

 private:
  using Value = llvm::Value;

  // Where a tile lies in memory; `row_stride` in elements. A tile that only one row loop reads has one row.
  struct Memory {
    Value* base = nullptr;
    std::int64_t row_stride = 0;
    DType dtype = DType::f32;
    bool single_row = false;
  };
  // What a nest computes: a node of the program, or (initial and next values of loops, accumulators) a copy to memory.
  struct Root {
    ValueId tile = kNone;
    const Memory* copy_to = nullptr;
  };
  struct Nest {
    std::vector<Root> roots;
    IterationSpace space;
    int vector = 1, unroll = 1;
  };
  struct LoopRange {
    Value *variable, *start, *stop, *step;
  };
  using Scope = std::map<std::tuple<int, Value*, Value*, int>, Value*>;
  // Of a loop or top_k: its results.
  struct Results {
    std::vector<Memory> memory;
    std::vector<Variable> single;
  };

  // program_emitter.cpp: functions and the loops that are the grid of a launch.
  void emit_blocks_function();
  void emit_run_function();
  void begin(llvm::Function* function, Value* values);
  Value* outputs_beyond_caches();
  struct Grid {
    std::vector<ValueId> loops;  // outermost first
  };
  std::vector<Grid> grids() const;  // empty: the program is one block
  bool uniform(ValueId index) const;
  Value* trips(const Node& loop);
  void emit_grid(const Grid& grid, Value* first, Value* last);

  // block_emitter.cpp: blocks in the order of their nests.
  void emit_block(BlockId block, ValueId skipped_loop = kNone);
  void emit_names(BlockId block);
  Value* index(ValueId id);
  Value* index_arithmetic(OpCode op, Value* a, Value* b);
  Value* load_index(const Node& node);
  Value* offset_address(const Node& node);
  void emit_loop(ValueId id);  // this and what carried tiles need: loop_emitter.cpp
  void emit_carried_next(ValueId loop, const std::vector<Variable>& single, const std::vector<Memory>& memory);
  void emit_matmul_node(ValueId id);
  void emit_top_k(ValueId id);
  void emit_column_sums(ValueId id);
  void copy_tile(ValueId tile, const Memory& to);
  enum class Rows { padded, tight, dense };  // tight: only where tiles have one column
  Memory allocate(const Type& type, bool single_row = false, Rows layout = Rows::tight);
  Rows layout_of(ValueId id) const;
  Memory result_memory(ValueId id);
  bool may_overwrite(ValueId loop, std::size_t carried, ValueId next);
  void count_readers();
  bool reads_in_place(ValueId root, ValueId carried, const std::vector<ValueId>& from) const;

  // nest_emitter.cpp: rows and columns; sweep.cpp: borders, vectors and tails.
  void emit_row_group(const std::vector<Nest>& nests);
  bool reads_other_rows(ValueId root, ValueId source) const;
  bool local_to_rows(const std::vector<Nest>& group, const Nest& next) const;
  // `again`: an earlier nest of the row has read what this one reads.
  void emit_columns(const Nest& nest, const Point& row, bool again);
  Value* number_or_nan(Value* vectors, const Variable& single, const Variable& met);
  void emit_down(const Nest& nest);
  struct Preparation {
    std::set<ValueId> pending;  // tiles that are not there yet: what hangs on them is left to its uses
    std::set<ValueId> seen, independent;
  };
  void prepare(ValueId id, const Point* row, Preparation& preparation);
  bool depends(ValueId id, Preparation& preparation) const;
  Value* may_stream(const Nest& nest, const Point& row, std::int64_t low);
  Value* limit(const std::vector<ValueId>& bounds, std::int64_t extent);
  void add_borders(ValueId id, int axis, std::int64_t shift, std::set<std::int64_t>& out,
                   std::set<std::pair<ValueId, std::int64_t>>& seen) const;
  std::vector<std::int64_t> borders(const std::vector<Root>& roots, int axis, std::int64_t extent) const;
  // Calls step(points) for every part of low … end: `unroll` vectors, single vectors, a tail.
  // `streams` (i1 or null): the unrolled part may then store past the caches.
  void sweep(std::int64_t low, std::int64_t high, Value* end, int vector, int unroll, Value* streams,
             const std::function<void(const std::vector<std::pair<Value*, Lanes>>&)>& step);
  void write_root(const Root& root, const Point& point);
  void read_overwritten(const std::vector<Root>& roots, const std::vector<Point>& points);

  // tile_value.cpp: elements of tiles.
  Value* value(ValueId id, const Point& point);
  bool below_maximum(ValueId id) const;
  Value* compute(ValueId id, const Point& point);  // from the operands, even if it lies in memory
  Value* compute_two(OpCode op, DType dtype, Value* a, Value* b);
  Value* of_memory(const Memory& memory, const Point& point);
  Value* of_view(ValueId id, const Point& point);
  Value* of_gather(ValueId id, const Point& point);
  Value* of_iota(const Node& node, const Point& point);
  Value* of_reshape(const Node& node, const Point& point);
  Value* of_concat(const Node& node, const Point& point);
  Value* strided(Value* base, Value* row_stride, DType dtype, const Point& point, bool constant);
  Value* shifted(Value* position, std::int64_t by);
  Value* or_zero(Value* position) { return position == nullptr ? e_.number(0) : position; }
  Point normal(ValueId id, Point point) const;
  const Memory* memory_of(ValueId id) const;
  const Variable* register_of(ValueId id) const;

  Value* remembered(ValueId id, const Point& point) const;
  void remember(ValueId id, const Point& point, Value* value) {
    scopes_.back()[{id, point.row, point.column, point.down ? -point.lanes.width : point.lanes.width}] = value;
  }
  bool fault(const char* name) const { return fault_ == name; }
  std::int64_t size(const Extent& extent) const { return program_.size(extent); }

  const Program& program_;
  Emitter& e_;
  llvm::IRBuilder<>& b_;
  std::string fault_;
  IterationSpaces spaces_;
  std::vector<BlockId> home_;
  std::vector<ValueId> owner_;                    // of a block: its loop
  std::map<ValueId, std::set<int>> readers_;      // of materialised tiles: nest numbers; -1 - loop: next values
  std::map<int, ValueId> nest_member_;            // nest number -> one of its roots
  std::set<ValueId> dense_;                       // read by a reshape: rows without gaps
  std::vector<Value*> tensors_, dims_, scalars_;  // loaded at the start of the function
  std::vector<std::vector<Value*>> strides_;
  std::vector<Value*> indices_;  // values of index nodes
  std::vector<Value*> bases_;    // addresses of views, gathers and assembles at their offsets
  std::map<ValueId, LoopRange> ranges_;
  std::map<ValueId, Memory> memory_;
  std::map<ValueId, Variable> registers_;
  std::map<ValueId, Results> results_;
  std::map<ValueId, Memory> destinations_;             // of nodes that are computed right where a loop carries them
  std::map<std::pair<ValueId, bool>, Value*> panels_;  // packed right operands of products, also transposed ones
  std::map<ValueId, ValueId> overwritten_;             // and the carried tile that they replace
  std::vector<Scope> scopes_;
  Value* streams_ = nullptr;  // whether outputs are larger than caches; null: it does not matter
};

}  // namespace tilewright::tile::llvm_back_end
