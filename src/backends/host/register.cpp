#include "backends/host/host_device.h"
#include "backends/host/matmul/matmul.h"
#include "backends/host/small/small_candidates.h"
#include "backends/host/tile/host_generator.h"
#include "ops/core/registry.h"

namespace tilewright::backends {

void register_host(runtime::DeviceRegistry& devices, ops::Registry& registry);

void register_host(runtime::DeviceRegistry& devices, ops::Registry& registry) {
  devices.add({.name = "host",
               .summary = "this processor",
               .devices =
                   [] {
                     return std::vector<std::string>{"host", "host:opaque"};
                   },
               .unavailable =
                   [](const std::string& device) {
                     return device == "host" || device == "host:opaque" ? std::string()
                                                                        : "the host has no variant \"" + device + "\"";
                   },
               .open = [](const std::string& device,
                          const runtime::DeviceOptions& options) -> std::shared_ptr<runtime::Device> {
                 return std::make_shared<host::HostDevice>(device == "host:opaque", options);
               }});
  host::add_matmul(registry);
  host::add_small_candidates(registry);
  registry.set_code_generator("host", host::make_host_generator());
}

}  // namespace tilewright::backends
