// Groups of rows times their matrices in one launch: blocks of columns in parallel, the groups one after the other,
// with their bounds read on the device. Groups of few rows read their matrix in place, larger ones in packed blocks.
#include <fmt/format.h>

#include "ops/grouped_gemm/parts.h"
#include "tile/build/builder.h"

namespace tilewright::ops {
namespace {

constexpr std::int64_t kColumns = 64;      // of a block: rows of a matrix
constexpr std::int64_t kFewRows = 4;       // of a group that reads its matrix in place
constexpr std::int64_t kManyRows = 128;    // of a block of a larger group
constexpr std::int64_t kInner = 256;       // of a block of a larger group
constexpr std::int64_t kLongInner = 2048;  // of matrices that are read in place

tile::Program build(const Specialisation& s) {
  using namespace tile;
  const auto weights_dtype = static_cast<DType>(s.numbers[0]);
  Builder b("grouped_gemm");
  const Dim rows = b.dim("rows"), inner = b.dim("inner"), experts = b.dim("experts"), columns = b.dim("columns");
  const auto x = b.input("x", s.dtype, {rows, inner});
  const auto weights = b.input("weights", weights_dtype, {experts, columns, inner});
  const Dim bounds = b.dim("bounds");
  const auto offsets = b.input("offsets", DType::i32, {bounds});
  const auto out = b.output("out", s.dtype, {rows, columns});
  const auto bound = [&](Index i) { return min(max(b.load(offsets, {i}), 0), rows); };

  b.parallel("column", 0, columns, kColumns, [&](Index column) {
    const Index width = min(kColumns, columns - column);
    const auto zero = [&](const char* name, Index begin, Index end) {
      b.loop(name, begin, end, kManyRows, [&](Index row) {
        b.assemble(b.constant(0, kManyRows, kColumns, s.dtype), out, {row, column},
                   valid(min(kManyRows, end - row), width));
      });
    };
    zero("before", 0, bound(0));
    b.loop("expert", 0, experts, 1, [&](Index expert) {
      const Index begin = bound(expert), end = max(begin, bound(expert + 1));
      const Index few = min(max(kFewRows + 1 - (end - begin), 0), 1);  // 1 for groups of few rows
      const auto blocks = [&](const char* name, Index first, Index last, std::int64_t height, std::int64_t length) {
        b.loop(name, first, last, height, [&](Index row) {
          const Index left = min(height, last - row);
          const Tile sums = b.loop(
              "inner", 0, inner, length, {b.constant(0, height, kColumns)}, [&](Index k, const std::vector<Tile>& now) {
                const Index some = min(length, inner - k);
                const Tile left_block = b.view(x, {row, k}, {height, length}, valid(left, some));
                const Tile matrix = b.view(weights, {expert, column, k}, {kColumns, length}, valid(width, some));
                return std::vector<Tile>{matmul_transposed(left_block, cast(matrix, s.dtype), now[0])};
              })[0];
          b.assemble(cast(sums, s.dtype), out, {row, column}, valid(left, width));
        });
      };
      const Index border = begin + (end - begin) * few;
      blocks("few", begin, border, kFewRows, kLongInner);
      blocks("row", border, end, kManyRows, kInner);
    });
    zero("behind", max(bound(experts), bound(0)), rows);
  });
  return b.finish();
}

}  // namespace

TileKernel grouped_gemm_kernel() {
  TileKernel kernel;
  kernel.name = "grouped_gemm";
  kernel.numbers = {"weights_dtype"};
  kernel.specialise = [](const OpCall& call) {
    return Specialisation{.dtype = call.input(0).dtype(),
                          .numbers = {static_cast<std::int64_t>(call.input(1).dtype())}};
  };
  kernel.refuse = [](const OpCall& call) {
    return call.input(1).layout() == Layout::strided ? std::string()
                                                     : std::string("the matrices are packed for `linear`");
  };
  kernel.build = build;
  kernel.bind = [](const OpCall& call) {
    return TileArguments{{call.input(0), call.input(1), call.input(2), call.outputs[0]}, {}};
  };
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16})
    kernel.shipped.push_back({.dtype = dtype, .numbers = {static_cast<std::int64_t>(dtype)}});
  return kernel;
}

}  // namespace tilewright::ops
