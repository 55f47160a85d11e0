// Cases of an operator, as data: {"op"?, "cases": [{"id", "seed", "attributes"?, "input": {name: {"shape", "dtype",
// "strides"?, "fill" or "values", "scale"?}}, "rtol", "atol", "reason", "op"?, "bench"?}]}. Every operator's folder has
// such a file, which is part of the program; users' own files have the same form.
//
// fill: a name that tensor/host_tensor.h knows, or "causal_mask" (shape [..., S, K]: 0 where column ≤ row + K − S, else
// the dtype's lowest value). "values" lists the elements instead. "scale" multiplies them (1). "strides" counts
// elements and may overlap. A repeated last input is written name0, name1, … . "reason" says where the tolerance comes
// from.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ops/core/registry.h"

namespace tilewright::ops {

struct CaseInput {
  std::string name;  // empty: an optional input that is not given
  DType dtype = DType::f32;
  Shape shape;
  Strides strides;  // rank 0: contiguous
  std::string fill;
  std::vector<double> values;
  double scale = 1;
};

struct OpCase {
  std::string op, id;
  std::uint64_t seed = 0;
  Attributes attributes;
  std::vector<CaseInput> inputs;  // in the schema's order
  double rtol = 0, atol = 0;
  std::string reason;
  bool bench = false;  // worth timing
};

// `where` names the text in errors; `op` is the operator of cases that name none (may be empty). Throws Error naming
// file, case and key for anything that does not fit the form or the operator's schema.
std::vector<OpCase> parse_cases(const Registry& registry, std::string_view text, const std::string& where,
                                const std::string& op);
std::vector<OpCase> read_case_file(const Registry& registry, const std::filesystem::path& path);

struct EmbeddedCaseFile {
  std::string_view folder;  // the operator, or "small", whose cases name theirs
  std::string_view text;
};
// The cases.json of every folder of ops/. Defined by a source that the build generates (cmake/cases.cmake).
std::span<const EmbeddedCaseFile> embedded_case_files();

// Row-major values of an input, seeded by the case and the input's place.
HostTensor case_values(const OpCase& one, std::size_t input);

}  // namespace tilewright::ops
