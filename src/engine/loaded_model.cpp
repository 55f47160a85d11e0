#include "engine/loaded_model.h"

#include "models/core/decoder_model.h"

namespace tilewright::engine {

LoadedModel::LoadedModel(const Program& program, const SessionOptions& options) : program_(program) {
  device_ = program.devices.open(options.device, options.device_options);
  const double start = device_->now();
  stream_ = device_->create_stream();
  ops::Context context(program.operators, *stream_);
  model_ = options.dummy_shape.empty()
               ? models::load_model(context, program.families, options.model, options.load)
               : models::make_dummy_model(context, program.families, options.dummy_shape, options.load);
  device_->synchronize();
  load_seconds_ = device_->now() - start;
}

LoadedModel::LoadedModel(const LoadedModel& other, DType dtype) : program_(other.program_), device_(other.device_) {
  const double start = device_->now();
  stream_ = device_->create_stream();
  ops::Context context(program_.operators, *stream_);
  model_ = other.model().converted(context, dtype);
  device_->synchronize();
  load_seconds_ = device_->now() - start;
}

}  // namespace tilewright::engine
