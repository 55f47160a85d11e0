// A device described by numbers, each with its source: what costs, budgets and simulated clocks are computed from.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tilewright::target {

struct Quantity {
  double value = 0;
  std::string source;  // where the number comes from; never empty
};

// Rates are per second for the whole device, per-core rates are named so; sizes are bytes.
struct Description {
  std::string name;   // "910b2"
  std::string title;  // "Ascend 910B2"
  Quantity matrix_cores, vector_cores, clock_hz;
  Quantity matrix_f16_flops;  // f16 and bf16 alike
  Quantity matrix_f32_flops;
  Quantity vector_f32_flops;                            // counting a multiply-add as two
  Quantity vector_f32_per_cycle, vector_f16_per_cycle;  // elements of add or multiply, per core
  Quantity vector_special_per_cycle;                    // exp, ln, sqrt
  Quantity memory_bytes, memory_bandwidth;
  Quantity l2_bytes, l2_bandwidth;
  Quantity unified_buffer_bytes, l1_bytes, l0a_bytes, l0b_bytes, l0c_bytes;  // per core
  Quantity load_bytes_per_second, store_bytes_per_second;                    // memory ↔ unified buffer, per core
  Quantity launch_host_seconds;                                              // host time of one launch
  Quantity graph_launch_seconds;                                             // host time of replaying a whole graph

  // max(flops / matrix rate, bytes / bandwidth).
  double matrix_f16_seconds(double flops, double bytes) const;
  double vector_f32_seconds(double flops, double bytes) const;
};

// Names of the descriptions that were built in, sorted.
std::vector<std::string> description_names();
// Throws Error listing the names if there is no such description.
Description description(std::string_view name);
// Reads one: {"title": …, "<field>": {"value": number, "source": text}, …}; every field is required, unknown ones are
// refused, values must be finite and above zero. Throws Error.
Description parse_description(std::string_view name, std::string_view json);

}  // namespace tilewright::target
