// The flags that every command which runs a model has.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "engine/session.h"

namespace CLI {
class App;
}

namespace tilewright::cli {

struct ModelOptions {
  std::string model;  // directory; empty: $MODEL_PATH
  std::string weights = "file";
  std::string shape;
  std::optional<std::int64_t> layers;
  std::string device = "host";
  std::string dtype = "auto";
  int threads = 0;
  std::string fuse = "none";
  std::string fuse_file;
  std::string report_file;

  bool dummy() const { return weights == "dummy"; }
};

// Adds MODEL, --device, --dtype, --threads, --fuse, --fuse-file, --report-file; with_dummy: --weights, --shape,
// --layers, too.
void add_model_options(CLI::App& command, ModelOptions& options, bool with_dummy);

// The directory that the flags name, or $MODEL_PATH. Throws WrongUsage if there is none, Error if it is no directory
// that can be read.
std::filesystem::path model_directory(const ModelOptions& options, const std::string& command);

// What the flags ask for. Throws WrongUsage for flags that contradict each other. A bar of loading is drawn on stderr
// if that is a terminal.
engine::SessionOptions session_options(const ModelOptions& options, const std::string& command);

// Chains of --fuse found for a report: {fused, launches_dropped, remade, unchanged: [{reason, count}]}; null if off.
Json chains_json(const engine::Session& session);

}  // namespace tilewright::cli
