#include "ops/ops_fixture.h"

namespace tilewright::test {

const Program& program() {
  static const std::unique_ptr<Program> all = [] {
    auto made = std::make_unique<Program>();
    register_operators(made->registry);
    register_backends(made->devices, made->registry);
    made->registry.finish();
    return made;
  }();
  return *all;
}

Bench::Bench(const std::string& name, int threads)
    : device(program().devices.open(name, {.threads = threads})), stream(device->create_stream()) {}

}  // namespace tilewright::test
