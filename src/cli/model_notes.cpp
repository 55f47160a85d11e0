#include "cli/model_notes.h"

#include <fmt/format.h>

#include <cstdio>

namespace tilewright::cli {

void print_model_notes(const models::ModelInfo& model) {
  for (const std::string& warning : model.warnings) fmt::print(stderr, "warning: {}\n", warning);
  for (const std::string& note : model.notes) fmt::print(stderr, "note: {}\n", note);
}

}  // namespace tilewright::cli
