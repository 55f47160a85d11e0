// Writes tile programs in C++. Every call appends one node; what is wrong about it is said at once (rank, dtype, shape)
// or by finish(), which runs verify/. Errors name the program, the operator and the mend.
//
//   Builder b("rms_norm");
//   const auto rows = b.dim("rows"), width = b.dim("width");
//   const auto x = b.input("x", DType::bf16, {rows, width});
//   const auto weight = b.input("weight", DType::bf16, {width});
//   const auto y = b.output("y", DType::bf16, {rows, width});
//   const Tile eps = b.scalar("eps");
//   b.parallel("row", 0, rows, 1, [&](Index row) {
//     const Tile v = cast(b.view(x, {row, 0}, {1, 8192}, to_end), DType::f32);
//     const Tile scale = rsqrt(mean(v * v, 1) + eps);
//     const Tile w = cast(b.view(weight, {0}, {1, 8192}, to_end), DType::f32);
//     b.assemble(cast(v * scale * w, DType::bf16), y, {row, 0});
//   });
//   const Program program = b.finish();
#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

#include "tile/ir/program.h"

namespace tilewright::tile {

class Builder;

// An i64 value: a constant, a dim, a loop variable, or arithmetic on them.
class Index {
 public:
  Index(std::int64_t constant) : constant_(constant) {}  // NOLINT: implicit on purpose
  Index(int constant) : constant_(constant) {}           // NOLINT
  Index(Builder& builder, ValueId id) : builder_(&builder), id_(id) {}
  bool literal() const { return builder_ == nullptr; }
  std::int64_t value() const { return constant_; }
  ValueId id(Builder& builder) const;  // a literal becomes a node
  Builder* builder() const { return builder_; }

 private:
  Builder* builder_ = nullptr;
  ValueId id_ = kNone;
  std::int64_t constant_ = 0;
};
Index operator+(Index a, Index b);
Index operator-(Index a, Index b);
Index operator*(Index a, Index b);
Index operator/(Index a, Index b);  // floor
Index operator%(Index a, Index b);
Index min(Index a, Index b);
Index max(Index a, Index b);
Index ceil_div(Index a, Index b);

// A block of elements on chip: rows × columns of one dtype.
class Tile {
 public:
  Tile() = default;
  Tile(Builder& builder, ValueId id) : builder_(&builder), id_(id) {}
  bool defined() const { return builder_ != nullptr; }
  ValueId id() const { return id_; }
  Builder& builder() const { return *builder_; }
  const Type& type() const;
  DType dtype() const { return type().dtype; }

 private:
  Builder* builder_ = nullptr;
  ValueId id_ = kNone;
};

// Elementwise. Operands of shape [1, 1], [m, 1] and [1, n] are broadcast to the other's shape by an explicit node; a
// plain number is a constant of the tile's dtype. No cast is added: dtypes must agree.
Tile operator+(Tile a, Tile b);
Tile operator-(Tile a, Tile b);
Tile operator*(Tile a, Tile b);
Tile operator/(Tile a, Tile b);
Tile operator-(Tile a);
Tile operator+(Tile a, double b);
Tile operator-(Tile a, double b);
Tile operator*(Tile a, double b);
Tile operator/(Tile a, double b);
Tile operator+(double a, Tile b);
Tile operator-(double a, Tile b);
Tile operator*(double a, Tile b);
Tile operator/(double a, Tile b);
Tile minimum(Tile a, Tile b);
Tile maximum(Tile a, Tile b);
Tile unary(OpCode op, Tile a);
Tile binary(OpCode op, Tile a, Tile b);
Tile abs(Tile a);
Tile exp(Tile a);
Tile log(Tile a);
Tile sqrt(Tile a);
Tile rsqrt(Tile a);
Tile reciprocal(Tile a);
Tile sin(Tile a);
Tile cos(Tile a);
Tile tanh(Tile a);
Tile erf(Tile a);
Tile sigmoid(Tile a);
Tile silu(Tile a);
Tile gelu(Tile a);
Tile gelu_tanh(Tile a);
Tile equal(Tile a, Tile b);
Tile not_equal(Tile a, Tile b);
Tile less(Tile a, Tile b);
Tile less_equal(Tile a, Tile b);
Tile greater(Tile a, Tile b);
Tile greater_equal(Tile a, Tile b);
Tile logical_and(Tile a, Tile b);
Tile logical_or(Tile a, Tile b);
Tile logical_not(Tile a);
Tile where(Tile condition, Tile a, Tile b);
Tile cast(Tile a, DType dtype);  // of the dtype it has: the tile itself

// Reductions along axis 0 (to [1, n]) or 1 (to [m, 1]), over the valid extent.
Tile sum(Tile a, int axis);
Tile max(Tile a, int axis);
Tile mean(Tile a, int axis);

Tile broadcast(Tile a, Extent rows, Extent columns);
Tile slice(Tile a, std::int64_t row, std::int64_t column, std::int64_t rows, std::int64_t columns);
Tile concat(std::vector<Tile> parts, int axis);
Tile transpose(Tile a);
Tile reshape(Tile a, std::int64_t rows, std::int64_t columns);
Tile matmul(Tile a, Tile b);                    // a [m, k] · b [k, n]
Tile matmul_transposed(Tile a, Tile b);         // a [m, k] · b [n, k]ᵀ
Tile matmul(Tile a, Tile b, Tile accumulator);  // + accumulator, f32 [m, n]
Tile matmul_transposed(Tile a, Tile b, Tile accumulator);
struct TopK {
  Tile values;   // f32 [m, k], descending
  Tile columns;  // i32 [m, k]; of equal values the lower column first
};
TopK top_k(Tile a, std::int64_t k);

// Shapes of tensors: a number or a symbolic dim. Which tensor or scalar parameter a value stands for.
struct Dim {
  TensorDim extent;
  Index index;                                                  // its value
  Dim(std::int64_t size) : extent{size, kNone}, index(size) {}  // NOLINT: implicit on purpose
  Dim(int size) : Dim(std::int64_t{size}) {}                    // NOLINT
  Dim(TensorDim dim, Index value) : extent(dim), index(value) {}
  operator Index() const { return index; }  // NOLINT
};
struct TensorHandle {
  int tensor = kNone;
};

// How much of a view's tile is read.
struct Valid {
  enum class Kind { all, to_end, given } kind = Kind::all;
  Index rows = 0, columns = 0;  // given
};
inline const Valid whole{};                            // the tile lies in the tensor; must be provable
inline const Valid to_end{Valid::Kind::to_end, 0, 0};  // min(tile, what is left of the tensor), along both dims
inline Valid valid(Index rows, Index columns) { return {Valid::Kind::given, rows, columns}; }

// Tile extents of a view, and along which dims of the tensor its rows and columns run (default: the last two; a tensor
// of rank 1 has one row).
struct TileShape {
  Extent rows, columns;
  int row_dim = -2, column_dim = -1;  // negative: from the end; row_dim of a single row may be no_dim
  static constexpr int no_dim = -100;
};

class Builder {
 public:
  explicit Builder(std::string name);
  Builder(const Builder&) = delete;

