// Levels: a node comes one phase after the last one that it must follow. What it must follow is read from the bytes
// that nodes read and write, and from events between streams.
#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <unordered_map>

#include "base/error.h"
#include "runtime/capture/graph.h"

namespace tilewright::runtime {
namespace {

constexpr std::uint64_t kAlignment = 64;
constexpr std::uint64_t kMostBytes = UINT64_MAX / 4;  // sums do not overflow

std::size_t index_of(int i) { return static_cast<std::size_t>(i); }

// Who read and wrote which bytes of a block: disjoint ranges that cover what was touched.
class Ranges {
 public:
  // The first phase in which a node may read (write) these bytes, after all nodes before it.
  int earliest(std::uint64_t begin, std::uint64_t end, bool write) const {
    int level = 0;
    for (auto it = first(begin); it != ranges_.end() && it->first < end; ++it) {
      level = std::max(level, it->second.written + 1);
      if (write) level = std::max(level, it->second.read + 1);
    }
    return level;
  }
  void touch(std::uint64_t begin, std::uint64_t end, int level, bool write) {
    split(begin);
    split(end);
    if (write) {
      // All that touched these bytes before lies in lower phases, so one range says everything.
      ranges_.erase(ranges_.lower_bound(begin), ranges_.lower_bound(end));
      ranges_[begin] = {.end = end, .written = level, .read = -1};
      return;
    }
    std::uint64_t covered = begin;
    for (auto it = ranges_.lower_bound(begin); covered < end;) {
      if (it == ranges_.end() || it->first >= end) {
        ranges_.emplace_hint(it, covered, Range{.end = end, .written = -1, .read = level});
        break;
      }
      if (it->first > covered) ranges_.emplace_hint(it, covered, Range{.end = it->first, .written = -1, .read = level});
      it->second.read = std::max(it->second.read, level);
      covered = it->second.end;
      ++it;
    }
  }

 private:
  struct Range {
    std::uint64_t end;
    int written, read;  // highest phase, -1: none; reads since the last write
  };
  std::map<std::uint64_t, Range>::const_iterator first(std::uint64_t begin) const {
    auto it = ranges_.upper_bound(begin);
    if (it != ranges_.begin() && std::prev(it)->second.end > begin) --it;
    return it;
  }
  void split(std::uint64_t point) {
    auto it = ranges_.lower_bound(point);
    if (it == ranges_.begin()) return;
    --it;
    if (it->second.end <= point) return;
    Range upper = it->second;
    it->second.end = point;
    ranges_.emplace(point, upper);
  }
  std::map<std::uint64_t, Range> ranges_;
};

// One access of a node: bytes of a block, or of pinned host memory (block null, its address as offset).
template <typename Visit>
void for_each_access(const GraphNode& node, const Visit& visit) {
  for (const BufferArg& buffer : node.launch.buffers()) {
    if (buffer.bytes == 0) continue;
    if (buffer.read) visit(buffer.memory, buffer.offset, buffer.offset + buffer.bytes, false);
    if (buffer.write) visit(buffer.memory, buffer.offset, buffer.offset + buffer.bytes, true);
  }
  if (const Memory* extents = node.launch.device_extents)
    visit(extents, std::uint64_t{0}, std::max<std::uint64_t>(extents->bytes(), 1), false);
  if (node.kind != GraphNode::Kind::launch) {
    const auto host = reinterpret_cast<std::uintptr_t>(node.host);
    visit(static_cast<const Memory*>(nullptr), std::uint64_t{host},
          std::uint64_t{host} + node.launch.buffers()[0].bytes, node.kind == GraphNode::Kind::copy_to_host);
  }
}

// The phase of each node.
std::vector<int> levels(const Graph& graph) {
  std::vector<int> level(graph.nodes.size());
  // What events demand: `floor` of a node holds for the later ones of its stream as well; `closed` is the highest phase
  // among the node and all that stream order and events put before it.
  std::vector<int> floor(graph.nodes.size()), closed(graph.nodes.size());
  std::unordered_map<const Memory*, Ranges> blocks;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const GraphNode& node = graph.nodes[n];
    for (const int before : node.after) {
      const bool same_stream = graph.nodes[index_of(before)].stream == node.stream;
      floor[n] = std::max(floor[n], same_stream ? floor[index_of(before)] : closed[index_of(before)] + 1);
    }
    level[n] = floor[n];
    for_each_access(node, [&](const Memory* memory, std::uint64_t begin, std::uint64_t end, bool write) {
      level[n] = std::max(level[n], blocks[memory].earliest(begin, end, write));
    });
    for_each_access(node, [&](const Memory* memory, std::uint64_t begin, std::uint64_t end, bool write) {
      blocks[memory].touch(begin, end, level[n], write);
    });
    closed[n] = level[n];
    for (const int before : node.after) closed[n] = std::max(closed[n], closed[index_of(before)]);
  }
  return level;
}

struct Block {
  int planned = 0;
  int first = 0, last = 0;  // phases between which the place is its own, both included
  std::uint64_t bytes = 0, offset = 0;
};

// Large blocks first, each into the smallest gap among those that live at the same time.
std::uint64_t place(std::vector<Block>& blocks) {
  std::sort(blocks.begin(), blocks.end(), [](const Block& a, const Block& b) {
    return a.bytes != b.bytes ? a.bytes > b.bytes : a.planned < b.planned;
  });
  std::vector<const Block*> placed;  // by offset
  placed.reserve(blocks.size());
  std::uint64_t arena = 0;
  for (Block& block : blocks) {
    std::uint64_t best = 0, best_size = UINT64_MAX, end = 0;
    for (const Block* other : placed) {
      if (other->last < block.first || block.last < other->first) continue;
      if (other->offset > end && other->offset - end >= block.bytes && other->offset - end < best_size) {
        best = end;
        best_size = other->offset - end;
      }
      end = std::max(end, other->offset + other->bytes);
    }
    block.offset = best_size == UINT64_MAX ? end : best;
    arena = std::max(arena, block.offset + block.bytes);
    placed.insert(std::upper_bound(placed.begin(), placed.end(), &block,
                                   [](const Block* a, const Block* b) { return a->offset < b->offset; }),
                  &block);
  }
  return arena;
}

}  // namespace

