#include "cli/kernel_cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/nearest.h"

namespace tilewright::cli {
namespace {

constexpr std::int64_t kMostElements = 150'000;  // of one input
constexpr int kTries = 12;

std::int64_t draw(std::mt19937_64& random, std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
}

// Each extent that occurs gets one new value, or stays.
void change_extents(ops::OpCase& one, std::mt19937_64& random) {
  std::map<std::int64_t, std::int64_t> now;
  const bool listed =
      std::any_of(one.inputs.begin(), one.inputs.end(), [](const auto& input) { return !input.values.empty(); });
  for (const ops::CaseInput& input : one.inputs)
    if (!input.values.empty() || (listed && input.fill == "causal_mask"))
      for (const std::int64_t extent : input.shape) now[extent] = extent;
  for (ops::CaseInput& input : one.inputs)
    for (std::int64_t& extent : std::span(&input.shape[0], static_cast<std::size_t>(input.shape.rank()))) {
      if (!now.count(extent)) now[extent] = extent <= 1 || random() % 2 ? extent : draw(random, 1, extent + extent / 2);
      extent = now[extent];
    }
}

Strides with_gaps(const Shape& shape, std::mt19937_64& random) {
  Strides out = shape;
  std::int64_t next = 1;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    out[i] = next;
    next *= std::max<std::int64_t>(1, shape[i]);
    if (random() % 3 == 0) next += draw(random, 1, 5);
  }
  return out;
}

bool accepted(ops::Context& context, const ops::OpCase& one) {
  for (const ops::CaseInput& input : one.inputs)
    if (input.shape.elements() > kMostElements) return false;
  const ops::Op& op = context.registry().get(ops::OpName(std::string_view(one.op)));
  const std::vector<ops::Tensor> inputs = shaped_inputs(context, one);
  try {
    op.schema.infer(ops::OpCall{op, inputs, one.attributes, {}});
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

RegisteredKernels find_kernels(const ops::Registry& registry, const std::string& name) {
  RegisteredKernels out;
  std::vector<std::string> known;
  for (const auto& registered : registry.tile_kernels()) {
    known.push_back(registered.op);
    known.push_back(registered.kernel->name);
    if (name.empty() || registered.op == name || registered.kernel->name == name) out.push_back(registered);
  }
  if (out.empty() && !name.empty()) {
    const std::string near = nearest(name, known);
    fail({.what = "no tile kernel or operator with one of that name",
          .where = name,
          .expected = "",
          .found = "",
          .fix = near.empty() ? "`tilewright kernels` lists them" : "did you mean " + near + "?"});
  }
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.op < b.op; });
  return out;
}

std::vector<ops::OpCase> cases_of(const ops::Registry& registry, const std::string& op) {
  for (const ops::EmbeddedCaseFile& file : ops::embedded_case_files())
    if (file.folder == op) return ops::parse_cases(registry, file.text, "src/ops/" + op + "/cases.json", op);
  return {};
}

ops::OpCase random_case(ops::Context& context, const ops::OpCase& from, std::mt19937_64& random) {
  for (int i = 0; i < kTries; ++i) {
    ops::OpCase out = from;
    out.seed = random() >> 1;
    change_extents(out, random);
    for (ops::CaseInput& input : out.inputs)
      if (input.strides.rank() > 0 || (random() % 4 == 0 && input.shape.rank() > 1))
        input.strides = with_gaps(input.shape, random);
    if (accepted(context, out)) return out;
  }
  ops::OpCase out = from;
  out.seed = random() >> 1;
  return out;
}

std::vector<ops::Tensor> shaped_inputs(ops::Context& context, const ops::OpCase& one) {
  std::vector<ops::Tensor> out;
  for (const ops::CaseInput& input : one.inputs) {
    if (input.name.empty()) {
      out.emplace_back();
      continue;
    }
    if (input.strides.rank() != input.shape.rank() || input.shape.elements() == 0) {
      out.push_back(context.empty(input.dtype, input.shape));
      continue;
    }
    std::int64_t last = 0;
    for (int i = 0; i < input.shape.rank(); ++i) last += (input.shape[i] - 1) * input.strides[i];
    out.push_back(
        ops::Tensor(context.empty(input.dtype, {last + 1}).memory_ref(), input.dtype, input.shape, input.strides, 0));
  }
  return out;
}

std::string shape_text(const ops::OpCase& one) {
  const ops::CaseInput& first = one.inputs.front();
  return fmt::format("{} {}", fmt::join(first.shape.begin(), first.shape.end(), "×"), dtype_name(first.dtype));
}

}  // namespace tilewright::cli
