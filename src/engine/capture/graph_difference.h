// Where captures of one pass at two positions differ: what the host decided anew.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "runtime/capture/graph.h"

namespace tilewright::engine {

struct GraphDifference {
  std::string where;  // "layers.0.self_attn, bmm, launch 12"
  std::string what;   // "buffer 1 has 4096 bytes, then 8192"
};

// The first launch of another kernel, grid or buffer size, or one launch more or less.
std::optional<GraphDifference> grown_launch(const runtime::Graph& here, const runtime::Graph& there);

// The first launch that is passed other numbers by value there than here. Several captures of each position are
// compared, all of the same launches: bytes that differ among those of one position are unused ones.
std::optional<GraphDifference> baked_launch(std::span<const std::shared_ptr<runtime::Graph>> here,
                                            std::span<const std::shared_ptr<runtime::Graph>> there);

}  // namespace tilewright::engine
