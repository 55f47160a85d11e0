// Kernels against torch, eager and compiled, in a child that answers requests: both are timed a call, from its
// submission until its result is there. The rival is torch's quickest dtype and mode.
#include <fmt/format.h>

#include <cmath>
#include <sstream>

#include "base/error.h"
#include "fused/row_groups.h"
#include "support/child.h"

namespace tilewright::bench {
namespace {

struct Op {
  const char *name, *op;  // torch's driver's name and ours
  // Least ratio at 1 and 16 rows, at 128 and 512 rows (in the cache); beyond it: never slower.
  std::optional<double> few, many;
  std::int64_t beyond_rows;
};
const Op kOps[] = {{"rms_norm", "rms_norm", 4.0, 2.0, 16384},
                   {"qk_norm_rope", "qk_norm_rope", 4.0, 2.0, 8192},
                   {"silu_mul", "silu_mul", 2.5, 2.0, 4096},
                   {"softmax", "scaled_masked_softmax", {}, {}, 2048},
                   {"attention", "attention", {}, {}, 2048}};
constexpr std::int64_t kRows[] = {1, 16, 128, 512};
constexpr std::int64_t kHeads = 16, kKeyHeads = 8, kWidth = 128, kPositions = 512;

std::string row_name(const Op& op, std::int64_t rows) { return fmt::format("torch {} {} rows", op.name, rows); }

class Torch {
 public:
  Torch(const FusedOptions& options, int threads)
      : child_({options.python, options.torch_script, "--threads", std::to_string(threads)}) {
    const std::string first = child_.read_line();
    if (first.empty())
      fail({.what = options.python + " cannot run " + options.torch_script,
            .where = "",
            .expected = "",
            .found = "",
            .fix = ""});
    about = parse_json(first, options.torch_script).at("ready").get<std::string>();
  }
  double seconds(const std::string& request) {
    child_.write_line(request);
    const std::string line = child_.read_line();
    if (line.empty()) fail({.what = "torch has ended", .where = request, .expected = "", .found = "", .fix = ""});
    const Json answer = parse_json(line, request);
    if (answer.contains("error"))
      fail({.what = answer["error"].get<std::string>(), .where = request, .expected = "", .found = "", .fix = ""});
    return answer.at("seconds").get<double>();
  }
  std::string about;

 private:
  Child child_;
};

// What torch's driver makes for the same request; bf16.
std::pair<std::vector<Tensor>, ops::Attributes> inputs_of(FusedBench& bench, const std::string& op, std::int64_t rows) {
  runtime::Stream& stream = bench.stream();
  ops::Context context(bench.program.operators, stream);
  const auto random = [&](const Shape& shape) { return random_tensor(stream, DType::bf16, shape); };
  const auto position_and_mask = [&](std::int64_t columns) {
    const Tensor position =
        ops::call(context, "full", {},
                  {{"shape", Dims{1}}, {"value", static_cast<double>(columns - rows)}, {"dtype", DType::i32}});
    return std::pair(
        position,
        ops::call(context, "causal_mask", {position},
                  {{"rows", rows}, {"columns", columns}, {"window", std::int64_t{0}}, {"dtype", DType::bf16}}));
  };
  const double scale = 1 / std::sqrt(static_cast<double>(kWidth));
  if (op == "rms_norm") return {{random({1, rows, 2048}), random({2048})}, {{"eps", 1e-6}}};
  if (op == "silu_mul") return {{random({1, rows, 6144}), random({1, rows, 6144})}, {}};
  if (op == "qk_norm_rope")
    return {{random({1, rows, kHeads * kWidth}), random({1, rows, kKeyHeads * kWidth}), random({kWidth}),
             random({kWidth}), random({1, rows, kWidth}), random({1, rows, kWidth})},
            {{"eps", 1e-6}}};
  if (op == "softmax") {
    const std::int64_t columns = std::max(kPositions, rows);
    return {{random({1, kHeads, rows, columns}), position_and_mask(columns).second}, {{"scale", scale}}};
  }
  const std::int64_t columns = rows == 1 ? kPositions : rows;
  const auto [position, mask] = position_and_mask(columns);
  return {{random({1, kHeads, rows, kWidth}), random({1, kKeyHeads, columns, kWidth}),
           random({1, columns, kKeyHeads, kWidth}).transpose(1, 2), mask, position},
          {{"scale", scale}}};
}

void add_row(FusedBench& bench, Torch& torch, const Op& op, std::int64_t rows, std::optional<double> bar) {
  LimitsRun& run = bench.run;
  const std::string what = row_name(op, rows);
  if (!run.wants(what)) return;
  auto [inputs, attributes] = inputs_of(bench, op.name, rows);
  OpWork work(bench.program.operators, bench.stream(), op.op, {std::move(inputs)}, attributes);
  const ops::Candidate* kernel = work.kernels().empty() ? nullptr : work.kernels()[0];
  if (!kernel) return run.not_run(what, work.why_none());
  std::vector<Arm> arms = {{kernel->name, [&] {
                              run.settle();  // torch's threads spin for a while, too
                              return work.waited_seconds(kernel);
                            }}};
  std::istringstream modes(bench.options.torch_modes);
  for (std::string mode; std::getline(modes, mode, ',');)
    for (const char* dtype : {"bf16", "f32"}) {
      const std::string request = fmt::format("{} {} {} {}", op.name, rows, dtype, mode);
      try {
        torch.seconds(request);
      } catch (const Error& error) {
        fmt::print("torch {}: {}\n", request, error.text().what);
        continue;
      }
      arms.push_back({fmt::format("torch {} {}", mode, dtype), [&torch, &run, request] {
                        run.settle();
                        return torch.seconds(request);
                      }});
    }
  if (arms.size() == 1) return run.not_run(what, "torch runs none of " + bench.options.torch_modes);
  run.compare({.what = what, .unit = "us", .unit_size = 1e-6, .bar = bar.value_or(1.0), .claimed_only = !bar}, arms);
}

}  // namespace

void add_torch_rows(FusedBench& bench) {
  LimitsRun& run = bench.run;
  std::vector<std::string> names;
  for (const Op& op : kOps) {
    for (const std::int64_t rows : kRows) names.push_back(row_name(op, rows));
    names.push_back(row_name(op, op.beyond_rows));
  }
  if (!run.wants_any(names)) return;
  if (bench.options.python.empty())
    return run.not_run("torch", "give --python with a python that has the PyPI package torch (a CPU build)");
  std::unique_ptr<Torch> torch;
  try {
    torch = std::make_unique<Torch>(bench.options, run.options().threads);
  } catch (const Error& error) {
    return run.not_run("torch", error.text().what);
  }
  fmt::print("{}, {} threads\n", torch->about, run.options().threads);
  for (const Op& op : kOps) {
    for (const std::int64_t rows : kRows) add_row(bench, *torch, op, rows, rows <= 16 ? op.few : op.many);
    add_row(bench, *torch, op, op.beyond_rows, {});
  }
}

}  // namespace tilewright::bench
