// Small operators from cache: seconds a call of each op, shape and dtype, back to back on the host device, and host
// time of submitting one. `--serve` answers requests of bench/peers/small_torch.py, which measures torch beside.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <sstream>
#include <thread>

#include "base/error.h"
#include "measure/statistics.h"
#include "ops/core/context.h"
#include "runtime/device.h"
#include "tensor/host_tensor.h"

namespace tilewright {

void register_operators(ops::Registry& registry);
void register_backends(runtime::DeviceRegistry& devices, ops::Registry& registry);

namespace {

using Clock = std::chrono::steady_clock;
using ops::Tensor;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

struct Machine {
  explicit Machine(int threads) {
    register_operators(registry);
    register_backends(devices, registry);
    registry.finish();
    device = devices.open("host", {.threads = threads});
    stream = device->create_stream();
  }
  Tensor tensor(DType dtype, const Shape& shape, const char* kind = "uniform") {
    HostTensor values(dtype, shape);
    fill(values, kind, 1);
    return to_device(*stream, values);
  }
  ops::Registry registry;
  runtime::DeviceRegistry devices;
  std::shared_ptr<runtime::Device> device;
  std::unique_ptr<runtime::Stream> stream;
};

// What can be asked for: an op over [rows, columns].
class Work {
 public:
  Work(Machine& machine, const std::string& name, std::int64_t rows, std::int64_t columns, DType dtype)
      : machine_(machine), context_(machine.registry, *machine.stream, {}), dtype_(dtype) {
    const Tensor x = machine.tensor(dtype, {rows, columns});
    const std::int64_t last = -1;
    if (name == "mean" || name == "sum" || name == "amax" || name == "softmax" || name == "argmax") {
      set(name, {x}, {{"dim", last}});
    } else if (name == "to_bf16") {
      set("to", {x}, {{"dtype", DType::bf16}});
    } else if (name == "to_f32") {
      set("to", {machine.tensor(DType::bf16, {rows, columns})}, {{"dtype", DType::f32}});
    } else if (name == "mul_row") {
      set("mul", {x, machine.tensor(dtype, {columns})}, {});
    } else if (name == "mul_column") {
      set("mul", {x, machine.tensor(dtype, {rows, 1})}, {});
    } else if (name == "mul_scalar") {
      set("mul", {x}, {{"other", 0.5}});
    } else if (name == "copy_heads") {  // [1, S, H, D] seen as [1, H, S, D]
      set("copy", {x.view({1, rows, columns / 64, 64}).transpose(1, 2)}, {});
    } else if (name == "mul_heads") {  // the same times a table of [1, 1, S, D]
      set("mul", {x.view({1, rows, columns / 64, 64}).transpose(1, 2), machine.tensor(dtype, {1, 1, rows, 64})}, {});
    } else if (name == "neg_half") {
      set("neg", {x.view({rows, columns / 64, 64}).slice(-1, 32, 64)}, {});
    } else if (name == "cat_halves") {
      const Tensor heads = x.view({rows, columns / 64, 64});
      set("cat", {heads.slice(-1, 32, 64), heads.slice(-1, 0, 32)}, {{"dim", last}});
    } else if (name == "copy_transposed") {
      set("copy", {x.transpose(0, 1)}, {});
    } else if (name == "pow2") {
      set("pow", {x}, {{"exponent", 2.0}});
    } else if (name == "rsqrt" || name == "log" || name == "sqrt") {
      HostTensor values(dtype, {rows, columns});
      fill(values, "uniform", 1);
      for (std::int64_t i = 0; i < values.elements(); ++i) values.set(i, std::abs(values.at(i)) + 0.1);
      set(name, {to_device(*machine.stream, values)}, {});
    } else {
      const ops::Op& op = machine.registry.get(ops::OpName(std::string_view(name)));
      set(name,
          op.schema.inputs.size() == 2 ? std::vector<Tensor>{x, machine.tensor(dtype, {rows, columns})}
                                       : std::vector<Tensor>{x},
          {});
    }
    run(3);
    const double once = run(3) / 3;
    repeats_ = std::max(3, static_cast<int>(0.002 / std::max(once, 1e-7)));
  }
  // Seconds a call, in one batch of some 2 ms.
  double sample() { return run(repeats_) / repeats_; }
  double host_seconds() {  // of a call, without waiting for the work
    constexpr int kCalls = 200;
    machine_.stream->synchronize();
    const auto start = Clock::now();
    for (int i = 0; i < kCalls; ++i) call_all(context_, ops::OpName(std::string_view(op_)), inputs_, attributes_);
    const double out = seconds_since(start) / kCalls;
    machine_.stream->synchronize();
    return out;
  }

