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
  std::string model;  // directory, or a repository that was pulled; empty: $MODEL_PATH
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

// What a user calls the model, and where the name came from: "MODEL" or "MODEL_PATH".
struct ModelName {
  std::string name, from;
};
// Throws WrongUsage if neither the flags nor $MODEL_PATH name one.
ModelName model_name_of(const ModelOptions& options, const std::string& command);
// Its directory. Throws as model_name_of and port::resolve_model do.
std::filesystem::path model_directory(const ModelOptions& options, const std::string& command);

// For commands that take a file as well: `name`, or where the repository of that name was pulled to. Throws Error as
// port::resolve_model does.
std::string model_or_file(const std::string& name);

// What the flags ask for. Throws WrongUsage for flags that contradict each other. A bar of loading is drawn on stderr
// if that is a terminal.
engine::SessionOptions session_options(const ModelOptions& options, const std::string& command);
// The same but for the model's directory and the bar.
engine::SessionOptions session_options_but_model(const ModelOptions& options, const std::string& command);

// Throws Error if no file can be written there: better known before minutes of work than after them. `flag` named it.
void require_folder_of(const std::filesystem::path& file, const std::string& flag);

// Chains of --fuse found for a report: {fused, launches_dropped, remade, unchanged: [{reason, count}]}; null if off.
Json chains_json(const engine::Session& session);

}  // namespace tilewright::cli
