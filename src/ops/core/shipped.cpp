#include "ops/core/shipped.h"

#include <algorithm>

#include "ops/core/derive/trace.h"

namespace tilewright::ops {

std::vector<Specialisation> shipped_specialisations(const Op& op, const TileKernel& kernel,
                                                    std::span<const OpCase> cases) {
  std::vector<Specialisation> out;
  const auto add = [&](const Specialisation& one) {
    if (std::find(out.begin(), out.end(), one) == out.end()) out.push_back(one);
  };
  for (const Specialisation& one : kernel.shipped) add(one);
  if (!kernel.specialise) {
    if (out.empty()) add({});
    return out;
  }
  for (const OpCase& one : cases) {
    if (!one.bench || one.op != op.schema.name) continue;
    std::vector<Tensor> inputs;
    for (const CaseInput& input : one.inputs) {
      const bool strided = input.strides.rank() == input.shape.rank();
      inputs.push_back(input.name.empty()
                           ? Tensor()
                           : stand_in(Tensor(runtime::MemoryRef(), input.dtype, input.shape,
                                             strided ? input.strides : contiguous_strides(input.shape), 0)));
    }
    const OpCall call{op, inputs, one.attributes, {}};
    if (kernel.refuse && !kernel.refuse(call).empty()) continue;
    add(kernel.specialise(call));
  }
  return out;
}

}  // namespace tilewright::ops
