#include "backends/host/tile/host_generator.h"

#include <algorithm>
#include <cstring>

#include "backends/host/host_kernel.h"
#include "base/cpu.h"
#include "base/error.h"
#include "tile/binary/compiler.h"
#include "tile/binary/kernel_store.h"

namespace tilewright::backends::host {
namespace {

// What one core gets done in a nanosecond, on the fast side: an estimate that is too long would cut small launches.
constexpr double kBytesPerNs = 12, kFlopsPerNs = 24, kMatrixFlopsPerNs = 80;
constexpr const char* kNoLevel = "tile programs are compiled for avx2, avx512, avx512_bf16 and neon only";
constexpr double kLeastPartNs = 1500;  // handing out a part costs some 100 ns
constexpr int kPartsPerThread = 8;     // blocks differ in length, and threads in speed

struct Parameters {
  tile::RunFunction run;
  std::int64_t blocks;
  std::int64_t values[ops::kMaxTileValues];
};

void run_part(const HostCall& call) {
  const auto& p = parameters_of<Parameters>(call);
  const auto border = [&](std::uint32_t part) { return p.blocks * part / call.grid; };
  p.run(call.buffers, p.values, border(call.begin), border(call.end));
}

class HostTileKernel : public ops::CompiledKernel {
 public:
  HostTileKernel(std::string name, tile::ExecutableCode code)
      : name_(std::move(name)), code_(std::move(code)), kernel_(host_kernel(name_.c_str(), &run_part)) {}

  void complete(runtime::Launch& launch, const runtime::Device& device,
                std::span<const std::int64_t> values) const override {
    Parameters p;
    p.run = code_.run();
    p.blocks = code_.blocks()(values.data());
    std::memcpy(p.values, values.data(), values.size_bytes());
    launch.kernel = &kernel_;
    launch.grid = launch_grid(p.blocks, launch.cost, device.threads());
    const std::size_t unused = sizeof p.values - values.size_bytes();
    launch.set_parameter_bytes(std::as_bytes(std::span(&p, 1)).first(sizeof p - unused));
  }

 private:
  std::string name_;
  tile::ExecutableCode code_;
  runtime::Kernel kernel_;
};

class HostGenerator : public ops::CodeGenerator {
 public:
  std::unique_ptr<ops::CompiledKernel> compile(const tile::Program& program) override {
    const IsaLevel isa = active_isa();
    if (isa == IsaLevel::generic) fail({.what = kNoLevel, .where = "", .expected = "", .found = "", .fix = ""});
    tile::LowerOptions options;
    options.level = isa_name(isa);
    return std::make_unique<HostTileKernel>(program.name, tile::load_kernel(program, options).code);
  }
  std::string status() const override {
    if (active_isa() == IsaLevel::generic) return kNoLevel;
    const std::string missing = tile::compiler_unavailable();
    return std::string(isa_name(active_isa())) + (missing.empty() ? "" : ", what ships only: " + missing);
  }
};

}  // namespace

std::uint32_t launch_grid(std::int64_t blocks, const runtime::Cost& cost, int threads) {
  if (blocks <= 1 || threads <= 1) return blocks < 1 ? 0 : 1;
  const bool matrix = cost.unit == runtime::Unit::matrix;
  const double ns = std::max((cost.bytes_read + cost.bytes_written) / kBytesPerNs,
                             cost.flops / (matrix ? kMatrixFlopsPerNs : kFlopsPerNs));
  const double parts = std::min(ns / kLeastPartNs, double(kPartsPerThread) * threads);
  return static_cast<std::uint32_t>(std::min<std::int64_t>(blocks, std::max<std::int64_t>(1, std::int64_t(parts))));
}

std::shared_ptr<ops::CodeGenerator> make_host_generator() { return std::make_shared<HostGenerator>(); }

}  // namespace tilewright::backends::host