  Dim dim(const std::string& name);
  TensorHandle input(const std::string& name, DType dtype, std::initializer_list<Dim> shape);
  TensorHandle output(const std::string& name, DType dtype, std::initializer_list<Dim> shape);
  Tile scalar(const std::string& name);         // f32 [1, 1]
  Index index_scalar(const std::string& name);  // i64
  // A tile size chosen from `choices` for the target; usable as Extent and as Index.
  struct Chosen {
    Extent extent;
    Index index;
    operator Extent() const { return extent; }  // NOLINT
    operator Index() const { return index; }    // NOLINT
  };
  Chosen tile(const std::string& name, std::vector<std::int64_t> choices);

  Tile view(TensorHandle tensor, std::initializer_list<Index> offsets, TileShape shape, const Valid& valid = whole);
  // Rows `rows` (i32 [m, 1]) of the tensor along shape.row_dim; the offset of that dim is ignored.
  Tile gather(TensorHandle tensor, Tile rows, std::initializer_list<Index> offsets, TileShape shape,
              const Valid& valid = to_end);
  // Overwrites. Written as far as the tile is valid, and `valid` says, and (to_end) the tensor reaches.
  void assemble(Tile tile, TensorHandle tensor, std::initializer_list<Index> offsets, const Valid& valid = to_end,
                int row_dim = -2, int column_dim = -1);
  Index load(TensorHandle tensor, std::initializer_list<Index> offsets);  // one element of an i32 or i64 tensor
  Tile constant(double value, Extent rows = {}, Extent columns = {}, DType dtype = DType::f32);
  Tile from_index(Index value);                                       // i32 [1, 1]
  Tile iota(Extent rows, Extent columns, int axis, Index first = 0);  // i32
  Tile restrict(Tile tile, Index rows, Index columns);

  void parallel(const std::string& variable, Index start, Index stop, Index step,
                const std::function<void(Index)>& body);
  void loop(const std::string& variable, Index start, Index stop, Index step, const std::function<void(Index)>& body);
  // With carried tiles: `body` gets their values and returns the next ones; the result is the last ones.
  std::vector<Tile> loop(const std::string& variable, Index start, Index stop, Index step,
                         const std::vector<Tile>& initial,
                         const std::function<std::vector<Tile>(Index, const std::vector<Tile>&)>& body);
  Tile is_first(Index loop_variable);
  Tile is_last(Index loop_variable);

  // Verifies and gives the program. The builder is empty afterwards.
  Program finish();

  // For the free functions above.
  ValueId append(Node node);
  const Program& program() const { return program_; }

 private:
  TensorHandle tensor(const std::string& name, DType dtype, std::initializer_list<Dim> shape, Access access);
  void add_access(Node& node, const std::string& what, TensorHandle tensor, std::initializer_list<Index> offsets,
                  const TileShape& shape, const Valid& valid);
  Program program_;
  std::vector<BlockId> open_;  // the blocks being written, innermost last
};

}  // namespace tilewright::tile
