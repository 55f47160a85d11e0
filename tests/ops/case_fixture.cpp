#include "ops/case_fixture.h"

#include <string>
#include <utility>

#include "ops/ops_fixture.h"

namespace tilewright::test {

std::vector<ops::OpCase> all_cases() {
  std::vector<ops::OpCase> out;
  for (const ops::EmbeddedCaseFile& file : ops::embedded_case_files()) {
    const std::string folder(file.folder);
    const bool names_op = program().registry.find(ops::OpName(file.folder)) != nullptr;
    for (ops::OpCase& one :
         ops::parse_cases(program().registry, file.text, "src/ops/" + folder + "/cases.json", names_op ? folder : ""))
      out.push_back(std::move(one));
  }
  return out;
}

std::int64_t elements_of(const ops::OpCase& one) {
  std::int64_t out = 0;
  for (const ops::CaseInput& input : one.inputs) out += input.shape.elements();
  return out;
}

}  // namespace tilewright::test
