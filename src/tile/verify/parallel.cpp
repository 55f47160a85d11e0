// check_loops and check_parallel.
//
// Two iterations of a parallel loop must not write one place. A value X (the loop's variable, or ⌊a/c⌋ and a mod c of
// it) *separates* the writes to a tensor along one dim if every offset there is k·X + base + rest, base the same in all
// iterations, 0 ≤ rest and rest + extent ≤ k·(least distance of two values of X): where X differs, the places differ.
// Having separated X, iterations with equal X remain, for which X is a constant. The loop is fine once the separated
// values determine its variable.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "tile/verify/checks.h"

namespace tilewright::tile {
namespace {

struct Write {
  ValueId id;
  std::vector<LinearForm> offsets;               // per dim
  std::vector<std::vector<LinearForm>> extents;  // per dim: upper bounds of what is written
};

class ParallelLoop {
 public:
  ParallelLoop(const Program& program, IndexForms& forms, ValueId loop)
      : program_(program), forms_(forms), loop_(loop), variable_(*forms.variable(loop)) {
    collect(program.node(loop).body);
  }

  void check() {
    const Atom& variable = forms_.atom(variable_);
    const auto length = scaled_sum(variable.parts[1], variable.parts[0], -1);
    if (length && forms_.at_most(*length, variable.parts[2])) return;  // one iteration
    std::set<int> tensors;
    for (const Write& write : writes_) tensors.insert(program_.node(write.id).tensor);
    for (const int tensor : tensors) {
      std::vector<const Write*> all;
      for (const Write& write : writes_)
        if (program_.node(write.id).tensor == tensor) all.push_back(&write);
      if (separated(all)) continue;
      // Apart from each other: each alone will do.
      for (std::size_t i = 0; i < all.size(); ++i) {
        if (!separated({all[i]})) conflict(*all[i]);
        for (std::size_t j = 0; j < i; ++j)
          if (!separated({all[j], all[i]}) && !apart(*all[j], *all[i])) conflict(*all[i], all[j]);
      }
    }
  }

 private:
  void collect(BlockId block) {
    for (const ValueId id : program_.block(block).nodes) {
      const Node& node = program_.node(id);
      if (node.op == OpCode::loop) {
        inner_.insert(id);
        collect(node.body);
      }
      if (node.op != OpCode::assemble) continue;
      Write write{id, {}, {}};
      const Type& type = program_.node(node.operands[0]).type;
      const std::size_t rank = program_.tensor(node.tensor).shape.size();
      for (std::size_t dim = 0; dim < rank; ++dim) {
        write.offsets.push_back(forms_.of(node.operands[1 + dim]));
        const bool row = static_cast<int>(dim) == node.row_dim, column = static_cast<int>(dim) == node.column_dim;
        std::vector<LinearForm> extents = {forms_.of_extent(row ? type.rows : column ? type.columns : Extent{})};
        if (row || column)
          if (const ValueId valid = valid_operand(node, row ? 0 : 1); valid != kNone)
            extents.push_back(forms_.of(valid));
        write.extents.push_back(std::move(extents));
      }
      writes_.push_back(std::move(write));
    }
  }

  bool varies(int atom) const {
    return std::any_of(forms_.atom(atom).loops.begin(), forms_.atom(atom).loops.end(),
                       [&](ValueId loop) { return loop == loop_ || inner_.contains(loop); });
  }
  // k · atom + what is the same in all iterations?
  bool is_multiple(const LinearForm& form, int atom) const {
    return form.coefficient(atom) != 0 && std::all_of(form.terms.begin(), form.terms.end(), [&](const auto& term) {
             return term.first == atom || !varies(term.first);
           });
  }

  // k·X + base of an offset, with variables of inner loops replaced by where these start.
  std::optional<LinearForm> slot(LinearForm offset, int x, const std::set<int>& constant) const {
    const auto belongs = [&](int atom) { return atom == x || constant.contains(atom) || !varies(atom); };
    for (int steps = 0; steps < 64; ++steps) {
      const auto term = std::find_if(offset.terms.rbegin(), offset.terms.rend(),
                                     [&](const auto& one) { return !belongs(one.first); });
      if (term == offset.terms.rend()) return offset.coefficient(x) > 0 ? std::optional(offset) : std::nullopt;
      const int atom = term->first;
      const std::int64_t k = term->second;
      std::erase_if(offset.terms, [&](const auto& one) { return one.first == atom; });
      const Atom& a = forms_.atom(atom);
      if (a.kind != Atom::Kind::variable || a.number == loop_) continue;  // part of the rest; must be at least 0
      const auto next = scaled_sum(offset, a.parts[0], k);
      if (!next) return std::nullopt;
      offset = *next;
    }
    return std::nullopt;
  }

