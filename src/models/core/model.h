// What engine, capture and measurement see of a model.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "nn/state.h"
#include "ops/core/context.h"

namespace tilewright::models {

struct ModelInfo {
  std::string family;       // model_type
  std::string description;  // the configuration, one "name value" per line
  std::int64_t vocab_size = 0;
  std::int64_t context = 0;  // longest sequence
  std::int64_t layers = 0;
  std::vector<std::int64_t> end_tokens;  // of config.json
  DType dtype = DType::f32;              // compute dtype
  std::uint64_t weight_bytes = 0;        // of all weights in that dtype, a tied one counted once
  std::vector<std::string> notes;        // what a user may want to know about the files
  std::vector<std::string> warnings;     // and what makes them doubtful: they are not as `tilewright patch` pinned them
};

class Model {
 public:
  virtual ~Model() = default;
  virtual const ModelInfo& info() const = 0;
  // As nn::Decoder's.
  virtual nn::State make_state(ops::Context& context, std::int64_t batch, std::int64_t max_len) const = 0;
  virtual std::uint64_t state_bytes(std::int64_t batch, std::int64_t max_len) const = 0;
  virtual void restart(ops::Context& context, nn::State& state) const = 0;
  virtual ops::Tensor forward(ops::Context& context, const ops::Tensor& ids, nn::State& state,
                              std::int64_t begin) const = 0;
  virtual ops::Tensor head(ops::Context& context, const ops::Tensor& hidden) const = 0;
  virtual void advance(ops::Context& context, nn::State& state, std::int64_t by) const = 0;
  virtual void advance(ops::Context& context, nn::State& state, const ops::Tensor& by) const = 0;
  // The same model with its weights, as they are on the device, converted to `dtype`, and computing in it. Throws Error
  // if memory does not suffice.
  virtual std::unique_ptr<Model> converted(ops::Context& context, DType dtype) const = 0;
};

struct LoadOptions {
  std::optional<DType> dtype = {};                                             // nothing: the file's
  std::optional<std::int64_t> layers = {};                                     // only the first so many
  std::uint64_t seed = 0;                                                      // of dummy weights
  std::function<void(std::uint64_t done, std::uint64_t total)> progress = {};  // bytes of weights placed
};

}  // namespace tilewright::models
