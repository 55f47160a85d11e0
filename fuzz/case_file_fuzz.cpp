// Any text as a case file: an Error, or cases whose inputs fit the schema and the size limit.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/error.h"
#include "ops/core/case_file.h"

namespace {

const tilewright::ops::Registry& registry() {
  static tilewright::ops::Registry registry;
  static const bool filled = [] {
    tilewright::ops::OpSchema schema;
    schema.name = "probe";
    schema.inputs = {{"x"}, {"mask", true}, {"more"}};
    schema.variadic = true;
    schema.attributes = {{"dim", "int", ""},     {"eps", "float", ""},  {"keepdim", "bool", ""},
                         {"dtype", "dtype", ""}, {"shape", "dims", ""}, {"how", "text", ""}};
    registry.add(std::move(schema));
    registry.finish();
    return true;
  }();
  (void)filled;
  return registry;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    for (const auto& one : tilewright::ops::parse_cases(registry(), text, "fuzz", "probe")) {
      if (one.inputs.size() < 2) std::abort();
      for (std::size_t i = 0; i < one.inputs.size(); ++i) {
        const auto& input = one.inputs[i];
        if (input.shape.elements() < 0 || input.shape.elements() > (std::int64_t{1} << 28)) std::abort();
        if (input.strides.rank() != 0 && input.strides.rank() != input.shape.rank()) std::abort();
        if (input.shape.elements() < 4096) tilewright::ops::case_values(one, i);
      }
    }
  } catch (const tilewright::Error&) {
  }
  return 0;
}