  bool separates(const std::vector<const Write*>& writes, int x, const std::set<int>& constant) const {
    const LinearForm distance = x == variable_ ? forms_.atom(x).parts[2] : LinearForm{{}, 1};
    for (std::size_t dim = 0; dim < writes[0]->offsets.size(); ++dim) {
      for (const Write* first : writes) {
        const auto base = slot(first->offsets[dim], x, constant);
        if (!base) continue;
        const auto size = scaled_sum({}, distance, base->coefficient(x));
        const auto end = size ? scaled_sum(*base, *size, 1) : std::nullopt;
        const bool all =
            end && std::all_of(writes.begin(), writes.end(), [&](const Write* write) {
              const LinearForm& at = write->offsets[dim];
              if (!forms_.at_most(*base, at)) return false;
              return std::any_of(write->extents[dim].begin(), write->extents[dim].end(), [&](const LinearForm& extent) {
                const auto stop = scaled_sum(at, extent, 1);
                return stop && forms_.at_most(*stop, *end);
              });
            });
        if (all) return true;
      }
    }
    return false;
  }

  // Whether `constant` atoms fix the atom's value.
  bool determined(int atom, const std::set<int>& constant) const {
    if (constant.contains(atom)) return true;
    for (const int quotient : constant) {
      const Atom& q = forms_.atom(quotient);
      if (q.kind != Atom::Kind::div) continue;
      for (int rest = atom + 1; rest < forms_.atoms(); ++rest) {
        const Atom& r = forms_.atom(rest);
        if (r.kind == Atom::Kind::mod && r.parts == q.parts && is_multiple(r.parts[0], atom) &&
            determined(rest, constant))
          return true;
      }
    }
    return false;
  }

  bool separated(const std::vector<const Write*>& writes) const {
    std::vector<int> candidates = {variable_};
    for (int atom = 0; atom < forms_.atoms(); ++atom) {
      const Atom::Kind kind = forms_.atom(atom).kind;
      if ((kind == Atom::Kind::div || kind == Atom::Kind::mod) && varies(atom)) candidates.push_back(atom);
    }
    if (candidates.size() > 64) candidates.resize(64);
    std::set<int> constant;
    for (bool more = true; more && !determined(variable_, constant);) {
      more = false;
      for (const int x : candidates)
        if (!constant.contains(x) && separates(writes, x, constant)) {
          constant.insert(x);
          more = true;
        }
    }
    return determined(variable_, constant);
  }

  // Along some dim both stay, in all iterations, on different sides.
  bool apart(const Write& a, const Write& b) const {
    const auto fixed = [&](const LinearForm& form) {
      return std::none_of(form.terms.begin(), form.terms.end(), [&](const auto& term) { return varies(term.first); });
    };
    const auto before = [&](const Write& left, const Write& right, std::size_t dim) {
      const auto end = scaled_sum(left.offsets[dim], left.extents[dim][0], 1);
      return end && fixed(*end) && fixed(right.offsets[dim]) && forms_.at_most(*end, right.offsets[dim]);
    };
    for (std::size_t dim = 0; dim < a.offsets.size(); ++dim)
      if (before(a, b, dim) || before(b, a, dim)) return true;
    return false;
  }

  [[noreturn]] void conflict(const Write& write, const Write* other = nullptr) const {
    const std::string variable = program_.block(program_.node(loop_).body).variable;
    const TensorParameter& tensor = program_.tensor(program_.node(write.id).tensor);
    std::string found, extents;
    for (std::size_t dim = 0; dim < write.offsets.size(); ++dim) {
      found += (dim ? ", " : "") + forms_.text(write.offsets[dim]);
      extents += (dim ? ", " : "") + forms_.text(write.extents[dim][0]);
    }
    refuse(
        program_, write.id,
        fmt::format("iterations of the parallel loop over {} may write one place of {}", variable, tensor.name),
        fmt::format("an offset that grows with {} by at least the tile's extent along that dim in every step of {}",
                    variable, forms_.text(forms_.atom(variable_).parts[2])),
        fmt::format("offsets [{}] of a tile that extends over [{}]{}", found, extents,
                    other ? ", beside another assemble to the same tensor" : ""),
        fmt::format("offset one dim by {} times the extent, make the loop's step that extent, or make the loop over {} "
                    "sequential",
                    variable, variable));
  }

