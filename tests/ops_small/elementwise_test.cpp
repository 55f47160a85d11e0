// Every op that has a scalar expression, on the host, against its reference: all dtypes, layouts and sizes.
#include <cmath>

#include "ops_small/views_fixture.h"

namespace tilewright::test {
namespace {

constexpr DType kFloats[] = {DType::f32, DType::f16, DType::bf16};

// One rounding to the dtype (half a unit in the last place) after f32 arithmetic with the vector loops' 3 units; twice
// that where the expression has two steps.
double relative_tolerance(DType dtype) {
  const double arithmetic = 6 * 0x1p-23;
  return arithmetic + (dtype == DType::f16 ? 0x1p-11 : dtype == DType::bf16 ? 0x1p-8 : 0);
}
// Half the smallest subnormal of f16; gelu cancels for negative x (8 units of |x|/2 ≤ 2).
double absolute_tolerance(const std::string& op, DType dtype) {
  return (dtype == DType::f16 ? 0x1p-25 : 1e-40) + (op == "gelu" ? 8 * 2 * 0x1p-23 : 0);
}

std::vector<const ops::Op*> scalar_ops() {
  std::vector<const ops::Op*> out;
  for (const auto& op : program().registry.ops())
    if (op->schema.scalar) out.push_back(op.get());
  return out;
}

struct Attempt {
  const ops::Op* op;
  int inputs;
  ops::Attributes attributes;
};

// The ways to call an op: with a tensor or a scalar as last operand, with either formula.
std::vector<Attempt> attempts(const ops::Op& op) {
  const int full = static_cast<int>(op.schema.inputs.size());
  const std::string& name = op.schema.name;
  if (name == "gelu") return {{&op, 1, {}}, {&op, 1, {{"approximate", std::string_view("tanh")}}}};
  if (name == "clamp") return {{&op, 1, {{"min", -0.5}, {"max", 0.75}}}, {&op, 1, {{"min", 0.0}}}};
  if (name == "pow") {
    std::vector<Attempt> out;
    for (const double exponent : {2.0, 0.5, -0.5, -1.0, 3.0, 1.7, 0.0})
      out.push_back({&op, 1, {{"exponent", exponent}}});
    return out;
  }
  if (name == "masked_fill") return {{&op, 2, {{"value", -1.5}}}};
  if (name == "to") return {};  // a test of its own
  std::vector<Attempt> out = {{&op, full, {}}};
  if (op.schema.inputs.back().optional) out.push_back({&op, full - 1, {{"other", 0.375}}});
  return out;
}

bool needs_positive(const std::string& op) { return op == "log" || op == "sqrt" || op == "rsqrt" || op == "pow"; }

HostTensor positive(HostTensor t) {
  for (std::int64_t i = 0; i < t.elements(); ++i) t.set(i, std::fabs(t.at(i)) + 0.01);
  return t;
}

HostTensor in_f32(const HostTensor& t) { return is_floating(t.dtype) ? t.cast(DType::f32) : t; }

void check(Bench& bench, const Attempt& attempt, const std::vector<Tensor>& inputs, std::vector<HostTensor> values) {
  const std::string& name = attempt.op->schema.name;
  for (HostTensor& v : values) v = in_f32(v);
  const HostTensor expected = reference(name.c_str(), values, attempt.attributes);
  ops::Context context = bench.context();
  for_each_candidate(context, name.c_str(), inputs, attempt.attributes, [&](const std::string& by, const Tensor& out) {
    const HostTensor got = to_host(*bench.stream, out);
    const DType dtype = out.dtype();
    const Comparison result = compare(got, expected, relative_tolerance(dtype), absolute_tolerance(name, dtype));
    EXPECT_TRUE(result.equal) << by << ": " << ops::OpCall{*attempt.op, inputs, attempt.attributes, {}}.describe()
                              << ": " << result.reason;
  });
}

std::vector<Tensor> make_inputs(Bench& bench, const Attempt& attempt, DType dtype, const Shape& shape,
                                const std::vector<const View*>& layouts, std::vector<HostTensor>& values) {
  const std::string& name = attempt.op->schema.name;
  std::vector<Tensor> inputs;
  for (int i = 0; i < attempt.inputs; ++i) {
    const bool condition = (name == "where" && i == 0) || (name == "masked_fill" && i == 1);
    HostTensor v;
    Tensor t = make(*bench.stream, *layouts[static_cast<std::size_t>(i) % layouts.size()], shape,
                    condition ? DType::b8 : dtype, "normal", static_cast<std::uint64_t>(i + 7), v);
    if (needs_positive(name)) {
      v = positive(v);
      t = to_device(*bench.stream, v);
    }
    if (attempt.op->schema.name == "div" && i == 1) {
      v = positive(v);
      t = to_device(*bench.stream, v);
    }
    inputs.push_back(t);
    values.push_back(v);
  }
  return inputs;
}

TEST(Elementwise, EqualsItsReferenceInEveryDtypeLayoutAndSize) {
  const Shape shapes[] = {{},        {1},        {0},           {7},         {64},     {1025},
                          {3, 0, 5}, {2, 3, 33}, {2, 3, 4, 40}, {5, 1, 300}, {3, 1100}};
  Bench bench("host");
  for (const ops::Op* op : scalar_ops())
    for (const Attempt& attempt : attempts(*op))
      for (const DType dtype : kFloats)
        for (const Shape& shape : shapes)
          for (std::size_t first = 0; first < views().size(); ++first) {
            // Operand i has layout first + i, so that every pair of different layouts meets.
            std::vector<const View*> layouts;
            for (std::size_t i = 0; i < 3; ++i) layouts.push_back(&views()[(first + i) % views().size()]);
            bool fits = true;
            for (int i = 0; i < attempt.inputs; ++i) fits = fits && layouts[static_cast<std::size_t>(i)]->fits(shape);
            if (!fits) continue;
            if (op->schema.name == "add_" && first != 0) continue;  // written in place: a tensor of its own
            std::vector<HostTensor> values;
            const std::vector<Tensor> inputs = make_inputs(bench, attempt, dtype, shape, layouts, values);
            check(bench, attempt, inputs, values);
          }
}

TEST(Elementwise, BroadcastsTheShapesThatModelsUse) {
  const std::pair<Shape, Shape> shapes[] = {
      {{2, 5, 64}, {64}},
      {{2, 5, 64}, {2, 5, 1}},
      {{2, 4, 5, 32}, {1, 1, 5, 32}},
      {{2, 4, 5, 7}, {2, 1, 5, 7}},
      {{1}, {2, 3}},
      {{4, 1}, {1, 6}},
      {{}, {3, 3}},
      {{2, 4, 5, 2000}, {1, 1, 5, 2000}},
      {{5, 600}, {5, 1}},
  };
  Bench bench("host");
  for (const ops::Op* op : scalar_ops()) {
    if (op->schema.inputs.size() < 2 || op->schema.name == "add_") continue;
    const Attempt attempt{op, static_cast<int>(op->schema.inputs.size()),
                          op->schema.name == "masked_fill" ? ops::Attributes{{"value", 2.0}} : ops::Attributes{}};
    for (const DType dtype : kFloats)
      for (const auto& [a, b] : shapes)
        for (const bool swapped : {false, true}) {
          std::vector<Tensor> inputs;
          std::vector<HostTensor> values;
          for (int i = 0; i < attempt.inputs; ++i) {
            const bool condition =
                (op->schema.name == "where" && i == 0) || (op->schema.name == "masked_fill" && i == 1);
            HostTensor v(condition ? DType::b8 : dtype, (i % 2 == 0) != swapped ? a : b);
            fill(v, "normal", static_cast<std::uint64_t>(i + 3));
            if (!condition) v = positive(v);
            inputs.push_back(to_device(*bench.stream, v));
            values.push_back(v);
          }
          check(bench, attempt, inputs, values);
        }
  }
}

TEST(Elementwise, IntegersAreExact) {
  Bench bench("host");
  ops::Context context = bench.context();
  for (const DType dtype : {DType::i64, DType::i32, DType::u8})
    for (const char* name : {"add", "mul", "maximum", "minimum", "eq", "lt", "ge", "logical_and", "where"}) {
      if (dtype == DType::u8 && std::string_view(name).size() > 2 && std::string_view(name) != "where") continue;
      const bool where = std::string_view(name) == "where";
      std::vector<Tensor> inputs(where ? 3 : 2);
      std::vector<HostTensor> values(inputs.size());
      for (std::size_t i = 0; i < inputs.size(); ++i)
        inputs[i] =
            make(*bench.stream, views()[i], {3, 1, 21}, where && i == 0 ? DType::b8 : dtype, "zeros", i, values[i]);
      const HostTensor expected = reference(name, values);
      const HostTensor got = to_host(*bench.stream, call_all(context, ops::OpName(name), inputs)[0]);
      EXPECT_EQ(got.bytes, expected.bytes) << name << " " << dtype_name(dtype);
    }
}

TEST(Elementwise, AddsInPlace) {
  Bench bench("host");
  ops::Context context = bench.context();
  HostTensor position(DType::i32, {3});
  for (int i = 0; i < 3; ++i) position.set(i, 10 * i);
  const Tensor t = to_device(*bench.stream, position);
  const Tensor out = call(context, "add_", {t}, {{"other", 5.0}});
  EXPECT_EQ(&out.memory(), &t.memory());
  const HostTensor got = to_host(*bench.stream, t);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(got.at(i), 10 * i + 5);
}

TEST(Cast, EqualsItsReferenceBetweenAllDtypes) {
  const DType all[] = {DType::f32, DType::f16, DType::bf16, DType::i64, DType::i32, DType::u8, DType::b8};
  Bench bench("host");
  ops::Context context = bench.context();
  for (const DType from : all)
    for (const DType to : all) {
      if (from == to) continue;
      for (const View& view : views())
        for (const Shape& shape : {Shape{}, Shape{0}, Shape{5}, Shape{2, 3, 67}, Shape{2, 2, 1030}}) {
          if (!view.fits(shape)) continue;
          HostTensor v;
          // u8 cannot hold negative values; elsewhere the conversion of -0.5 … is worth seeing.
          Tensor t = make(*bench.stream, view, shape, from, "normal", 3, v);
          if (to == DType::u8 && is_floating(from)) {
            v = positive(v);
            t = to_device(*bench.stream, v);
          }
          const ops::Attributes attributes{{"dtype", to}};
          const HostTensor got = to_host(*bench.stream, call(context, "to", {t}, attributes));
          EXPECT_EQ(got.bytes, reference("to", {v}, attributes).bytes)
              << dtype_name(from) << " to " << dtype_name(to) << " " << view.name << to_string(shape);
        }
    }
}

TEST(Elementwise, NotANumberAndInfinityPassThrough) {
  Bench bench("host");
  ops::Context context = bench.context();
  const double inf = HUGE_VAL, nan = std::nan("");
  for (const DType dtype : kFloats) {
    HostTensor a(dtype, {9}), b(dtype, {9});
    const double as[] = {nan, inf, -inf, nan, 0, inf, -inf, 1, 0}, bs[] = {1, 1, 1, nan, 0, inf, inf, nan, -0.0};
    for (int i = 0; i < 9; ++i) {
      a.set(i, as[i]);
      b.set(i, bs[i]);
    }
    for (const char* name : {"add", "sub", "mul", "div", "maximum", "minimum"}) {
      const HostTensor expected = reference(name, {a, b});
      const HostTensor got = to_host(
          *bench.stream, call(context, ops::OpName(name), {to_device(*bench.stream, a), to_device(*bench.stream, b)}));
      for (int i = 0; i < 9; ++i)
        EXPECT_TRUE(std::isnan(expected.at(i)) ? std::isnan(got.at(i)) : got.at(i) == expected.at(i))
            << name << "(" << as[i] << ", " << bs[i] << ") is " << got.at(i);
    }
  }
}

TEST(Elementwise, LargeOutputsGoPastTheCachesAndAreRight) {
  Bench bench("host");
  ops::Context context = bench.context();
  const std::int64_t n = (std::int64_t{40} << 20) / 4 + 33;  // beyond a last cache of 32 MiB
  const Tensor x = call(context, "full", {}, {{"shape", Dims{n}}, {"value", 1.5}});
  const Tensor y = call(context, "mul", {x}, {{"other", 3.0}});
  const Tensor narrow =
      call(context, "to", {call(context, "cat", {y, y}, {{"dim", std::int64_t{0}}})}, {{"dtype", DType::bf16}});
  EXPECT_EQ(to_host(*bench.stream, call(context, "eq", {y}, {{"other", 4.5}}).slice(0, n - 70, n)).at(69), 1);
  const Tensor wrong = call(context, "to", {call(context, "ne", {narrow}, {{"other", 4.5}})}, {{"dtype", DType::f32}});
  EXPECT_EQ(to_host(*bench.stream, call(context, "sum", {wrong})).at(0), 0);
  EXPECT_EQ(to_host(*bench.stream, call(context, "sum", {wrong})).shape.rank(), 0);
}

}  // namespace
}  // namespace tilewright::test
