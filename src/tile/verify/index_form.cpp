#include "tile/verify/index_form.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace tilewright::tile {
namespace {

constexpr std::size_t kMostTerms = 16;
constexpr int kBudget = 4000;  // steps of a proof; real ones take fewer than a hundred

std::int64_t floor_quotient(std::int64_t a, std::int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

LinearForm number(std::int64_t value) { return {{}, value}; }

void append(std::vector<std::int64_t>& key, const LinearForm& form) {
  key.push_back(static_cast<std::int64_t>(form.terms.size()));
  key.push_back(form.constant);
  for (const auto& [atom, k] : form.terms) {
    key.push_back(atom);
    key.push_back(k);
  }
}

LinearForm without(const LinearForm& form, int atom) {
  LinearForm out = form;
  std::erase_if(out.terms, [&](const auto& term) { return term.first == atom; });
  return out;
}

bool divides(std::int64_t d, const LinearForm& form) {
  return form.constant % d == 0 &&
         std::all_of(form.terms.begin(), form.terms.end(), [&](const auto& term) { return term.second % d == 0; });
}

}  // namespace

std::int64_t LinearForm::coefficient(int atom) const {
  for (const auto& [number, k] : terms)
    if (number == atom) return k;
  return 0;
}

std::optional<LinearForm> scaled_sum(const LinearForm& a, const LinearForm& b, std::int64_t factor) {
  bool fits = true;
  const auto combine = [&](std::int64_t x, std::int64_t y) {
    std::int64_t product = 0, sum = 0;
    fits = fits && !__builtin_mul_overflow(y, factor, &product) && !__builtin_add_overflow(x, product, &sum) &&
           sum > std::numeric_limits<std::int64_t>::min();
    return sum;
  };
  LinearForm out;
  out.constant = combine(a.constant, b.constant);
  auto x = a.terms.begin(), y = b.terms.begin();
  while (x != a.terms.end() || y != b.terms.end()) {
    std::pair<int, std::int64_t> term;
    if (y == b.terms.end() || (x != a.terms.end() && x->first < y->first)) {
      term = *x++;
    } else if (x == a.terms.end() || y->first < x->first) {
      term = {y->first, combine(0, y->second)};
      ++y;
    } else {
      term = {x->first, combine(x->second, y->second)};
      ++x, ++y;
    }
    if (term.second != 0) out.terms.push_back(term);
  }
  if (!fits || out.terms.size() > kMostTerms) return std::nullopt;
  return out;
}

IndexForms::IndexForms(const Program& program) : program_(program), forms_(program.nodes.size()) {
  std::vector<ValueId> open;
  walk(0, open);
}

void IndexForms::walk(BlockId block, std::vector<ValueId>& open) {
  for (const ValueId id : program_.block(block).nodes) {
    const Node& node = program_.node(id);
    if (node.op == OpCode::loop) {
      Atom atom{Atom::Kind::variable, id, {}, {}};
      for (int i = 0; i < kLoopInitial; ++i) atom.parts.push_back(of(node.operands[static_cast<std::size_t>(i)]));
      open.push_back(id);
      atom.loops = open;
      const LinearForm variable = single(std::move(atom));
      variables_[id] = variable.terms[0].first;
      forms_[static_cast<std::size_t>(program_.block(node.body).arguments[0])] = variable;
      walk(node.body, open);
      open.pop_back();
    } else if (node.type.index) {
      forms_[static_cast<std::size_t>(id)] = compute(id);
    }
  }
}

std::optional<int> IndexForms::variable(ValueId loop) const {
  const auto found = variables_.find(loop);
  return found == variables_.end() ? std::nullopt : std::optional(found->second);
}

LinearForm IndexForms::single(Atom atom) {
  std::vector<std::int64_t> key = {static_cast<std::int64_t>(atom.kind), atom.number};
  for (const LinearForm& part : atom.parts) append(key, part);
  if (atom.kind == Atom::Kind::unknown) key.push_back(static_cast<std::int64_t>(atoms_.size()));
  const auto [entry, is_new] = known_.emplace(std::move(key), static_cast<int>(atoms_.size()));
  if (is_new) {
    if (atom.kind != Atom::Kind::unknown && atom.kind != Atom::Kind::variable)
      for (const LinearForm& part : atom.parts)
        for (const auto& [inner, k] : part.terms)
          for (const ValueId loop : this->atom(inner).loops)
            if (std::find(atom.loops.begin(), atom.loops.end(), loop) == atom.loops.end()) atom.loops.push_back(loop);
    atoms_.push_back(std::move(atom));
  }
  return {{{entry->second, 1}}, 0};
}

LinearForm IndexForms::opaque(const std::vector<ValueId>& operands) {
  Atom atom;
  for (const ValueId operand : operands)
    for (const auto& [inner, k] : of(operand).terms)
      for (const ValueId loop : this->atom(inner).loops)
        if (std::find(atom.loops.begin(), atom.loops.end(), loop) == atom.loops.end()) atom.loops.push_back(loop);
  return single(std::move(atom));
}

LinearForm IndexForms::of_extent(const Extent& extent) {
  return extent.fixed() ? number(extent.size) : single({Atom::Kind::tile, extent.parameter, {}, {}});
}

LinearForm IndexForms::of_dim(int symbol) { return single({Atom::Kind::dim, symbol, {}, {}}); }

bool IndexForms::contains(const LinearForm& form, Atom::Kind kind) const {
  std::vector<bool> seen(atoms_.size(), false);
  std::vector<int> work;
  const auto add = [&](const LinearForm& part) {
    for (const auto& [atom, k] : part.terms) {
      if (seen[static_cast<std::size_t>(atom)]) continue;
      seen[static_cast<std::size_t>(atom)] = true;
      work.push_back(atom);
    }
  };
  add(form);
  while (!work.empty()) {
    const Atom& one = atom(work.back());
    work.pop_back();
    if (one.kind == kind) return true;
    for (const LinearForm& part : one.parts) add(part);
  }
  return false;
}

LinearForm IndexForms::compute(ValueId id) {
  const Node& node = program_.node(id);
  switch (node.op) {
    case OpCode::index_constant:
      return node.integer2 == 0 ? number(node.integer) : of_extent({0, static_cast<int>(node.integer2 - 1)});
    case OpCode::index_dim:
      return of_dim(static_cast<int>(node.integer));
    case OpCode::index_scalar:
      return single({Atom::Kind::scalar, static_cast<int>(node.integer), {}, {}});
    case OpCode::index_load: {
      Atom atom{Atom::Kind::load, node.tensor, {}, {}};
      for (const ValueId offset : node.operands) atom.parts.push_back(of(offset));
      return single(std::move(atom));
    }
    default:
      break;
  }
  if (!is_index_arithmetic(node.op)) return opaque({});
  const LinearForm& a = of(node.operands[0]);
  const LinearForm& b = of(node.operands[1]);
  const auto difference = scaled_sum(a, b, -1);
  const bool both = a.fixed() && b.fixed();
  switch (node.op) {
    case OpCode::index_add:
      if (auto sum = scaled_sum(a, b, 1)) return *sum;
      break;
    case OpCode::index_sub:
      if (difference) return *difference;
      break;
    case OpCode::index_mul:
      if (a.fixed())
        if (auto product = scaled_sum({}, b, a.constant)) return *product;
      if (b.fixed())
        if (auto product = scaled_sum({}, a, b.constant)) return *product;
      if (!a.fixed() && !b.fixed()) {
        std::vector<std::int64_t> left, right;
        append(left, a);
        append(right, b);
        return single({Atom::Kind::product, kNone, left < right ? std::vector{a, b} : std::vector{b, a}, {}});
      }
      break;
    case OpCode::index_div:
      if (b.fixed() && b.constant == 1) return a;
      if (b.fixed() && b.constant == 0) return {};
      if (both && b.constant > 0) return number(floor_quotient(a.constant, b.constant));
      return single({Atom::Kind::div, kNone, {a, b}, {}});
    case OpCode::index_mod:
      if (b.fixed() && (b.constant == 1 || b.constant == 0)) return {};
      if (both && b.constant > 0) return number(a.constant - floor_quotient(a.constant, b.constant) * b.constant);
      return single({Atom::Kind::mod, kNone, {a, b}, {}});
    case OpCode::index_min:
    case OpCode::index_max: {
      const bool least = node.op == OpCode::index_min;
      if (difference && difference->fixed()) return (difference->constant < 0) == least ? a : b;
      std::vector<std::int64_t> left, right;
      append(left, a);
      append(right, b);
      return single(
          {least ? Atom::Kind::min : Atom::Kind::max, kNone, left < right ? std::vector{a, b} : std::vector{b, a}, {}});
    }
    default:
      break;
  }
  return opaque(node.operands);
}

bool IndexForms::at_least_zero(const LinearForm& form) const {
  int budget = kBudget;
  return prove(form, budget);
}

bool IndexForms::at_most(const LinearForm& a, const LinearForm& b) const {
  const auto difference = scaled_sum(b, a, -1);
  return difference && at_least_zero(*difference);
}

// Replaces the last atom by bounds of itself, which hold only atoms before it. Wherever a step only loses, "suffices"
// is meant: the proof may fail for a form that is never negative, but not the other way round.
bool IndexForms::prove(const LinearForm& form, int& budget) const {
  if (form.fixed()) return form.constant >= 0;
  if (--budget < 0) return false;
  const auto [last, k] = form.terms.back();
  const Atom& atom = this->atom(last);
  const LinearForm rest = without(form, last);
  const auto instead = [&](const LinearForm& bound, std::int64_t factor) {
    const auto next = scaled_sum(rest, bound, factor);
    return next && prove(*next, budget);
  };
  switch (atom.kind) {
    case Atom::Kind::dim:
      return k > 0 && prove(rest, budget);
    case Atom::Kind::tile: {
      const TileParameter& tile = program_.tiles[static_cast<std::size_t>(atom.number)];
      if (tile.choices.empty()) return false;
      const auto [least, most] = std::minmax_element(tile.choices.begin(), tile.choices.end());
      return instead(number(k > 0 ? *least : *most), k);
    }
    case Atom::Kind::variable:
      return prove_variable(rest, atom, k, budget);
    case Atom::Kind::min:
    case Atom::Kind::max:
      if ((atom.kind == Atom::Kind::min) == (k > 0)) return instead(atom.parts[0], k) && instead(atom.parts[1], k);
      return instead(atom.parts[0], k) || instead(atom.parts[1], k);
    case Atom::Kind::mod: {
      const LinearForm& divisor = atom.parts[1];
      if (!divisor.fixed() || divisor.constant <= 0) return false;
      return instead(number(k > 0 ? 0 : divisor.constant - 1), k);
    }
    case Atom::Kind::div: {
      const LinearForm& divisor = atom.parts[1];
      if (k > 0 && prove(atom.parts[0], budget) && prove(divisor, budget) && prove(rest, budget)) return true;
      if (!divisor.fixed() || divisor.constant <= 0) return false;
      // d·form + d-1 ≥ 0 suffices, for form is an integer; and a-d+1 ≤ d·⌊a/d⌋ ≤ a.
      const std::int64_t d = divisor.constant;
      if (d > (std::int64_t{1} << 31)) return false;
      auto next = scaled_sum(number(d - 1), rest, d);
      if (next) next = scaled_sum(*next, atom.parts[0], k);
      if (next && k > 0) next = scaled_sum(*next, number(1 - d), k);
      return next && prove(*next, budget);
    }
    case Atom::Kind::product:
      return k > 0 && prove(atom.parts[0], budget) && prove(atom.parts[1], budget) && prove(rest, budget);
    default:
      return false;
  }
}

bool IndexForms::prove_variable(const LinearForm& rest, const Atom& atom, std::int64_t k, int& budget) const {
  const LinearForm &start = atom.parts[0], &stop = atom.parts[1], &step = atom.parts[2];
  const auto instead = [&](const std::optional<LinearForm>& bound) {
    const auto next = bound ? scaled_sum(rest, *bound, k) : std::nullopt;
    return next && prove(*next, budget);
  };
  if (k > 0) return instead(start);
  const auto length = scaled_sum(stop, start, -1);
  if (length && step.fixed() && step.constant > 0) {
    // The last value, where the length is a number or a multiple of the step.
    if (length->fixed() && length->constant > 0)
      return instead(scaled_sum(start, number(floor_quotient(length->constant - 1, step.constant)), step.constant));
    if (divides(step.constant, *length) && instead(scaled_sum(stop, step, -1))) return true;
  }
  if (length && *length == step) return instead(start);  // one iteration
  return instead(scaled_sum(stop, number(1), -1));
}

std::string IndexForms::text(const LinearForm& form) const {
  std::string out;
  const auto add = [&](std::int64_t k, const std::string& what) {
    if (!out.empty())
      out += k < 0 ? " - " : " + ";
    else if (k < 0)
      out += "-";
    const std::uint64_t size = k < 0 ? 0 - static_cast<std::uint64_t>(k) : static_cast<std::uint64_t>(k);
    if (what.empty())
      out += std::to_string(size);
    else
      out += size == 1 ? what : fmt::format("{}·{}", size, what);
  };
  for (const auto& [number, k] : form.terms) {
    const Atom& atom = this->atom(number);
    const auto at = static_cast<std::size_t>(atom.number);
    switch (atom.kind) {
      case Atom::Kind::dim:
        add(k, program_.dims[at]);
        break;
      case Atom::Kind::scalar:
        add(k, program_.scalars[at].name);
        break;
      case Atom::Kind::tile:
        add(k, program_.tiles[at].name);
        break;
      case Atom::Kind::variable:
        add(k, program_.block(program_.node(atom.number).body).variable);
        break;
      case Atom::Kind::load:
        add(k, program_.tensors[at].name + "[…]");
        break;
      case Atom::Kind::min:
        add(k, "min(…)");
        break;
      case Atom::Kind::max:
        add(k, "max(…)");
        break;
      case Atom::Kind::div:
        add(k, "(… / …)");
        break;
      case Atom::Kind::mod:
        add(k, "(… mod …)");
        break;
      case Atom::Kind::product:
        add(k, "(… · …)");
        break;
      case Atom::Kind::unknown:
        add(k, "…");
        break;
    }
  }
  if (form.constant != 0 || out.empty()) add(form.constant, "");
  return out;
}

}  // namespace tilewright::tile