  const Program& program_;
  IndexForms& forms_;
  const ValueId loop_;
  const int variable_;
  std::set<ValueId> inner_;
  std::vector<Write> writes_;
};

// At most one of two loops runs: their lengths are r·s and r - r·s, where s is 0 or 1.
bool exclusive(const Program& program, const IndexForms& forms, ValueId a, ValueId b) {
  const auto length = [&](ValueId loop) {
    const Node& node = program.node(loop);
    return scaled_sum(forms.of(node.operands[kLoopStop]), forms.of(node.operands[kLoopStart]), -1);
  };
  const auto one = length(a), other = length(b);
  const auto both = one && other ? scaled_sum(*one, *other, 1) : std::nullopt;
  if (!both) return false;
  for (const LinearForm& part : {*one, *other}) {
    if (part.terms.size() != 1 || part.constant != 0 || part.terms[0].second != 1) continue;
    const Atom& product = forms.atom(part.terms[0].first);
    if (product.kind != Atom::Kind::product) continue;
    for (const std::size_t i : {0u, 1u})
      if (product.parts[i] == *both && forms.at_least_zero(product.parts[1 - i]) &&
          forms.at_most(product.parts[1 - i], {{}, 1}))
        return true;
  }
  return false;
}

// Nests of parallel loops at the top level run at once.
void check_nests(const Program& program, IndexForms& forms) {
  std::vector<ValueId> loops;
  for (const ValueId id : program.block(0).nodes) {
    if (program.node(id).op != OpCode::loop) continue;
    if (!program.node(id).parallel) return;  // makes the program one block
    loops.push_back(id);
  }
  struct Place {
    ValueId loop, id;
  };
  std::vector<Place> places;
  const auto collect = [&](ValueId loop, BlockId block, const auto& self) -> void {
    for (const ValueId id : program.block(block).nodes) {
      if (program.node(id).op == OpCode::loop) self(loop, program.node(id).body, self);
      if (program.node(id).op == OpCode::assemble) places.push_back({loop, id});
    }
  };
  if (loops.size() > 1)
    for (const ValueId loop : loops) collect(loop, program.node(loop).body, collect);
  const auto before = [&](const Node& a, const Node& b, std::size_t dim) {
    const Type& type = program.node(a.operands[0]).type;
    const Extent extent = static_cast<int>(dim) == a.row_dim      ? type.rows
                          : static_cast<int>(dim) == a.column_dim ? type.columns
                                                                  : Extent{};
    const auto end = scaled_sum(forms.of(a.operands[1 + dim]), forms.of_extent(extent), 1);
    return end && forms.at_most(*end, forms.of(b.operands[1 + dim]));
  };
  for (const Place& one : places)
    for (const Place& other : places) {
      const Node &a = program.node(one.id), &b = program.node(other.id);
      if (one.loop >= other.loop || a.tensor != b.tensor) continue;
      bool apart = exclusive(program, forms, one.loop, other.loop);
      for (std::size_t dim = 0; dim < program.tensor(a.tensor).shape.size(); ++dim)
        apart = apart || before(a, b, dim) || before(b, a, dim);
      if (!apart)
        refuse(program, other.id,
               fmt::format("two loops that run at once may write one place of {}", program.tensor(a.tensor).name),
               "parallel loops at the top level to write different parts of a tensor",
               "assembles in both whose offsets do not tell them apart",
               "write all of the tensor in one loop, or put both loops into one of a single iteration");
    }
}

}  // namespace

void check_loops(const Program& program, IndexForms& forms) {
  const auto visit = [&](BlockId block, bool top, const auto& self) -> void {
    for (const ValueId id : program.block(block).nodes) {
      const Node& node = program.node(id);
      if (node.op != OpCode::loop) continue;
      const LinearForm& step = forms.of(node.operands[kLoopStep]);
      if (step.fixed() && step.constant < 1)
        refuse(program, id, "a loop does not advance", "a step of at least 1", forms.text(step), "use a positive step");
      if (node.parallel && node.operands.size() > kLoopInitial)
        refuse(program, id, "a parallel loop carries a tile", "iterations that do not depend on each other",
               fmt::format("{} carried", node.operands.size() - kLoopInitial),
               "use Builder::loop, and a parallel loop around it");
      if (node.parallel && top)
        for (const int i : {kLoopStart, kLoopStop, kLoopStep})
          if (forms.contains(forms.of(node.operands[static_cast<std::size_t>(i)]), Atom::Kind::load))
            refuse(program, id, "an outer parallel loop's bounds are read on the device",
                   "bounds from dims and scalars, for the grid is known before the launch", "an index.load",
                   "loop to the largest bound and put the loaded one into a loop inside, which may run no iteration");
      self(node.body, false, self);
    }
  };
  visit(0, true, visit);
}

void check_parallel(const Program& program, IndexForms& forms) {
  const auto visit = [&](BlockId block, const auto& self) -> void {
    for (const ValueId id : program.block(block).nodes) {
      const Node& node = program.node(id);
      if (node.op != OpCode::loop) continue;
      if (node.parallel) ParallelLoop(program, forms, id).check();
      self(node.body, self);
    }
  };
  visit(0, visit);
  check_nests(program, forms);
}

}  // namespace tilewright::tile