GraphPlan plan_graph(const Graph& graph) {
  GraphPlan plan;
  const std::vector<int> level = levels(graph);
  const int phases = level.empty() ? 0 : *std::max_element(level.begin(), level.end()) + 1;
  plan.phases.resize(index_of(phases));
  for (std::size_t n = 0; n < level.size(); ++n) plan.phases[index_of(level[n])].nodes.push_back(static_cast<int>(n));
  plan.barriers_removed = static_cast<long>(graph.nodes.size()) - static_cast<long>(plan.phases.size());

  std::unordered_map<const Memory*, std::size_t> index;
  std::vector<Block> blocks;
  for (std::size_t i = 0; i < graph.planned.size(); ++i) {
    const Graph::Planned& planned = graph.planned[i];
    if (planned.memory->bytes() > kMostBytes - std::min(kMostBytes, plan.planned_bytes))
      fail({.what = "a graph's temporaries do not fit into any memory",
            .where = node_place(graph, planned.first_use),
            .expected = "",
            .found = std::to_string(planned.memory->bytes()) + " bytes for one of them",
            .fix = "use a shorter prompt or a smaller batch"});
    const std::uint64_t bytes = (planned.memory->bytes() + kAlignment - 1) / kAlignment * kAlignment;
    if (bytes == 0 || (planned.first_use < 0 && planned.last_use >= 0)) continue;
    plan.planned_bytes += bytes;
    index[planned.memory.get()] = blocks.size();
    Block block{.planned = static_cast<int>(i), .first = phases, .last = -1, .bytes = bytes};
    // Somebody may read it between replays, or expect what an earlier one left there.
    if (planned.last_use < 0) block = {.planned = block.planned, .first = 0, .last = phases, .bytes = bytes};
    blocks.push_back(block);
  }
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const auto use = [&](const Memory* memory) {
      const auto it = index.find(memory);
      if (it == index.end()) return;
      Block& block = blocks[it->second];
      block.first = std::min(block.first, level[n]);
      block.last = std::max(block.last, level[n]);
    };
    for (const BufferArg& buffer : graph.nodes[n].launch.buffers()) use(buffer.memory);
    if (graph.nodes[n].launch.device_extents) use(graph.nodes[n].launch.device_extents);
  }
  plan.offsets.assign(graph.planned.size(), 0);
  plan.arena_bytes = place(blocks);
  for (const Block& block : blocks) plan.offsets[index_of(block.planned)] = block.offset;
  return plan;
}

}  // namespace tilewright::runtime
