#include "tile/cost/buffers.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/error.h"
#include "tile/ir/printer.h"
#include "tile/ir/substitute.h"
#include "tile/ir/type_rule.h"
#include "tile/verify/verify.h"

namespace tilewright::tile {
namespace {

std::int64_t round_up(std::int64_t value, std::int64_t to) { return (value + to - 1) / to * to; }

std::int64_t bytes_of(const TileTarget& target, DType dtype, std::int64_t rows, std::int64_t columns) {
  const auto element = static_cast<std::int64_t>(dtype_size(dtype));
  if (columns == 1) return round_up(rows * element, target.row_bytes);
  return rows * round_up(columns * element, target.row_bytes);
}

class Lives {
 public:
  Lives(const Program& program, const TileTarget& target)
      : program_(program),
        target_(target),
        numbers_(printed_numbers(program)),
        owner_(program.nodes.size(), kNone),
        last_(program.nodes.size(), 0) {
    block(0, 0);
  }

  BufferTable table() {
    BufferTable out;
    std::vector<std::int64_t> change(program_.nodes.size() + 2, 0);
    for (std::size_t id = 0; id < program_.nodes.size(); ++id) {
      const Node& node = program_.nodes[id];
      if (owner_[id] != static_cast<ValueId>(id) || (target_.only_stored && !node.plan.stored)) continue;
      const std::int64_t rows = size(node.type.rows), columns = size(node.type.columns);
      const auto element = static_cast<std::int64_t>(dtype_size(node.type.dtype));
      const bool column = columns == 1;
      const std::int64_t bytes =
          column ? round_up(rows * element, target_.row_bytes) : rows * round_up(columns * element, target_.row_bytes);
      const int first = numbers_[id], last = std::max(last_[id], first);
      out.buffers.push_back({static_cast<ValueId>(id), node.type.dtype, rows, columns, bytes, first, last});
      change[static_cast<std::size_t>(first)] += bytes;
      change[static_cast<std::size_t>(last) + 1] -= bytes;
    }
    std::sort(out.buffers.begin(), out.buffers.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::int64_t now = 0;
    int peak = kNone;
    for (std::size_t i = 0; i < program_.nodes.size(); ++i) {
      now += change[i];
      if (now > out.peak) {
        out.peak = now;
        peak = static_cast<int>(i);
      }
    }
    if (peak != kNone)
      out.peak_node = static_cast<ValueId>(std::find(numbers_.begin(), numbers_.end(), peak) - numbers_.begin());
    return out;
  }

 private:
  std::int64_t size(const Extent& extent) const {
    if (extent.fixed()) return extent.size;
    const TileParameter& tile = program_.tiles[static_cast<std::size_t>(extent.parameter)];
    return tile.chosen != 0 ? tile.chosen : tile.choices.empty() ? 1 : tile.choices[0];
  }
  // Uses inside a loop of a tile from outside keep it until the loop ends; `depth_` is where each value was defined.
  void use(ValueId value, int at) {
    if (value == kNone) return;
    const ValueId owner = owner_[static_cast<std::size_t>(value)];
    if (owner == kNone) return;
    const std::size_t depth = depth_[owner];
    const int until = depth < ends_.size() ? ends_[depth] : at;
    int& last = last_[static_cast<std::size_t>(owner)];
    last = std::max(last, std::max(at, until));
  }
  void define(ValueId id, std::size_t depth) {
    owner_[static_cast<std::size_t>(id)] = id;
    depth_[id] = depth;
  }
  int end_of(BlockId block) const {
    int end = 0;
    for (const ValueId argument : program_.block(block).arguments)
      end = std::max(end, numbers_[static_cast<std::size_t>(argument)]);
    for (const ValueId id : program_.block(block).nodes) {
      end = std::max(end, numbers_[static_cast<std::size_t>(id)]);
      if (program_.node(id).op == OpCode::loop) end = std::max(end, end_of(program_.node(id).body));
    }
    return end;
  }

  void block(BlockId id, std::size_t depth) {
    for (const ValueId value : program_.block(id).nodes) {
      const Node& node = program_.node(value);
      const int at = numbers_[static_cast<std::size_t>(value)];
      for (const ValueId operand : node.operands) use(operand, at);
      if (node.op == OpCode::loop) {
        loop(value, node, depth);
      } else if (node.type.index || node.op == OpCode::assemble || node.op == OpCode::top_k) {
        continue;
      } else if (node.op == OpCode::reshape || node.op == OpCode::restrict) {
        owner_[static_cast<std::size_t>(value)] = owner_[static_cast<std::size_t>(node.operands[0])];
      } else if (node.op == OpCode::result && program_.node(node.operands[0]).op == OpCode::loop) {
        const Block& body = program_.block(program_.node(node.operands[0]).body);
        owner_[static_cast<std::size_t>(value)] = body.arguments[static_cast<std::size_t>(1 + node.integer)];
      } else {
        define(value, depth);
      }
    }
  }
  void loop(ValueId, const Node& node, std::size_t depth) {
    const Block& body = program_.block(node.body);
    const int end = end_of(node.body);
    for (std::size_t i = 1; i < body.arguments.size(); ++i) {
      define(body.arguments[i], depth);  // belongs to the block around, for its result is used there
      last_[static_cast<std::size_t>(body.arguments[i])] = end;
    }
    ends_.push_back(end);
    block(node.body, depth + 1);
    for (const ValueId value : body.yields) use(value, end);
    ends_.pop_back();
  }

  const Program& program_;
  const TileTarget& target_;
  const std::vector<int> numbers_;
  std::vector<ValueId> owner_;  // whose buffer a value lives in
  std::vector<int> last_;
  std::map<ValueId, std::size_t> depth_;
  std::vector<int> ends_;  // of the open loops, by depth
};

// Halves one extent of the largest tile at the peak, wherever it occurs, until the peak fits.
std::string smaller_extent(const Program& program, const TileTarget& target) {
  const BufferTable table = buffer_table(program, target);
  const int peak = printed_numbers(program)[static_cast<std::size_t>(table.peak_node)];
  std::vector<Buffer> alive;
  for (const Buffer& buffer : table.buffers)
    if (buffer.first <= peak && peak <= buffer.last) alive.push_back(buffer);
  const Buffer& largest =
      *std::max_element(alive.begin(), alive.end(), [](const Buffer& a, const Buffer& b) { return a.bytes < b.bytes; });
  const std::int64_t extent = std::max(largest.rows, largest.columns);
  for (std::int64_t smaller = extent / 2; smaller >= 1; smaller /= 2) {
    std::int64_t bytes = 0;
    for (const Buffer& buffer : alive)
      bytes += bytes_of(target, buffer.dtype, buffer.rows == extent ? smaller : buffer.rows,
                        buffer.columns == extent ? smaller : buffer.columns);
    if (bytes <= target.buffer_bytes)
      return fmt::format("use tiles of {} in place of {} (as {} has), and a loop over them", smaller, extent,
                         describe(program, largest.value));
  }
  return "use fewer tiles at once: split the loop, or write what is ready earlier";
}

// The largest choices of the tile parameters that fit, or how much smaller fixed tiles must be.
std::string proposal(const Program& program, const TileTarget& target, const Program* unchosen) {
  std::vector<std::int64_t> sizes;
  for (const TileParameter& tile : program.tiles) sizes.push_back(tile.chosen != 0 ? tile.chosen : tile.choices.back());
  for (int i = 0; i < 256 && unchosen && !sizes.empty(); ++i) {
    if (buffer_table(with_tiles(*unchosen, sizes), target).peak <= target.buffer_bytes) {
      std::string text = "choose";
      for (std::size_t t = 0; t < sizes.size(); ++t)
        text += fmt::format("{} {} = {}", t ? "," : "", program.tiles[t].name, sizes[t]);
      return text;
    }
    std::size_t largest = sizes.size();
    for (std::size_t t = 0; t < sizes.size(); ++t)
      if (sizes[t] > program.tiles[t].choices[0] && (largest == sizes.size() || sizes[t] > sizes[largest])) largest = t;
    if (largest == sizes.size()) break;
    std::int64_t next = program.tiles[largest].choices[0];
    for (const std::int64_t choice : program.tiles[largest].choices)
      if (choice < sizes[largest]) next = choice;
    sizes[largest] = next;
  }
  return smaller_extent(program, target);
}

}  // namespace

BufferTable buffer_table(const Program& program, const TileTarget& target) { return Lives(program, target).table(); }

std::string buffer_text(const Program& program, const BufferTable& table, const TileTarget& target) {
  std::string out = fmt::format("{:<22} {:<20} {:>10}  {}\n", "tile", "type", "bytes", "lives");
  const std::vector<int> numbers = printed_numbers(program);
  const int peak = table.peak_node == kNone ? kNone : numbers[static_cast<std::size_t>(table.peak_node)];
  for (const Buffer& buffer : table.buffers)
    out += fmt::format("{:<22} {:<20} {:>10}  %{} … %{}{}\n", describe(program, buffer.value),
                       fmt::format("{}[{}, {}]", dtype_name(buffer.dtype), buffer.rows, buffer.columns), buffer.bytes,
                       buffer.first, buffer.last, buffer.first <= peak && peak <= buffer.last ? "  *" : "");
  out += fmt::format("peak {} of {} bytes of {}{}\n", table.peak, target.buffer_bytes, target.buffer,
                     peak == kNone ? "" : fmt::format(", at {} (*)", describe(program, table.peak_node)));
  return out;
}

void check_budget(const Program& program, const TileTarget& target, const Program* unchosen) {
  const BufferTable table = buffer_table(program, target);
  if (table.peak <= target.buffer_bytes) return;
  fail({.what = fmt::format("tiles do not fit into the {} of {}\n{}", target.buffer, target.name,
                            buffer_text(program, table, target)),
        .where = fmt::format("tile program {}, {}", program.name, describe(program, table.peak_node)),
        .expected = fmt::format("at most {} bytes", target.buffer_bytes),
        .found = std::to_string(table.peak),
        .fix = proposal(program, target, unchosen)});
}

}  // namespace tilewright::tile
