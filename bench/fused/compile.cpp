// What a kernel costs before it runs: lowering and compiling it, or finding it in a cache.
#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "fused/row_groups.h"
#include "ops/core/case_file.h"
#include "ops/core/shipped.h"
#include "support/temporary_folder.h"
#include "tile/binary/compiler.h"
#include "tile/binary/kernel_store.h"

namespace tilewright::bench {
namespace {

// Every program that is compiled when the project is built, for models' shapes.
std::vector<tile::Program> shipped_programs(const ops::Registry& operators) {
  std::vector<ops::OpCase> cases;
  for (const ops::EmbeddedCaseFile& file : ops::embedded_case_files()) {
    const std::string folder(file.folder);
    const bool names_op = operators.find(ops::OpName(file.folder)) != nullptr;
    for (ops::OpCase& one : ops::parse_cases(operators, file.text, folder, names_op ? folder : ""))
      cases.push_back(std::move(one));
  }
  std::vector<tile::Program> out;
  for (const auto& [op, kernel] : operators.tile_kernels())
    for (const ops::Specialisation& one :
         ops::shipped_specialisations(operators.get(ops::OpName(std::string_view(op))), *kernel, cases))
      out.push_back(kernel->build(one));
  return out;
}

struct Timed {
  std::string name;
  double seconds;
};

std::vector<Timed> timed(const std::vector<tile::Program>& programs,
                         const std::function<void(const tile::Program&)>& work) {
  std::vector<Timed> out;
  for (const tile::Program& program : programs) {
    const double start = target::seconds_now();
    work(program);
    out.push_back({program.name, target::seconds_now() - start});
  }
  return out;
}

void add_rows(LimitsRun& run, const std::string& what, const std::vector<Timed>& times,
              std::optional<double> median_bar, double slowest_bar) {
  std::size_t next = 0;
  run.record({.what = what + ", median", .unit = "ms", .unit_size = 1e-3, .bar = median_bar, .at_most = true},
             static_cast<int>(times.size()), [&] { return times[next++ % times.size()].seconds; });
  const Timed& slowest = *std::max_element(times.begin(), times.end(),
                                           [](const Timed& a, const Timed& b) { return a.seconds < b.seconds; });
  run.record({.what = what + ", slowest (" + slowest.name + ")",
              .unit = "ms",
              .unit_size = 1e-3,
              .bar = slowest_bar,
              .at_most = true},
             1, [&] { return slowest.seconds; });
}

}  // namespace

void add_compile_rows(FusedBench& bench) {
  LimitsRun& run = bench.run;
  const std::string cold = "compile a kernel, nothing cached", load = "compile nothing: load from a cache";
  if (!run.wants_any({cold, load})) return;
  const std::vector<tile::Program> programs = shipped_programs(bench.program.operators);
  tile::LowerOptions options;
  options.level = isa_name(run.options().isa);
  if (programs.empty()) return run.not_run(cold, "no kernel yet");
  try {
    // The first one waits for the compiler itself to be loaded.
    add_rows(run, cold,
             timed(programs,
                   [&](const tile::Program& program) {
                     const TemporaryFolder empty;
                     tile::ship_kernel(program, options, empty.path());
                   }),
             60, 200);
  } catch (const Error& error) {
    run.not_run(cold, error.text().what);
  }
  try {
    for (const tile::Program& program : programs) tile::load_kernel(program, options);  // now they are in a cache
  } catch (const Error& error) {
    return run.not_run(load, error.text().what);
  }
  add_rows(run, load, timed(programs, [&](const tile::Program& program) { tile::load_kernel(program, options); }), {},
           2);
}

}  // namespace tilewright::bench
