// Compiles the tile kernels that ship, when the project is built:
//
//   ship_kernels FOLDER MODEL LEVEL…
//
// For each level: the specialisations that kernels name and that their operators' bench cases lead to, and whatever a
// run of the model with every fusion switched on asks for. Kernels that are there already are kept, others of the
// folder are removed. Exit 1 if one cannot be compiled.
#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <mutex>
#include <set>

#include "base/error.h"
#include "engine/session.h"
#include "ops/core/case_file.h"
#include "ops/core/code_generator.h"
#include "ops/core/shipped.h"
#include "tile/binary/kernel_store.h"

namespace tilewright {
namespace {

class Shipment {
 public:
  Shipment(std::filesystem::path folder, std::vector<std::string> levels)
      : folder_(std::move(folder)), levels_(std::move(levels)) {
    std::filesystem::create_directories(folder_);
  }
  void add(const tile::Program& program) {
    for (const std::string& level : levels_) {
      tile::LowerOptions options;
      options.level = level;
      try {
        files_.insert(tile::ship_kernel(program, options, folder_));
      } catch (const Error& error) {
        ++failures;
        fmt::print(stderr, "ship_kernels: {} for {}: {}\n", program.name, level, error.what());
      }
    }
  }
  void remove_others() const {
    for (const auto& entry : std::filesystem::directory_iterator(folder_))
      if (!files_.count(entry.path().filename())) std::filesystem::remove(entry.path());
  }
  std::size_t size() const { return files_.size(); }
  int failures = 0;

 private:
  std::filesystem::path folder_;
  std::vector<std::string> levels_;
  std::set<std::string> files_;
};

// Stands in for the null device's generator: what a forward pass would compile is compiled to be shipped.
class ShippingGenerator : public ops::CodeGenerator {
 public:
  explicit ShippingGenerator(Shipment& shipment) : shipment_(shipment) {}
  std::unique_ptr<ops::CompiledKernel> compile(const tile::Program& program) override {
    struct Nothing : ops::CompiledKernel {
      void complete(runtime::Launch& launch, const runtime::Device&, std::span<const std::int64_t>) const override {
        static const runtime::Kernel nothing{"nothing", nullptr};
        launch.kernel = &nothing;
      }
    };
    shipment_.add(program);
    return std::make_unique<Nothing>();
  }
  std::string status() const override { return "ships kernels"; }

 private:
  Shipment& shipment_;
};

// A prompt and a few single tokens, in every dtype, for one and two sequences.
void run_model(const Program& program, const std::filesystem::path& model) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16})
    for (const std::int64_t batch : {1, 2}) {
      engine::SessionOptions options;
      options.model = model;
      options.load.dtype = dtype;
      options.device = "null";
      options.fuse = "all";
      engine::Session session(program, options);
      session.begin(batch, 64);
      for (const std::int64_t tokens : {5, 1, 1}) {
        const ops::Tensor hidden = session.run(HostTensor(DType::i64, {batch, tokens}));
        session.best(session.last_logits(hidden));
        session.all_logits(hidden);
      }
    }
}

int run(const std::filesystem::path& folder, const std::filesystem::path& model, std::vector<std::string> levels) {
  Shipment shipment(folder, std::move(levels));
  const Program program([&](ops::Registry& registry) {
    registry.set_code_generator("null", std::make_shared<ShippingGenerator>(shipment));
  });
  std::vector<ops::OpCase> cases;
  for (const ops::EmbeddedCaseFile& file : ops::embedded_case_files()) {
    const std::string name(file.folder);
    const bool names_op = program.operators.find(ops::OpName(file.folder)) != nullptr;
    for (ops::OpCase& one :
         ops::parse_cases(program.operators, file.text, "src/ops/" + name + "/cases.json", names_op ? name : ""))
      cases.push_back(std::move(one));
  }
  for (const auto& [op, kernel] : program.operators.tile_kernels())
    for (const ops::Specialisation& one :
         ops::shipped_specialisations(program.operators.get(ops::OpName(std::string_view(op))), *kernel, cases))
      try {
        shipment.add(kernel->build(one));
      } catch (const Error& error) {
        ++shipment.failures;
        fmt::print(stderr, "ship_kernels: {}: {}\n", kernel->name, error.what());
      }
  run_model(program, model);
  shipment.remove_others();
  fmt::print("{} kernels in {}\n", shipment.size(), folder.string());
  return shipment.failures ? 1 : 0;
}

}  // namespace
}  // namespace tilewright

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: ship_kernels FOLDER MODEL LEVEL...\n");
    return 2;
  }
  try {
    return tilewright::run(argv[1], argv[2], {argv + 3, argv + argc});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "ship_kernels: %s\n", error.what());
    return 1;
  }
}
