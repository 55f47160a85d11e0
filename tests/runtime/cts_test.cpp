// The conformance suite on every device of this build.
#include "runtime/cts/cts.h"

#include <gtest/gtest.h>

#include "backends/host/host_device.h"
#include "backends/null/null_device.h"

namespace tilewright::runtime::cts {
namespace {

Setup host(bool opaque, int threads) {
  return {std::string(opaque ? "host_opaque_" : "host_") + std::to_string(threads),
          [=](std::size_t limit) -> std::shared_ptr<Device> {
            return std::make_shared<backends::host::HostDevice>(
                opaque, DeviceOptions{.threads = threads, .memory_limit = limit});
          }};
}

std::vector<Setup> setups() {
  return {host(false, 1),
          host(false, 2),
          host(false, 4),
          host(true, 1),
          host(true, 2),
          {"null", [](std::size_t limit) -> std::shared_ptr<Device> {
             return std::make_shared<backends::null::NullDevice>(DeviceOptions{.memory_limit = limit});
           }}};
}

class Conformance : public testing::TestWithParam<std::tuple<int, int>> {};

TEST_P(Conformance, Holds) {
  const auto [setup, check] = GetParam();
  EXPECT_EQ(checks()[static_cast<std::size_t>(check)].run(setups()[static_cast<std::size_t>(setup)]), "");
}

INSTANTIATE_TEST_SUITE_P(Devices, Conformance,
                         testing::Combine(testing::Range(0, static_cast<int>(setups().size())),
                                          testing::Range(0, static_cast<int>(checks().size()))),
                         [](const auto& info) {
                           return setups()[static_cast<std::size_t>(std::get<0>(info.param))].name + "_" +
                                  checks()[static_cast<std::size_t>(std::get<1>(info.param))].name;
                         });

}  // namespace
}  // namespace tilewright::runtime::cts
