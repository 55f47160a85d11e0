// What random programs must be, and that what watches over them can fail.
#include "tile/random/random_program.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "tile/build/builder.h"
#include "tile/interp/element_error.h"
#include "tile/interp/error_bound.h"
#include "tile/random/coverage.h"
#include "tile/random/differential.h"
#include "tile/random/planted.h"
#include "tile/random/shrink.h"
#include "tile/verify/verify.h"

namespace tilewright::tile {
namespace {

const Subject kFaithful = interpreted([](const Program& program) { return program; });

TEST(RandomPrograms, CoverEveryOperation) {
  Coverage coverage;
  Compared compared;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const TileCase tile_case = random_case(seed);
    coverage.add(tile_case.program);
    EXPECT_NO_THROW(verify(tile_case.program)) << seed;
    EXPECT_EQ(difference(tile_case, kFaithful, &compared), "") << seed;
  }
  EXPECT_EQ(coverage.missing(), std::vector<std::string>{}) << coverage.text();
  for (const auto& [name, count] : coverage.features) EXPECT_GT(count, 0) << name;
  // Bounds that say nothing would find nothing: nearly all elements are judged, and half to the bit.
  EXPECT_LT(compared.unknown * 10, compared.exact + compared.bounded);
  EXPECT_GT(compared.exact, compared.bounded / 2);
}

TEST(RandomPrograms, AreTheSameForOneSeed) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) EXPECT_EQ(case_text(random_case(seed)), case_text(random_case(seed)));
  EXPECT_NE(case_text(random_case(1)), case_text(random_case(2)));
}

TEST(PlantedFaults, AreTen) { EXPECT_EQ(planted_faults().size(), 10u); }

TEST(PlantedFaults, StaySmallAndFoundWhenShrunk) {
  for (const std::string& name : planted_faults()) {
    const Subject faulty = with_planted_fault(name);
    const auto fails = [&](const TileCase& c) {
      const std::string text = difference(c, faulty);
      return !text.empty() && !text.starts_with("the interpreter");
    };
    std::uint64_t seed = 0;
    while (seed < 10000 && !fails(random_case(seed))) ++seed;
    ASSERT_LT(seed, 10000u) << name;
    const TileCase found = random_case(seed), small = shrink(found, fails);
    EXPECT_TRUE(fails(small)) << name;
    EXPECT_EQ(difference(small, kFaithful), "") << name;
    EXPECT_LE(live_nodes(small.program), 40) << name << "\n" << case_text(small);
    EXPECT_LE(live_nodes(small.program), live_nodes(found.program)) << name;
  }
  EXPECT_THROW(with_planted_fault("no_such_fault"), Error);
}

TEST(CaseMemory, SeesWhatMustNotBeTouched) {
  TileCase tile_case;
  Builder b("copy");
  const auto n = b.dim("n");
  const auto x = b.input("x", DType::f32, {2, n}), y = b.output("y", DType::f32, {2, n});
  b.parallel("i", 0, 2, 1, [&](Index i) { b.assemble(b.view(x, {i, 0}, {1, 8}, to_end), y, {i, 0}); });
  tile_case.program = b.finish();
  tile_case.dims = {3};
  tile_case.tensors = {{.padding = 2, .seed = 1}, {.padding = 2, .seed = 2}};
  const auto touching = [](int tensor, std::ptrdiff_t element) -> Subject {
    return [=](const TileCase&, const Program& program, const CaseMemory& memory) {
      interpret(program, memory.arguments());
      static_cast<float*>(memory.arguments().tensors[static_cast<std::size_t>(tensor)].data)[element] = 77;
    };
  };
  EXPECT_EQ(difference(tile_case, kFaithful), "");
  EXPECT_NE(difference(tile_case, touching(1, 0)).find("element 0 of y: 77"), std::string::npos);
  EXPECT_NE(difference(tile_case, touching(1, 4)).find("between rows"), std::string::npos);
  EXPECT_NE(difference(tile_case, touching(1, -1)).find("before output y"), std::string::npos);
  EXPECT_NE(difference(tile_case, touching(0, 1)).find("input x was written"), std::string::npos);
}

