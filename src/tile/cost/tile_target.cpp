#include "tile/cost/tile_target.h"

#include "target/description.h"
#include "target/limits.h"

namespace tilewright::tile {
namespace {

TileTarget host(std::string_view level) {
  TileTarget out{.name = "host", .buffer = "L2 cache", .buffer_bytes = 512 << 10, .row_bytes = 64, .only_stored = true};
  out.lanes = level == "neon" ? 4 : level.starts_with("avx512") ? 16 : 8;
  // A common server processor, two threads; only ratios matter to a choice of tiles.
  out.cores = 2;
  out.bandwidth = 20e9;
  out.vector_flops = static_cast<double>(out.lanes) * 2 * 2 * 3e9;
  if (const auto limits = target::load_stored_limits(2)) {
    if (limits->copy_bytes > 0) out.bandwidth = limits->copy_bytes;
    if (limits->f32_flops > 0) out.vector_flops = limits->f32_flops;
  }
  out.cache_bytes = static_cast<double>(out.buffer_bytes);
  out.cache_bandwidth = 4 * out.bandwidth;
  out.matrix_flops = out.vector_flops;
  out.special_flops = out.vector_flops / 30;  // a polynomial and its range reduction
  out.launch_seconds = 1e-6;
  out.node_seconds = 2e-9;
  return out;
}

}  // namespace

TileTarget tile_target(std::string_view name, std::string_view level) {
  if (name == "host") return host(level);
  const target::Description from = target::description(name);
  TileTarget out{.name = from.name, .buffer = "unified buffer", .row_bytes = 32};
  out.buffer_bytes = static_cast<std::int64_t>(from.unified_buffer_bytes.value);
  out.cores = from.vector_cores.value;
  out.bandwidth = from.memory_bandwidth.value;
  out.cache_bytes = from.l2_bytes.value;
  out.cache_bandwidth = from.l2_bandwidth.value;
  out.vector_flops = from.vector_f32_per_cycle.value * from.vector_cores.value * from.clock_hz.value;
  out.matrix_flops = from.matrix_f16_flops.value;
  out.special_flops = from.vector_special_per_cycle.value * from.vector_cores.value * from.clock_hz.value;
  out.lanes = static_cast<std::int64_t>(from.vector_f32_per_cycle.value);
  out.launch_seconds = from.launch_host_seconds.value;
  out.node_seconds = 20 / from.clock_hz.value;  // issue of a vector instruction and the wait for the one before
  return out;
}

}  // namespace tilewright::tile
