// The elementwise operators, one row each. From a row follow schema, checks, output order, flops and reference.
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "ops/small/checks.h"
#include "ops/small/memory_order.h"
#include "ops/small/small_ops.h"

namespace tilewright::ops {
namespace {

enum class Rule {
  floating,    // f32, f16, bf16 in; the same out
  number,      // f32, f16, bf16, i64, i32 in; the same out
  any,         // any dtype in; the same out
  comparison,  // any dtype in; bool out
  cast,        // any dtype in; attribute `dtype` out
};

struct ElementwiseRow {
  const char* name;
  const char* summary;
  Rule rule;
  ScalarExpression expression;        // all operands are tensors
  ScalarExpression scalar_form = {};  // the last one is an attribute instead
  const char* scalar = nullptr;       // its name
  bool condition = false;             // input `condition_input` is bool and does not set the dtype
  int condition_input = 0;
  bool in_place = false;  // the output is input 0
  Unit unit = Unit::vector;
};

using enum ScalarOp;
ScalarStep in(int index) { return scalar_input(index); }
ScalarStep op(ScalarOp which) { return scalar_apply(which); }

ElementwiseRow unary(const char* name, const char* summary, ScalarOp which, Rule rule = Rule::floating) {
  return {.name = name, .summary = summary, .rule = rule, .expression = {in(0), op(which)}};
}
ElementwiseRow binary(const char* name, const char* summary, ScalarOp which, Rule rule) {
  return {.name = name,
          .summary = summary,
          .rule = rule,
          .expression = {in(0), in(1), op(which)},
          .scalar_form = {in(0), scalar_attribute("other"), op(which)},
          .scalar = "other"};
}

std::vector<ElementwiseRow> rows() {
  return {
      unary("neg", "-x", neg, Rule::number),
      unary("abs", "|x|", abs, Rule::number),
      unary("exp", "e^x", exp),
      unary("log", "ln x", log),
      unary("sqrt", "√x", sqrt),
      unary("rsqrt", "1 / √x", rsqrt),
      unary("reciprocal", "1 / x", reciprocal),
      unary("sin", "sin x", sin),
      unary("cos", "cos x", cos),
      unary("tanh", "tanh x", tanh),
      unary("erf", "erf x", erf),
      unary("sigmoid", "1 / (1 + e^-x)", sigmoid),
      unary("silu", "x · sigmoid(x)", silu),
      unary("relu", "max(x, 0)", relu, Rule::number),
      unary("square", "x²", square, Rule::number),
      unary("logical_not", "x = 0", logical_not, Rule::comparison),
      binary("add", "self + other", add, Rule::number),
      binary("sub", "self - other", sub, Rule::number),
      binary("mul", "self · other", mul, Rule::number),
      binary("div", "self / other", div, Rule::floating),
      binary("maximum", "the larger, NaN if either is", maximum, Rule::number),
      binary("minimum", "the smaller, NaN if either is", minimum, Rule::number),
      binary("eq", "self = other", eq, Rule::comparison),
      binary("ne", "self ≠ other", ne, Rule::comparison),
      binary("lt", "self < other", lt, Rule::comparison),
      binary("le", "self ≤ other", le, Rule::comparison),
      binary("gt", "self > other", gt, Rule::comparison),
      binary("ge", "self ≥ other", ge, Rule::comparison),
      binary("logical_and", "self ≠ 0 and other ≠ 0", logical_and, Rule::comparison),
      binary("logical_or", "self ≠ 0 or other ≠ 0", logical_or, Rule::comparison),
      {.name = "pow",
       .summary = "self^exponent",
       .rule = Rule::floating,
       .expression = {in(0), scalar_attribute("exponent", 2), op(pow)},
       .scalar = "exponent"},
      {.name = "clamp",
       .summary = "min(max(x, min), max)",
       .rule = Rule::number,
       .expression = {in(0), scalar_attribute("min", -HUGE_VAL), op(maximum), scalar_attribute("max", HUGE_VAL),
                      op(minimum)}},
      {.name = "where",
       .summary = "self where condition, else other",
       .rule = Rule::any,
       .expression = {in(0), in(1), in(2), op(select)},
       .condition = true},
      {.name = "masked_fill",
       .summary = "value where mask, else self",
       .rule = Rule::any,
       .expression = {in(1), scalar_attribute("value"), in(0), op(select)},
       .scalar = "value",
       .condition = true,
       .condition_input = 1},
      {.name = "add_",
       .summary = "self + other, written to self",
       .rule = Rule::number,
       .expression = {in(0), in(1), op(add)},
       .scalar_form = {in(0), scalar_attribute("other"), op(add)},
       .scalar = "other",
       .in_place = true},
      {.name = "to",
       .summary = "x in another dtype",
       .rule = Rule::cast,
       .expression = {in(0)},
       .unit = Unit::conversion},
  };
}

std::vector<OutputSpec> infer_row(const ElementwiseRow& row, const OpCall& call) {
  const int full = row.expression.inputs();
  const int least = row.scalar_form.empty() ? full : full - 1;
  const bool scalar_form = static_cast<int>(call.inputs.size()) < full || !call.has(full - 1);
  require_inputs(call, least, full);
  if (scalar_form && full > least && !call.attributes.has(row.scalar))
    fail_argument(call, row.scalar, "a tensor or an attribute", "nothing");
  const int dtype_input = row.condition && row.condition_input == 0 ? 1 : 0;
  Shape shape = call.input(0).shape();
  for (int i = 0; i < static_cast<int>(call.inputs.size()) && call.has(i); ++i) {
    if (call.input(i).layout() != Layout::strided)
      fail_argument(call, call.op.schema.inputs[static_cast<std::size_t>(i)].name, "a strided tensor",
                    call.input(i).describe());
    if (row.condition && i == row.condition_input)
      require_dtype(call, i, {DType::b8});
    else
      require_same_dtype(call, dtype_input, i);
    if (i == 0) continue;
    try {
      shape = broadcast_shapes(shape, call.input(i).shape());
    } catch (const Error&) {
      fail_argument(call, call.op.schema.inputs[static_cast<std::size_t>(i)].name,
                    "a shape that broadcasts with " + to_string(shape), to_string(call.input(i).shape()));
    }
  }
  DType dtype = call.input(dtype_input).dtype();
  if (row.rule == Rule::floating) require_float(call, dtype_input);
  if (row.rule == Rule::number)
    require_dtype(call, dtype_input, {DType::f32, DType::f16, DType::bf16, DType::i64, DType::i32});
  if (row.rule == Rule::comparison) dtype = DType::b8;
  if (row.rule == Rule::cast) {
    if (!call.attributes.has("dtype")) fail_argument(call, "dtype", "an attribute", "nothing");
    const DType to = call.attributes.dtype("dtype", dtype);
    if (to == dtype)
      fail_argument(call, "dtype", "another dtype than the input's, else use it as it is", std::string(dtype_name(to)));
    return {{.dtype = to, .shape = shape, .strides = elementwise_strides(shape, call.inputs)}};
  }
  if (row.in_place) {
    if (shape != call.input(0).shape())
      fail_argument(call, "other", "a shape that broadcasts to " + to_string(call.input(0).shape()),
                    to_string(call.input(1).shape()));
    return {{.dtype = dtype, .shape = shape, .alias_of_input = 0}};
  }
  return {{.dtype = dtype, .shape = shape, .strides = elementwise_strides(shape, call.inputs)}};
}

std::vector<HostTensor> evaluate_row(const ScalarExpression& expression, Rule rule, int dtype_input,
                                     std::span<const HostTensor> inputs, const Attributes& attributes) {
  Shape shape;
  for (const HostTensor& t : inputs)
    if (!absent(t)) shape = broadcast_shapes(shape, t.shape);
  DType dtype = inputs[static_cast<std::size_t>(dtype_input)].dtype;
  if (rule == Rule::comparison) dtype = DType::b8;
  if (rule == Rule::cast) dtype = attributes.dtype("dtype", dtype);
  HostTensor out(dtype, shape);
  if (out.elements() == 0) return {out};
  std::vector<Strides> strides;
  for (const HostTensor& t : inputs)
    strides.push_back(absent(t) ? Strides{} : broadcast_strides(t.shape, contiguous_strides(t.shape), shape));
  std::array<double, 4> values{};
  Index index(shape);
  std::int64_t flat = 0;
  do {
    for (std::size_t i = 0; i < inputs.size(); ++i)
      values[i] = absent(inputs[i]) ? 0 : inputs[i].at(index.offset(strides[i]));
    out.set(flat++, expression.evaluate(values, attributes));
  } while (index.next());
  return {out};
}

void add_row(Registry& registry, const ElementwiseRow& row) {
  OpSchema schema;
  schema.name = row.name;
  schema.summary = row.summary;
  schema.unit = row.unit;
  const int full = row.expression.inputs();
  const std::vector<const char*> names = std::string_view(row.name) == "where"
                                             ? std::vector<const char*>{"condition", "self", "other"}
                                         : row.condition ? std::vector<const char*>{"self", "mask"}
                                                         : std::vector<const char*>{"self", "other"};
  for (int i = 0; i < full; ++i)
    schema.inputs.push_back({names[static_cast<std::size_t>(i)], !row.scalar_form.empty() && i == full - 1});
  for (const ScalarStep& step : row.scalar_form.empty() ? row.expression.steps() : row.scalar_form.steps())
    if (step.op == attribute) schema.attributes.push_back({std::string(step.attribute), "float", "a scalar operand"});
  if (row.rule == Rule::cast) schema.attributes.push_back({"dtype", "dtype", "of the output"});
  schema.infer = [row](const OpCall& call) { return infer_row(row, call); };
  schema.scalar = [row, full](int given, const Attributes&) -> const ScalarExpression& {
    return given < full && !row.scalar_form.empty() ? row.scalar_form : row.expression;
  };
  const double each = row.expression.flops();
  schema.flops = [each](const OpCall& call) { return each * static_cast<double>(call.outputs[0].elements()); };
  registry.add(std::move(schema));
  const int dtype_input = row.condition && row.condition_input == 0 ? 1 : 0;
  registry.set_reference(row.name, [row, full, dtype_input](std::span<const HostTensor> inputs, const Attributes& a) {
    const bool scalar_form =
        static_cast<int>(inputs.size()) < full || absent(inputs[static_cast<std::size_t>(full - 1)]);
    const ScalarExpression& e = scalar_form && !row.scalar_form.empty() ? row.scalar_form : row.expression;
    return evaluate_row(e, row.rule, dtype_input, inputs, a);
  });
}

// gelu has two formulas, chosen by a text attribute.
void add_gelu(Registry& registry) {
  static const ScalarExpression exact{in(0), op(gelu)};
  static const ScalarExpression with_tanh{in(0), op(gelu_tanh)};
  const auto choose = [](const Attributes& a) -> const ScalarExpression& {
    return a.text("approximate", "none") == "tanh" ? with_tanh : exact;
  };
  OpSchema schema;
  schema.name = "gelu";
  schema.summary = "x/2 · (1 + erf(x/√2)), or its tanh form";
  schema.inputs = {{"self"}};
  schema.attributes = {{"approximate", "text", "\"none\" or \"tanh\""}};
  schema.infer = [row = unary("gelu", "", gelu)](const OpCall& call) {
    const std::string_view kind = call.attributes.text("approximate", "none");
    if (kind != "none" && kind != "tanh") fail_argument(call, "approximate", "none or tanh", std::string(kind));
    return infer_row(row, call);
  };
  schema.scalar = [choose](int, const Attributes& a) -> const ScalarExpression& { return choose(a); };
  schema.flops = [](const OpCall& call) { return static_cast<double>(call.outputs[0].elements()); };
  registry.add(std::move(schema));
  registry.set_reference("gelu", [choose](std::span<const HostTensor> inputs, const Attributes& a) {
    return evaluate_row(choose(a), Rule::floating, 0, inputs, a);
  });
}

}  // namespace

void add_elementwise_ops(Registry& registry) {
  for (const ElementwiseRow& row : rows()) add_row(registry, row);
  add_gelu(registry);
}

}  // namespace tilewright::ops
