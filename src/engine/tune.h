// What `--fuse auto` needs of a model: the calls that it will make, found without running them.
#pragma once

#include <cstdint>
#include <string>

#include "models/core/model.h"
#include "ops/core/tuning/tuner.h"

namespace tilewright::engine {

// A prompt of `prompt` tokens in each of `batch` sequences, and then single tokens up to `length` positions.
struct Work {
  std::int64_t batch = 1, prompt = 1, length = 1;
};

// Lets the model submit these passes with all launches dropped, and the tuner prepare the calls that it saw: a prompt
// (of at most 512 tokens: longer ones are decided as that), and one token at the prompt's end and wherever decode's
// attention enters another class of lengths. Passes that need results on the host are followed as far as that. Never
// fails: what cannot be found stays undecided.
void prepare_calls(ops::Tuner& tuner, ops::Context& context, const models::Model& model, const Work& work);

// What decisions of this device and program are stored under.
ops::TuningDevice tuning_device(const runtime::Device& device);

}  // namespace tilewright::engine