// The bound of what `op` makes of operands, over random operands inside their own bounds: never exceeded.
TEST(ErrorBounds, HoldForEveryOperandInside) {
  std::uint64_t state = 1;
  const auto unit = [&] {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<double>(state >> 40) * 0x1p-24;
  };
  const auto number = [&] { return static_cast<double>(static_cast<float>((unit() - 0.5) * std::exp2(8 * unit()))); };
  const auto inside = [&](Approximate a) {
    return static_cast<double>(static_cast<float>(a.value + a.error * (2 * unit() - 1)));
  };
  for (int i = 0; i < 200000; ++i) {
    // The operand that is taken is rounded to f32, which may leave the interval by half a step.
    Approximate a{number(), std::exp2(-20 * unit())}, c{number(), std::exp2(-20 * unit())};
    const double x = inside(a), z = inside(c);
    a.error += std::fabs(a.value) * 0x1p-23;
    c.error += std::fabs(c.value) * 0x1p-23;
    const auto op = static_cast<OpCode>(static_cast<int>(OpCode::neg) + i % 16);
    if (op != OpCode::logical_not && op != OpCode::cast) {
      const double result = unary_value(op, DType::f32, a.value), other = unary_value(op, DType::f32, x);
      const double error = unary_error(op, DType::f32, a, result);
      EXPECT_FALSE(std::fabs(other - result) > error) << opcode_name(op) << " " << a.value << " ± " << a.error;
    }
    const auto pair = static_cast<OpCode>(static_cast<int>(OpCode::add) + i % 12);
    const double result = binary_value(pair, DType::f32, a.value, c.value);
    EXPECT_FALSE(std::fabs(binary_value(pair, DType::f32, x, z) - result) >
                 binary_error(pair, DType::f32, a, c, result))
        << opcode_name(pair) << " " << a.value << " ± " << a.error << ", " << c.value << " ± " << c.error;
    for (const DType dtype : {DType::f16, DType::bf16, DType::i32, DType::b8}) {
      const double rounded = round_to(dtype, a.value);
      EXPECT_FALSE(std::fabs(round_to(dtype, x) - rounded) > cast_error(DType::f32, dtype, a, rounded));
    }
  }
}

TEST(ErrorBounds, AreExactWhereEveryOrderIs) {
  EXPECT_EQ(sum_error({{1, 0}, {0.5, 0}, {-4, 0}}, 1, -2.5), 0);
  EXPECT_GT(sum_error({{1, 0}, {0x1p-30, 0}, {-4, 0}}, 1, -3), 0);
  EXPECT_EQ(binary_error(OpCode::add, DType::f32, {0.1f, 0}, {0.2f, 0}, 0.3), 0);
  EXPECT_EQ(binary_error(OpCode::mul, DType::f32, {0.5, 0}, {3, 0}, 1.5), 0);
  EXPECT_EQ(binary_error(OpCode::lt, DType::f32, {0.5, 0.1}, {1, 0.1}, 1), 0);
  EXPECT_EQ(binary_error(OpCode::lt, DType::f32, {0.5, 0.3}, {1, 0.3}, 1), 1);
}

TEST(ErrorBounds, HoldForSumsInAnyOrder) {
  std::uint64_t state = 7;
  for (int round = 0; round < 300; ++round) {
    std::vector<Approximate> terms;
    double exact = 0;
    for (int i = 0; i < 40; ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      const auto value = static_cast<double>(static_cast<float>((static_cast<double>(state >> 11) * 0x1p-53 - 0.5) *
                                                                std::exp2(static_cast<double>(state % 30))));
      terms.push_back({value, 0});
      exact += value;
    }
    const double result = round_to(DType::f32, exact), bound = sum_error(terms, 1, result);
    for (int order = 0; order < 5; ++order) {
      std::rotate(terms.begin(), terms.begin() + 7, terms.end());
      float sum = 0;
      for (const Approximate& term : terms) sum += static_cast<float>(term.value);
      EXPECT_LE(std::fabs(static_cast<double>(sum) - result), bound);
    }
  }
}

}  // namespace
}  // namespace tilewright::tile
