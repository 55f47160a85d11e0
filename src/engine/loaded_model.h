// A model's weights on an opened device: what the sessions of one process share.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "engine/program.h"
#include "models/core/model.h"
#include "runtime/device.h"

namespace tilewright::engine {

struct SessionOptions {
  std::filesystem::path model;  // a directory; or
  std::string dummy_shape;      // a published shape with random weights
  std::string name = {};        // how reports call it; empty: by the directory's own name, or the shape's
  models::LoadOptions load = {};
  std::string device = "host";
  runtime::DeviceOptions device_options = {};
  // As Switches::parse; "auto" in the list: what was measured to be faster; "found": chains that `tilewright fuse`
  // kept.
  std::string fuse = "none";
  std::filesystem::path fuse_file = {};  // chains of this file instead ("found" is then implied)
};

class LoadedModel {
 public:
  // Returns when the weights are on the device. `options.fuse` and `fuse_file` are the sessions' business. Throws Error
  // as DeviceRegistry::open and load_model do. `program` must outlive it.
  LoadedModel(const Program& program, const SessionOptions& options);
  // The model of another, converted to `dtype` on the same device. Throws Error if memory does not suffice.
  LoadedModel(const LoadedModel& other, DType dtype);

  const Program& program() const { return program_; }
  runtime::Device& device() const { return *device_; }
  const models::Model& model() const { return *model_; }
  double load_seconds() const { return load_seconds_; }  // on the device's clock

 private:
  const Program& program_;
  std::shared_ptr<runtime::Device> device_;
  std::unique_ptr<runtime::Stream> stream_;  // that the weights were written on
  std::unique_ptr<models::Model> model_;
  double load_seconds_ = 0;
};

}  // namespace tilewright::engine
