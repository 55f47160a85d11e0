// silu_mul, gelu_mul and scaled_masked_softmax in f32: beyond the last cache beside the copy bandwidth, and from cache
// beside versions written by hand, which are launched on the same device as the kernels are.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "backends/host/host_kernel.h"
#include "base/error.h"
#include "fused/by_hand.h"
#include "fused/row_groups.h"

namespace tilewright::bench {
namespace {

using backends::host::HostCall;

const ByHand* by_hand(IsaLevel isa) {
#if defined(__x86_64__)
  if (isa == IsaLevel::avx512 || isa == IsaLevel::avx512_bf16) return &kByHandAvx512;
  if (isa == IsaLevel::avx2) return &kByHandAvx2;
#endif
  return nullptr;
}

enum class Kind { silu, gelu, softmax };
struct Spec {
  Kind kind;
  const char *what, *op;
  ops::Attributes attributes;
};
const double kScale = 1 / std::sqrt(128.0);
const Spec kSpecs[] = {{Kind::silu, "silu_mul f32", "silu_mul", {}},
                       {Kind::gelu, "gelu_mul f32 (tanh)", "gelu_mul", {{"approximate", "tanh"}}},
                       {Kind::softmax, "softmax f32", "scaled_masked_softmax", {{"scale", kScale}}}};

// A call's inputs with this many bytes in all, about; half of a softmax row's mask is hidden, as in a prompt.
std::vector<Tensor> inputs_of(runtime::Stream& stream, Kind kind, std::size_t bytes) {
  const auto elements = static_cast<std::int64_t>(bytes / sizeof(float));
  if (kind != Kind::softmax) {
    const Shape shape{1, std::max<std::int64_t>(1, elements / (3 * 6144)), 6144};
    return {random_tensor(stream, DType::f32, shape, 1), random_tensor(stream, DType::f32, shape, 2)};
  }
  const std::int64_t columns = elements >= 1 << 24 ? 2048 : 1024, heads = 16;
  const std::int64_t rows = std::max<std::int64_t>(1, elements / columns / (2 * heads + 1));
  HostTensor mask(DType::f32, {1, 1, rows, columns});
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j)
      mask.data<float>()[i * columns + j] = j * rows <= (i + 1) * columns ? 0.0f : -3.40282347e38f;
  return {random_tensor(stream, DType::f32, {1, heads, rows, columns}), runtime::to_device(stream, mask)};
}

struct HandParameters {
  const ByHand* table;
  Kind kind;
  long n;  // elements, or rows
  long mask_rows, columns;
};
void run_by_hand(const HostCall& call) {
  const auto& p = backends::host::parameters_of<HandParameters>(call);
  const auto* a = static_cast<const float*>(call.buffers[0]);
  const auto* b = static_cast<const float*>(call.buffers[1]);
  auto* out = static_cast<float*>(call.buffers[2]);
  const auto border = [&](std::uint32_t block) {
    const long at = p.n * static_cast<long>(block) / static_cast<long>(call.grid);
    return p.kind == Kind::softmax || block == call.grid ? at : at / 16 * 16;
  };
  const long begin = border(call.begin), end = border(call.end);
  if (p.kind == Kind::softmax)
    p.table->softmax(a, b, out, begin, end, p.mask_rows, p.columns, static_cast<float>(kScale));
  else
    (p.kind == Kind::silu ? p.table->silu_mul : p.table->gelu_tanh_mul)(a + begin, b + begin, out + begin, end - begin);
}
const runtime::Kernel kHandKernel = backends::host::host_kernel("by_hand", &run_by_hand);

// The hand-written version of a call as launches on the same stream. Blocks of 4,096 outputs and more, a few for each
// thread; one if there is only one.
class HandWork {
 public:
  HandWork(runtime::Stream& stream, const ByHand& table, Kind kind, const std::vector<Tensor>& inputs, int threads)
      : stream_(stream), inputs_(inputs) {
    const Tensor& x = inputs_[0];
    parameters_ = {&table, kind, kind == Kind::softmax ? x.elements() / x.dim(-1) : x.elements(),
                   kind == Kind::softmax ? inputs_[1].dim(2) : 0, x.dim(-1)};
    const std::int64_t most = std::min<std::int64_t>(parameters_.n, threads == 1 ? 1 : 4 * threads);
    grid_ = static_cast<std::uint32_t>(std::clamp<std::int64_t>(x.elements() / 4096, 1, most));
  }
  Tensor call() {
    Tensor out = runtime::empty(stream_, DType::f32, inputs_[0].shape());
    runtime::Launch launch;
    launch.kernel = &kHandKernel;
    launch.grid = grid_;
    launch.add_buffer(runtime::read_arg(inputs_[0]));
    launch.add_buffer(runtime::read_arg(inputs_[1]));
    launch.add_buffer(runtime::write_arg(out));
    launch.set_parameters(parameters_);
    stream_.submit(launch);
    return out;
  }
  double seconds() {
    if (calls_ == 0) calls_ = std::clamp(static_cast<int>(0.004 / run(20)), 3, 100000);
    return run(calls_);
  }

