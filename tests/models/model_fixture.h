// What the tests of models and engine share: one program, the models of tests/models/data, copies of them to spoil.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include "base/json.h"
#include "engine/session.h"
#include "safetensors/scratch.h"

namespace tilewright::test {

inline const Program& program() {
  static const Program instance;
  return instance;
}

inline std::filesystem::path source_dir() { return TILEWRIGHT_SOURCE_DIR; }
inline std::filesystem::path test_model(const std::string& name) { return source_dir() / "tests/models/data" / name; }
inline std::filesystem::path bard() { return source_dir() / "assets/bard"; }

inline engine::SessionOptions options_for(const std::filesystem::path& model, std::optional<DType> dtype = {}) {
  engine::SessionOptions out;
  out.model = model;
  out.load.dtype = dtype;
  out.device_options.threads = 1;  // tests run side by side; two threads have tests of their own
  return out;
}

using hub::expect_message;
using hub::message_of;
using hub::Scratch;

}  // namespace tilewright::test
