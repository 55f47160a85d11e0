#include "backends/host/tile/interpreted_generator.h"

#include <algorithm>
#include <bit>

#include "backends/host/host_kernel.h"
#include "base/error.h"
#include "tile/interp/interpreter.h"

namespace tilewright::backends::host {
namespace {

struct Parameters {
  const tile::Program* program;
  std::int64_t values[ops::kMaxTileValues];
};

tile::Arguments arguments_of(const tile::Program& program, const HostCall& call, const std::int64_t* values) {
  tile::Arguments out;
  const std::int64_t* at = values + program.dims.size();
  for (std::size_t i = 0; i < program.tensors.size(); ++i) {
    tile::TensorArgument argument{.data = call.buffers[i]};
    for (const tile::TensorDim& dim : program.tensors[i].shape) {
      argument.shape.push_back(dim.symbol == tile::kNone ? dim.size : values[dim.symbol]);
      argument.strides.push_back(*at++);
    }
    out.tensors.push_back(std::move(argument));
  }
  for (const tile::ScalarParameter& scalar : program.scalars) {
    const std::int64_t bits = *at++;
    out.scalars.push_back(scalar.dtype == DType::f32 ? std::bit_cast<float>(static_cast<std::uint32_t>(bits))
                                                     : static_cast<double>(bits));
  }
  return out;
}

void interpret_launch(const HostCall& call) {
  const auto& p = parameters_of<Parameters>(call);
  try {
    tile::interpret(*p.program, arguments_of(*p.program, call, p.values));
  } catch (const Error& error) {
    call.fault(call, (new std::string(error.what()))->c_str(), 0);  // faults keep their text for good
  }
}
const runtime::Kernel kInterpreted = host_kernel("interpreted tile program", &interpret_launch);

class InterpretedKernel : public ops::CompiledKernel {
 public:
  explicit InterpretedKernel(tile::Program program) : program_(std::move(program)) {
    for (tile::TileParameter& tile : program_.tiles)
      if (tile.chosen == 0) tile.chosen = tile.choices.front();
    for (tile::Node& node : program_.nodes)
      if (node.op == tile::OpCode::index_constant && node.integer2 > 0)
        node.integer = program_.tiles[static_cast<std::size_t>(node.integer2 - 1)].chosen;
  }
  void complete(runtime::Launch& launch, const runtime::Device&, std::span<const std::int64_t> values) const override {
    Parameters p;
    p.program = &program_;
    std::copy(values.begin(), values.end(), p.values);
    launch.kernel = &kInterpreted;
    launch.grid = 1;
    launch.set_parameters(p);
  }

 private:
  tile::Program program_;
};

class InterpretedGenerator : public ops::CodeGenerator {
 public:
  std::unique_ptr<ops::CompiledKernel> compile(const tile::Program& program) override {
    return std::make_unique<InterpretedKernel>(program);
  }
  std::string status() const override { return "interpreted"; }
};

}  // namespace

std::shared_ptr<ops::CodeGenerator> make_interpreted_generator() { return std::make_shared<InterpretedGenerator>(); }

}  // namespace tilewright::backends::host
