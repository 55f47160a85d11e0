// What a model that was loaded has to say about its files.
#pragma once

#include "models/core/model.h"

namespace tilewright::cli {

// Warnings and notes, a line each, on stderr.
void print_model_notes(const models::ModelInfo& model);

}  // namespace tilewright::cli
