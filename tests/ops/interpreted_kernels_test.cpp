// Every tile kernel against its operator's reference by the interpreter: what a kernel means, without a compiler.
#include <gtest/gtest.h>

#include <map>

#include "backends/host/tile/interpreted_generator.h"
#include "ops/case_fixture.h"
#include "ops/core/case_runner.h"
#include "ops/core/tile_kernel.h"
#include "ops/ops_fixture.h"

namespace tilewright {
namespace {

using namespace ops;

// The interpreter keeps whole tiles of doubles and looks at each element several times.
constexpr std::int64_t kMostElements = 40'000;

TEST(InterpretedKernels, EqualTheReferenceOnAllCases) {
  runtime::DeviceRegistry devices;
  Registry registry;
  register_operators(registry);
  register_backends(devices, registry);
  registry.set_code_generator("host", backends::host::make_interpreted_generator());
  registry.finish();
  const auto device = devices.open("host", {.threads = 1});
  Context context(registry, device->default_stream());
  std::map<std::string, int> ran;
  for (const Registry::RegisteredKernel& registered : registry.tile_kernels()) ran[registered.op] = 0;
  for (const EmbeddedCaseFile& file : embedded_case_files()) {
    if (!ran.count(std::string(file.folder))) continue;
    for (const OpCase& one : parse_cases(registry, file.text, "cases", std::string(file.folder))) {
      if (test::elements_of(one) > kMostElements) continue;
      for (const CaseResult& result : run_case(context, one)) {
        if (result.path == "decomposition") continue;
        if (!result.refusal.empty()) continue;
        ++ran[one.op];
        EXPECT_TRUE(result.pass) << result.op << " " << result.id << ", " << result.path << ": " << result.reason
                                 << " (worst error " << result.worst_error << " at " << result.where << ")";
      }
    }
  }
  for (const auto& [op, count] : ran) EXPECT_GT(count, 0) << op << ": no case reached a kernel";
}

}  // namespace
}  // namespace tilewright