 private:
  void set(std::string_view op, std::vector<Tensor> inputs, const ops::Attributes& attributes) {
    op_ = op;
    inputs_ = std::move(inputs);
    attributes_ = attributes;
  }
  double run(int times) {
    machine_.stream->synchronize();
    const auto start = Clock::now();
    const ops::OpName name{std::string_view(op_)};
    for (int i = 0; i < times; ++i) call_all(context_, name, inputs_, attributes_);
    machine_.stream->synchronize();
    return seconds_since(start);
  }
  Machine& machine_;
  ops::Context context_;
  DType dtype_;
  std::string op_;
  std::vector<Tensor> inputs_;
  ops::Attributes attributes_;
  int repeats_ = 3;
};

// One request a line: "op rows columns dtype"; one answer: seconds of a call.
void serve(Machine& machine) {
  std::string line, current;
  std::unique_ptr<Work> work;
  while (std::getline(std::cin, line)) {
    std::istringstream words(line);
    std::string name, dtype;
    std::int64_t rows = 0, columns = 0;
    words >> name >> rows >> columns >> dtype;
    std::this_thread::sleep_for(std::chrono::milliseconds(3));  // the peer's threads stop spinning
    if (line != current) {
      work = std::make_unique<Work>(machine, name, rows, columns, dtype_from_name(dtype));
      current = line;
    }
    work->sample();
    fmt::print("{:.9f}\n", work->sample());
    std::fflush(stdout);
  }
}

constexpr const char* kWorks[] = {"add",
                                  "mul",
                                  "mul_scalar",
                                  "mul_row",
                                  "mul_column",
                                  "mul_heads",
                                  "neg",
                                  "neg_half",
                                  "pow2",
                                  "rsqrt",
                                  "silu",
                                  "sigmoid",
                                  "gelu",
                                  "exp",
                                  "log",
                                  "tanh",
                                  "erf",
                                  "sin",
                                  "cos",
                                  "to_bf16",
                                  "to_f32",
                                  "copy_heads",
                                  "copy_transposed",
                                  "cat_halves",
                                  "mean",
                                  "amax",
                                  "softmax",
                                  "argmax"};

void print_table(Machine& machine, const std::string& only, int rounds) {
  fmt::print("{:<16} {:>12} {:>5} {:>10} {:>10} {:>10}\n", "op", "shape", "dtype", "µs", "GB/s", "host µs");
  for (const char* name : kWorks)
    for (const auto& [rows, columns] : {std::pair<std::int64_t, std::int64_t>{512, 2048}, {128, 1024}, {1, 1024}})
      for (const DType dtype : {DType::f32, DType::bf16}) {
        const std::string_view op(name);
        if (op.find(only) == std::string::npos || (dtype != DType::f32 && op.substr(0, 3) == "to_")) continue;
        Work work(machine, name, rows, columns, dtype);
        std::vector<double> samples, host;
        for (int i = 0; i < rounds; ++i) {
          samples.push_back(work.sample());
          host.push_back(work.host_seconds());
        }
        const double bytes = static_cast<double>(rows * columns * 2) * static_cast<double>(dtype_size(dtype));
        fmt::print("{:<16} {:>12} {:>5} {:>10.2f} {:>10.1f} {:>10.2f}\n", name, fmt::format("{}×{}", rows, columns),
                   dtype_name(dtype), measure::median(samples) * 1e6, bytes / measure::median(samples) / 1e9,
                   measure::lowest(host) * 1e6);
      }
}

}  // namespace
}  // namespace tilewright

int main(int argc, char** argv) {
  using namespace tilewright;
  int threads = 2, rounds = 11;
  bool serving = false;
  std::string only;
  CLI::App app("Small operators from cache");
  app.add_option("--threads", threads, "threads")->capture_default_str();
  app.add_option("--rounds", rounds, "batches measured for each row")->capture_default_str();
  app.add_option("--only", only, "only rows whose name contains this");
  app.add_flag("--serve", serving, "answer requests of bench/peers/small_torch.py");
  CLI11_PARSE(app, argc, argv);
  try {
    Machine machine(threads);
    if (serving)
      serve(machine);
    else
      print_table(machine, only, rounds);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
