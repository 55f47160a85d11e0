// Device tensors in every kind of layout that views make, with what lies around them filled with NaN.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "ops/core/context.h"
#include "ops/ops_fixture.h"
#include "tensor/host_tensor.h"

namespace tilewright::test {

using ops::Tensor;

// A layout: the shape in memory that holds a tensor of `shape`, and the view of it.
struct View {
  const char* name;
  std::function<bool(const Shape&)> fits;
  std::function<Shape(const Shape&)> memory;
  std::function<Tensor(const Tensor&, const Shape&)> view;
};

inline const std::vector<View>& views() {
  static const std::vector<View> all = {
      {"contiguous", [](const Shape&) { return true; }, [](const Shape& s) { return s; },
       [](const Tensor& t, const Shape&) { return t; }},
      {"transposed", [](const Shape& s) { return s.rank() >= 2; },
       [](Shape s) {
         std::swap(s[s.rank() - 1], s[s.rank() - 2]);
         return s;
       },
       [](const Tensor& t, const Shape&) { return t.transpose(-1, -2); }},
      {"heads", [](const Shape& s) { return s.rank() >= 3; },
       [](Shape s) {
         std::swap(s[s.rank() - 2], s[s.rank() - 3]);
         return s;
       },
       [](const Tensor& t, const Shape&) { return t.transpose(-2, -3); }},
      {"sliced", [](const Shape& s) { return s.rank() >= 1; },
       [](Shape s) {
         s[s.rank() - 1] = 2 * s[s.rank() - 1] + 3;
         return s;
       },
       [](const Tensor& t, const Shape& s) { return t.slice(-1, s.back() + 1, 2 * s.back() + 1); }},
      {"expanded", [](const Shape& s) { return s.rank() >= 1; },
       [](Shape s) {
         s[0] = 1;
         return s;
       },
       [](const Tensor& t, const Shape& s) { return t.expand(s); }},
      {"expanded last", [](const Shape& s) { return s.rank() >= 1; },
       [](Shape s) {
         s[s.rank() - 1] = 1;
         return s;
       },
       [](const Tensor& t, const Shape& s) { return t.expand(s); }},
  };
  return all;
}

// Makes values of `shape` in that layout; `values` are what the tensor holds, dense.
inline Tensor make(runtime::Stream& stream, const View& view, const Shape& shape, DType dtype, const char* kind,
                   std::uint64_t seed, HostTensor& values) {
  HostTensor memory(dtype, view.memory(shape));
  fill(memory, kind, seed);
  if (!is_floating(dtype))
    for (std::int64_t i = 0; i < memory.elements(); ++i)
      memory.set(i, dtype == DType::b8 ? static_cast<double>((i * 7 + static_cast<std::int64_t>(seed)) % 3 == 0)
                                       : static_cast<double>((i * 37 + static_cast<std::int64_t>(seed)) % 23));
  const Tensor out = view.view(to_device(stream, memory), shape);
  values = to_host(stream, out);
  return out;
}

inline HostTensor reference(const char* op, std::vector<HostTensor> inputs, const ops::Attributes& attributes = {}) {
  return program().registry.get(ops::OpName(op)).reference(inputs, attributes)[0];
}

// Every host candidate of the op, in turn; those that refuse are left out.
inline void for_each_candidate(ops::Context& context, const char* name, const std::vector<Tensor>& inputs,
                               const ops::Attributes& attributes,
                               const std::function<void(const std::string&, const Tensor&)>& check) {
  const ops::Op& op = program().registry.get(ops::OpName(name));
  const std::vector<ops::Candidate>* candidates = op.candidates_for("host");
  ASSERT_TRUE(candidates && !candidates->empty()) << name;
  int served = 0;
  for (const ops::Candidate& candidate : *candidates) {
    if (candidate.refuse && !candidate.refuse(context, {op, inputs, attributes, {}}).empty()) continue;
    ++served;
    check(candidate.name, call_candidate(context, op, &candidate, inputs, attributes)[0]);
  }
  EXPECT_GT(served, 0) << name;
}

}  // namespace tilewright::test