 private:
  double run(int calls) {
    stream_.synchronize();
    const double start = target::seconds_now();
    for (int i = 0; i < calls; ++i) call();
    stream_.synchronize();
    return (target::seconds_now() - start) / calls;
  }

  runtime::Stream& stream_;
  std::vector<Tensor> inputs_;
  HandParameters parameters_;
  std::uint32_t grid_ = 1;
  int calls_ = 0;
};

// A wrong opponent would prove nothing: values with tails of every length and extremes, against the operator's
// reference.
void check_by_hand(FusedBench& bench, const ByHand& table, const Spec& spec) {
  runtime::Stream& stream = bench.stream(1);
  for (const std::int64_t columns : {1, 7, 16, 33, 100, 513}) {
    const Shape shape = spec.kind == Kind::softmax ? Shape{1, 2, 3, columns} : Shape{1, 6, columns};
    HostTensor a(DType::f32, shape), b(DType::f32, spec.kind == Kind::softmax ? Shape{1, 1, 3, columns} : shape);
    fill(a, "normal", static_cast<std::uint64_t>(columns));
    fill(b, "normal", 99);
    for (std::int64_t i = 0; i < a.elements(); ++i) a.set(i, a.at(i) * (i % 5 == 0 ? 40 : 3));
    for (std::int64_t i = 0; spec.kind == Kind::softmax && i < b.elements(); ++i)
      b.set(i, i % 3 == 1 && i % columns > 0 ? -3.40282347e38 : 0);
    const std::vector<HostTensor> inputs = {a, b};
    const ops::Op& op = bench.program.operators.get(ops::OpName(std::string_view(spec.op)));
    const HostTensor expected = op.reference(inputs, spec.attributes)[0];
    HandWork work(stream, table, spec.kind, {runtime::to_device(stream, a), runtime::to_device(stream, b)}, 1);
    const Comparison judged = compare(runtime::to_host(stream, work.call()), expected, 2e-5, 1e-10);
    if (!judged.equal)
      fail({.what = fmt::format("the hand-written {} is wrong: {}", spec.what, judged.reason),
            .where = fmt::format("{} columns", columns),
            .expected = "",
            .found = "",
            .fix = "mend bench/fused/by_hand_body.h"});
  }
}

// Bytes read plus written per second by copying within the caches, `bytes` a member in all.
double cache_copy_bandwidth(target::SpinTeam& team, const ByHand& table, std::size_t bytes) {
  constexpr std::size_t kApart = 1088;  // source and destination must not look alike in the low bits of their addresses
  const std::size_t half = bytes / 2 / 4096 * 4096, rounds = std::max<std::size_t>(4, (std::size_t{32} << 20) / bytes);
  const std::size_t stride = 2 * half + 4096;
  target::PagedBuffer buffer(stride * static_cast<std::size_t>(team.size()), true);
  const target::SpinTeam::Timing timing(team);
  double best = 0;
  for (int attempt = 0; attempt < 4; ++attempt) {
    const double start = target::seconds_now();
    team.run([&](int member) {
      char* from = buffer.data() + stride * static_cast<std::size_t>(member);
      for (std::size_t i = 0; i < rounds; ++i)
        table.copy(reinterpret_cast<float*>(from + half + kApart), reinterpret_cast<float*>(from),
                   static_cast<long>(half / sizeof(float)));
    });
    const double rate = static_cast<double>(2 * half * rounds) * team.size() / (target::seconds_now() - start);
    if (attempt > 0) best = std::max(best, rate);  // the first one takes the pages
  }
  return best;
}

void add_beyond_cache(FusedBench& bench, const Spec& spec) {
  LimitsRun& run = bench.run;
  const std::string what = fmt::format("{} beyond the caches", spec.what);
  if (!run.wants(what)) return;
  OpWork work(bench.program.operators, bench.stream(), spec.op,
              {inputs_of(bench.stream(), spec.kind, target::beyond_caches(8))}, spec.attributes);
  if (work.kernels().empty()) return run.not_run(what, work.why_none());
  run.measure({.what = what, .unit = "GB/s", .unit_size = 1e9, .limit = LimitKind::copy, .bar = 0.85}, [&] {
    run.settle();
    return work.bytes() / work.queued_seconds(work.kernels()[0]);
  });
}

// Data that stays in a cache from call to call: half of each thread's second level, or a quarter of the last.
struct Level {
  const char* name;
  std::size_t bytes_per_thread;
};
std::vector<Level> levels(int threads) {
  const CpuInfo info = cpu_info();
  std::vector<Level> out;
  if (info.l2_bytes > 0) out.push_back({"L2", static_cast<std::size_t>(info.l2_bytes) / 2});
  if (info.l3_bytes > 0) out.push_back({"L3", static_cast<std::size_t>(info.l3_bytes / 4 / threads)});
  return out;
}

void add_from_cache(FusedBench& bench, const Spec& spec, const ByHand& table, const Level& level, int threads) {
  LimitsRun& run = bench.run;
  const std::string where = fmt::format("{}, {} thread{}", level.name, threads, threads == 1 ? "" : "s");
  const std::string kernel_row = fmt::format("{} from {}, by hand", spec.what, where);
  const std::string hand_row = fmt::format("by hand {} from {}", spec.what, where);
  if (!run.wants_any({kernel_row, hand_row})) return;
  runtime::Stream& stream = bench.stream(threads);
  const std::vector<Tensor> inputs =
      inputs_of(stream, spec.kind, level.bytes_per_thread * static_cast<std::size_t>(threads));
  OpWork work(bench.program.operators, stream, spec.op, {inputs}, spec.attributes);
  HandWork hand(stream, table, spec.kind, inputs, threads);
  target::SpinTeam team(threads);
  // Both inputs and the output; a softmax reads its mask again for every head.
  const double bytes = 3.0 * sizeof(float) * static_cast<double>(inputs[0].elements());
  run.measure_beside(
      {.what = hand_row, .unit = "GB/s", .unit_size = 1e9, .bar = 0.6},
      [&] { return cache_copy_bandwidth(team, table, level.bytes_per_thread); },
      [&] {
        run.settle();
        return bytes / hand.seconds();
      });
  if (work.kernels().empty()) return run.not_run(kernel_row, work.why_none());
  run.compare({.what = kernel_row, .unit = "us", .unit_size = 1e-6, .bar = 1.3, .at_most = true},
              {{work.kernels()[0]->name, [&] { return work.queued_seconds(work.kernels()[0]); }},
               {"by hand", [&] { return hand.seconds(); }}});
}

void add_cache_bandwidth(LimitsRun& run, const ByHand& table, const Level& level, int threads) {
  target::SpinTeam team(threads);
  const auto row = [&](const char* what, const std::function<double()>& value) {
    run.record({.what = fmt::format("cache bandwidth, {}, {}, {} thread{}", what, level.name, threads,
                                    threads == 1 ? "" : "s"),
                .unit = "GB/s",
                .unit_size = 1e9},
               run.options().rounds, value);
  };
  row("read", [&] { return target::cache_read_bandwidth(team, run.options().isa, level.bytes_per_thread); });
  row("copy", [&] { return cache_copy_bandwidth(team, table, level.bytes_per_thread); });
}

}  // namespace

void add_memory_bound_rows(FusedBench& bench) {
  for (const Spec& spec : kSpecs) add_beyond_cache(bench, spec);
  const ByHand* table = by_hand(bench.run.options().isa);
  if (!table) return bench.run.not_run("by hand", "written for AVX2 and AVX-512 only");
  std::vector<int> teams = {1};
  if (bench.run.options().threads > 1) teams.push_back(bench.run.options().threads);
  for (const int threads : teams)
    for (const Level& level : levels(threads)) add_cache_bandwidth(bench.run, *table, level, threads);
  for (const Spec& spec : kSpecs) {
    check_by_hand(bench, *table, spec);
    for (const int threads : teams)
      for (const Level& level : levels(threads)) add_from_cache(bench, spec, *table, level, threads);
  }
}

}  // namespace tilewright::bench
