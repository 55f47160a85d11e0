#include "tile/passes/split_tails.h"

#include <algorithm>
#include <map>
#include <optional>

#include "base/error.h"
#include "tile/ir/printer.h"
#include "tile/verify/index_form.h"
#include "tile/verify/verify.h"

namespace tilewright::tile {
namespace {

bool has_valid_extents(OpCode op) {
  return op == OpCode::view || op == OpCode::gather || op == OpCode::assemble || op == OpCode::restrict;
}

// Innermost sequential loops of a fixed step above 1, small, that do not ask for their first or last iteration.
bool may_split(const Program& program, const Node& loop, const SplitOptions& options) {
  const Node& step = program.node(loop.operands[kLoopStep]);
  const Block& body = program.block(loop.body);
  if (loop.parallel || step.op != OpCode::index_constant || step.integer2 != 0 || step.integer < 2 ||
      step.integer > options.most_step || body.nodes.size() > options.most_nodes)
    return false;
  return std::all_of(body.nodes.begin(), body.nodes.end(), [&](ValueId id) {
    const Node& node = program.node(id);
    const bool edge = node.op == OpCode::is_first || node.op == OpCode::is_last;
    return node.op != OpCode::loop && !(edge && node.operands[0] == body.arguments[0]);
  });
}

class Split {
 public:
  explicit Split(const Program& program) : out_(program) {}

  // The program with the loop split, where that makes some tile whole.
  std::optional<Program> at(BlockId around, std::size_t position) {
    const ValueId main = out_.block(around).nodes[position];
    const Node loop = out_.node(main);
    std::vector<ValueId> before;
    const auto index = [&](OpCode op, std::vector<ValueId> operands, std::int64_t integer = 0) {
      const ValueId id =
          append({.op = op, .type = {.index = true}, .operands = std::move(operands), .integer = integer});
      before.push_back(id);
      return id;
    };
    const ValueId start = loop.operands[kLoopStart], stop = loop.operands[kLoopStop], step = loop.operands[kLoopStep];
    // start + ⌊max(stop - start, 0) / step⌋ · step
    const ValueId zero = index(OpCode::index_constant, {});
    const ValueId length = index(OpCode::index_max, {index(OpCode::index_sub, {stop, start}), zero});
    const ValueId whole = index(OpCode::index_mul, {index(OpCode::index_div, {length, step}), step});
    const ValueId middle = index(OpCode::index_add, {start, whole});

    const std::size_t carried = loop.operands.size() - kLoopInitial;
    std::vector<ValueId> after;
    Node rest = loop;
    rest.operands[kLoopStart] = middle;
    for (std::size_t i = 0; i < carried; ++i) {
      const ValueId initial = loop.operands[kLoopInitial + i];
      after.push_back(append({.op = OpCode::result,
                              .type = out_.node(initial).type,
                              .operands = {main},
                              .integer = static_cast<std::int64_t>(i)}));
      rest.operands[kLoopInitial + i] = after.back();
    }
    rest.body = clone(loop.body);
    const ValueId tail = append(std::move(rest));
    after.push_back(tail);
    out_.node(main).operands[kLoopStop] = middle;
    for (Node& node : out_.nodes)
      if (node.op == OpCode::result && node.operands[0] == main &&
          !std::count(after.begin(), after.end(), &node - out_.nodes.data()))
        node.operands[0] = tail;

    std::vector<ValueId>& nodes = out_.block(around).nodes;
    nodes.insert(nodes.begin() + static_cast<std::ptrdiff_t>(position) + 1, after.begin(), after.end());
    nodes.insert(nodes.begin() + static_cast<std::ptrdiff_t>(position), before.begin(), before.end());
    if (!drop_whole_extents(loop.body)) return std::nullopt;
    try {
      verify(out_);  // an access that had a valid extent may now lack the proof that it stays inside
    } catch (const Error&) {
      return std::nullopt;
    }
    return std::move(out_);
  }

 private:
  ValueId append(Node node) {
    out_.nodes.push_back(std::move(node));
    return static_cast<ValueId>(out_.nodes.size()) - 1;
  }

  BlockId clone(BlockId from) {
    std::map<ValueId, ValueId> copies;
    const Block original = out_.block(from);
    Block copy = original;
    const auto mapped = [&](std::vector<ValueId>& values) {
      for (ValueId& value : values)
        if (const auto found = copies.find(value); found != copies.end()) value = found->second;
    };
    for (std::vector<ValueId>* list : {&copy.arguments, &copy.nodes})
      for (ValueId& value : *list) {
        Node node = out_.node(value);
        mapped(node.operands);
        const ValueId id = append(std::move(node));
        copies[value] = id;
        value = id;
      }
    mapped(copy.yields);
    out_.blocks.push_back(std::move(copy));
    return static_cast<BlockId>(out_.blocks.size()) - 1;
  }

  // Whether any valid extent in the block turned out to be the whole tile.
  bool drop_whole_extents(BlockId block) {
    IndexForms forms(out_);
    bool any = false;
    for (const ValueId id : out_.block(block).nodes) {
      Node& node = out_.node(id);
      if (!has_valid_extents(node.op)) continue;
      const Type& type = node.type;
      for (const std::size_t axis : {0u, 1u}) {
        ValueId& valid = node.operands[node.operands.size() - 2 + axis];
        if (valid == kNone || !forms.at_most(forms.of_extent(axis == 0 ? type.rows : type.columns), forms.of(valid)))
          continue;
        valid = kNone;
        any = true;
      }
    }
    return any;
  }

  Program out_;
};

}  // namespace

Program split_tails(Program program, const SplitOptions& options) {
  // Blocks that are made on the way are main loops and tails: they are not split again.
  const std::size_t blocks = program.blocks.size();
  std::vector<bool> tried(program.nodes.size(), false);
  for (std::size_t block = 0; block < blocks; ++block)
    for (std::size_t i = 0; i < program.blocks[block].nodes.size(); ++i) {
      const ValueId id = program.blocks[block].nodes[i];
      if (static_cast<std::size_t>(id) >= tried.size() || tried[static_cast<std::size_t>(id)]) continue;
      tried[static_cast<std::size_t>(id)] = true;
      const Node& node = program.node(id);
      if (node.op != OpCode::loop || !may_split(program, node, options)) continue;
      if (std::optional<Program> split = Split(program).at(static_cast<BlockId>(block), i)) program = std::move(*split);
    }
  return renumbered(program);
}

}  // namespace tilewright::tile
