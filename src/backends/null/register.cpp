#include "backends/null/null_device.h"
#include "backends/null/null_generator.h"
#include "ops/core/registry.h"

namespace tilewright::backends {

void register_null(runtime::DeviceRegistry& devices, ops::Registry& registry);

void register_null(runtime::DeviceRegistry& devices, ops::Registry& registry) {
  devices.add(
      {.name = "null",
       .summary = "accepts launches, computes nothing",
       .devices = [] { return std::vector<std::string>{"null"}; },
       .unavailable =
           [](const std::string& device) {
             return device == "null" ? std::string() : "the null device has no variants";
           },
       .open = [](const std::string&, const runtime::DeviceOptions& options) -> std::shared_ptr<runtime::Device> {
         return std::make_shared<null::NullDevice>(options);
       }});
  registry.set_code_generator("null", null::make_null_generator());
}

}  // namespace tilewright::backends
