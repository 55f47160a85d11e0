// What ships is compiled for every level, aarch64's too, and needs nothing from outside.
#include <gtest/gtest.h>

#include "backends/host/tile/host_generator.h"
#include "base/error.h"
#include "ops/case_fixture.h"
#include "ops/core/shipped.h"
#include "ops/ops_fixture.h"
#include "tile/binary/blob.h"
#include "tile/binary/compiler.h"
#include "tile/ir/printer.h"
#include "tile/passes/lower.h"

namespace tilewright {
namespace {

using namespace ops;

TEST(CompiledKernels, OfWhatShipsStandAloneForAarch64) {
  if (const std::string reason = tile::compiler_unavailable(); !reason.empty()) GTEST_SKIP() << reason;
  const std::vector<OpCase> cases = test::all_cases();
  int compiled = 0;
  for (const auto& [op, kernel] : test::program().registry.tile_kernels()) {
    const std::vector<Specialisation> shipped =
        shipped_specialisations(test::program().registry.get(OpName(std::string_view(op))), *kernel, cases);
    EXPECT_FALSE(shipped.empty()) << kernel->name << " ships nothing";
    for (const Specialisation& one : shipped) {
      if (one.dtype == DType::f16 && compiled % 2) continue;  // f16 differs from bf16 in its casts alone
      tile::LowerOptions options;
      options.level = "neon";
      const std::string text = tile::print(tile::lower(kernel->build(one), options));
      try {
        const tile::Blob blob = tile::blob_from_object(tile::compile_text(text, options.level, "").object);
        EXPECT_GT(blob.bytes.size(), 64u);
        ++compiled;
      } catch (const Error& error) {
        ADD_FAILURE() << kernel->name << " " << dtype_name(one.dtype) << ": " << error.what();
      }
    }
  }
  EXPECT_GT(compiled, 10);
}

TEST(LaunchGrid, IsOneWhereWorkIsSmallAndNeverMoreThanTheBlocks) {
  using backends::host::launch_grid;
  const auto bytes = [](double n) { return Cost{.flops = 0, .bytes_read = n / 2, .bytes_written = n / 2}; };
  EXPECT_EQ(launch_grid(0, bytes(1e9), 4), 0u);
  EXPECT_EQ(launch_grid(1, bytes(1e9), 4), 1u);
  EXPECT_EQ(launch_grid(1000, bytes(1e9), 1), 1u);  // one thread: nobody to share with
  EXPECT_EQ(launch_grid(1000, bytes(8e3), 4), 1u);  // a token's row
  std::uint32_t before = 1;
  for (double n = 1e3; n < 1e9; n *= 1.5) {
    const std::uint32_t grid = launch_grid(20, bytes(n), 4);
    EXPECT_GE(grid, before);
    EXPECT_LE(grid, 20u);
    EXPECT_LE(launch_grid(1'000'000, bytes(n), 4), 32u);
    before = grid;
  }
  EXPECT_EQ(before, 20u);
  EXPECT_GT(launch_grid(1000, Cost{.flops = 1e9}, 2), 1u);
}

}  // namespace
}  // namespace tilewright
