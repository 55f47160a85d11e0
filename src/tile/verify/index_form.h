// Index values of a program as linear forms over what is known only in a run, and proofs of inequalities between them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tile/ir/program.h"

namespace tilewright::tile {

// constant + Σ coefficient · atom. Atoms are numbers given by IndexForms; ascending, coefficients not 0.
struct LinearForm {
  std::vector<std::pair<int, std::int64_t>> terms;
  std::int64_t constant = 0;
  std::int64_t coefficient(int atom) const;
  bool fixed() const { return terms.empty(); }
  bool operator==(const LinearForm&) const = default;
};

// Nothing where the numbers or the form grow too large.
std::optional<LinearForm> scaled_sum(const LinearForm& a, const LinearForm& b, std::int64_t factor);  // a + factor · b

// What a form is made of: dims, i64 scalars, tile parameters, loop variables, loads, and min, max, floor division, rest
// and products of forms. Equal ones have one number; an atom's number is above those of the atoms inside it.
struct Atom {
  enum class Kind { dim, scalar, tile, variable, load, min, max, div, mod, product, unknown } kind = Kind::unknown;
  int number = kNone;             // dim, scalar, tile; variable: the loop's ValueId; load: the tensor
  std::vector<LinearForm> parts;  // variable: start, stop, step
  std::vector<ValueId> loops;     // whose variables it depends on
};

class IndexForms {
 public:
  // The program's structure must be sound (verify/structure).
  explicit IndexForms(const Program& program);

  const LinearForm& of(ValueId index) const { return forms_[static_cast<std::size_t>(index)]; }
  LinearForm of_extent(const Extent& extent);
  LinearForm of_dim(int symbol);
  const Atom& atom(int number) const { return atoms_[static_cast<std::size_t>(number)]; }
  int atoms() const { return static_cast<int>(atoms_.size()); }
  std::optional<int> variable(ValueId loop) const;  // its atom

  bool contains(const LinearForm& form, Atom::Kind kind) const;  // inside atoms too

  // Proven for every run: dims are at least 0, bodies run only between their loop's bounds. False says nothing.
  bool at_least_zero(const LinearForm& form) const;
  bool at_most(const LinearForm& a, const LinearForm& b) const;

  std::string text(const LinearForm& form) const;

 private:
  void walk(BlockId block, std::vector<ValueId>& open);
  LinearForm compute(ValueId id);
  LinearForm single(Atom atom);
  LinearForm opaque(const std::vector<ValueId>& operands);
  bool prove(const LinearForm& form, int& budget) const;
  bool prove_variable(const LinearForm& rest, const Atom& atom, std::int64_t k, int& budget) const;

  const Program& program_;
  std::vector<LinearForm> forms_;
  std::vector<Atom> atoms_;
  std::map<std::vector<std::int64_t>, int> known_;
  std::map<ValueId, int> variables_;
};

}  // namespace tilewright::tile
