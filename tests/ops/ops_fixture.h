// A registry with every operator and backend, and streams on devices opened by name.
#pragma once

#include <memory>
#include <string>

#include "ops/core/context.h"
#include "runtime/device.h"

namespace tilewright {

void register_operators(ops::Registry& registry);
void register_backends(runtime::DeviceRegistry& devices, ops::Registry& registry);

namespace test {

struct Program {
  runtime::DeviceRegistry devices;
  ops::Registry registry;
};
const Program& program();

// A device of its own for a test.
struct Bench {
  explicit Bench(const std::string& name, int threads = 2);
  std::shared_ptr<runtime::Device> device;
  std::unique_ptr<runtime::Stream> stream;
  ops::Context context(const ops::Switches& switches = {}, ops::Observer* observer = nullptr) {
    return ops::Context(program().registry, *stream, switches, observer);
  }
};

}  // namespace test
}  // namespace tilewright
