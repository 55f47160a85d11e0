// docs/operators_table.md tells which kernels there are; it is generated from the registry and must not fall behind.
#include "ops/core/support_table.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <ostream>

#include "base/mapped_file.h"
#include "ops/ops_fixture.h"

namespace tilewright {
namespace {

TEST(SupportTable, InTheDocumentsIsThatOfTheRegistry) {
  const std::filesystem::path path = std::filesystem::path(TILEWRIGHT_SOURCE_DIR) / "docs/operators_table.md";
  const std::string wanted =
      "# Which operator runs where\n\nWritten by `TILEWRIGHT_WRITE_DOCS=1 build/release/tests/test_ops "
      "--gtest_filter='SupportTable.*'`; the same test fails\nwhen this page falls behind. Columns after the first "
      "ones "
      "are device families with their kernels, in the order in which they are\nasked; `?` marks inputs that may be "
      "absent, names after the semicolon are attributes.\n\n" +
      ops::support_table(test::program().registry);
  if (std::getenv("TILEWRIGHT_WRITE_DOCS"))
    write_file_atomically(path, [&](std::ostream& out) { out << wanted; });
  else
    EXPECT_EQ(read_text_file(path), wanted) << "the page itself says how to write it anew";
}

}  // namespace
}  // namespace tilewright
