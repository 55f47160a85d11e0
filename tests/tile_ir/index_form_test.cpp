// What IndexForms proves holds: random index arithmetic in random loops, against the values of a run.
#include "tile/verify/index_form.h"

#include <gtest/gtest.h>

#include <random>

#include "tile/build/builder.h"
#include "tile/interp/interpreter.h"
#include "tile/ir/printer.h"

namespace tilewright::tile {
namespace {

struct RandomIndices {
  explicit RandomIndices(unsigned seed) : random(seed) {}

  Program write() {
    const Dim n = b.dim("n"), m = b.dim("m");
    b.input("x", DType::f32, {n, m});
    scope = {n, m, b.index_scalar("s"), 0, 1, 3, 8};
    block(0);
    return b.finish();
  }

  void block(int depth) {
    const std::size_t before = scope.size();
    for (int i = 0; i < 6; ++i) {
      const Index a = any(), c = any();
      switch (random() % 8) {
        case 0:
          scope.push_back(a + c);
          break;
        case 1:
          scope.push_back(a - c);
          break;
        case 2:
          scope.push_back(a * static_cast<int>(random() % 9));
          break;
        case 3:
          scope.push_back(a / static_cast<int>(random() % 9));
          break;
        case 4:
          scope.push_back(a % static_cast<int>(random() % 9));
          break;
        case 5:
          scope.push_back(min(a, c));
          break;
        case 6:
          scope.push_back(max(a, c));
          break;
        default:
          scope.push_back(random() % 4 ? a : a * c / max(c, 1));
          break;
      }
    }
    if (depth < 3)
      for (int loops = 0; loops < 2; ++loops) {
        const Index start = random() % 2 ? Index(0) : any(), stop = any();
        b.loop("i", start, min(stop, start + 20), static_cast<int>(1 + random() % 8), [&](Index i) {
          scope.push_back(i);
          scope.push_back(i);
          block(depth + 1);
        });
        scope.resize(before + 6, 0);
      }
    scope.resize(before, 0);
  }
  Index any() { return scope[random() % scope.size()]; }

  std::mt19937 random;
  Builder b{"p"};
  std::vector<Index> scope;
};

// The index nodes of each block, with those of the blocks around it.
class Checker : public Watcher {
 public:
  Checker(const Program& program, const IndexForms& forms) : program_(program), forms_(forms) { collect(0, {}); }

  void computed(ValueId id, const Environment& now) override {
    for (const auto& [a, b] : proven_[static_cast<std::size_t>(id)]) {
      ++checked;
      EXPECT_LE(now.index[static_cast<std::size_t>(a)], now.index[static_cast<std::size_t>(b)])
          << "%" << a << " and %" << b << " of\n"
          << print(program_);
    }
  }
  int checked = 0;

 private:
  void collect(BlockId block, std::vector<ValueId> visible) {
    if (proven_.empty()) proven_.resize(program_.nodes.size());
    if (!program_.block(block).arguments.empty()) visible.push_back(program_.block(block).arguments[0]);
    for (const ValueId id : program_.block(block).nodes) {
      const Node& node = program_.node(id);
      if (node.op == OpCode::loop) {
        collect(node.body, visible);
        continue;
      }
      if (!node.type.index) continue;
      for (const ValueId other : visible) {
        if (forms_.at_most(forms_.of(id), forms_.of(other)))
          proven_[static_cast<std::size_t>(id)].emplace_back(id, other);
        if (forms_.at_most(forms_.of(other), forms_.of(id)))
          proven_[static_cast<std::size_t>(id)].emplace_back(other, id);
      }
      visible.push_back(id);
    }
  }
  const Program& program_;
  const IndexForms& forms_;
  std::vector<std::vector<std::pair<ValueId, ValueId>>> proven_;
};

TEST(IndexForms, WhatIsProvenHolds) {
  int checked = 0;
  for (unsigned seed = 1; seed <= 60; ++seed) {
    const Program program = renumbered(RandomIndices(seed).write());
    const IndexForms forms(program);
    Checker checker(program, forms);
    for (const std::int64_t n : {0, 1, 5, 24})
      for (const double scalar : {-3.0, 7.0}) {
        std::vector<float> x(static_cast<std::size_t>(n) * 7 + 1);
        Arguments arguments{{{x.data(), {n, 7}, {7, 1}}}, {scalar}};
        interpret(program, arguments, &checker);
        if (testing::Test::HasFailure()) return;
      }
    checked += checker.checked;
  }
  EXPECT_GT(checked, 10000);
}

TEST(IndexForms, ProvesWhatTailsNeed) {
  Builder b("p");
  const Dim n = b.dim("n");
  b.input("x", DType::f32, {n});
  ValueId main_end = kNone, tail = kNone, tail_end = kNone, left = kNone;
  b.loop("i", 0, max(Index(n), 0) / 8 * 8, 8, [&](Index i) { main_end = (i + 8).id(b); });
  b.loop("i", 0, n, 8, [&](Index i) {
    left = min(8, n - i).id(b);
    tail_end = (i + min(8, n - i)).id(b);
    tail = (i + 8).id(b);
  });
  const Program program = b.finish();
  const IndexForms forms(program);
  const LinearForm dim = forms.of(n.index.id(b));
  EXPECT_TRUE(forms.at_most(forms.of(main_end), dim));
  EXPECT_TRUE(forms.at_most(forms.of(tail_end), dim));
  EXPECT_TRUE(forms.at_least_zero(forms.of(left)));
  EXPECT_FALSE(forms.at_most(forms.of(tail), dim));  // not true
}

}  // namespace
}  // namespace tilewright::tile
