// What a forward pass of a decoder needs on any machine, from its configuration alone: flops and bytes that a limit is
// made of.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "models/core/family.h"
#include "tensor/dtype.h"

namespace tilewright::measure {

class Work {
 public:
  // `shape`: a model's directory, or a published shape. `layers`: only the first so many. `dtype`: that of weights,
  // cache and activations; nothing: the one that the configuration states, else bf16. Throws Error as read_config and
  // FamilyRegistry do.
  Work(const models::FamilyRegistry& families, const std::string& shape, std::optional<DType> dtype = {},
       std::optional<std::int64_t> layers = {});

  // Of prompts of `tokens` in each of `batch` sequences: linear layers, the head for the last row, attention with the
  // causal half.
  double prefill_flops(double tokens, double batch = 1) const;
  // All weights but the embedding's rows that no id names, once, and keys and values written.
  double prefill_bytes(double tokens, double batch = 1) const;
  // All weights held once; a head of its own beside the embedding table counts.
  double weight_bytes() const;
  // For one token a sequence at `context` positions: every weight once (of an untied embedding table one row), keys and
  // values.
  double decode_bytes(double context, double batch = 1) const;
  double decode_flops(double context, double batch = 1) const;

  nn::DecoderConfig config;
  std::string family, name;  // model_type; the shape's published name, or the directory's
  bool block_diffusion = false;
  std::int64_t published_layers = 0;
  DType dtype = DType::bf16;

 private:
  double element_ = 2;
  double elements_ = 0, linear_ = 0, head_ = 0;
};

}  // namespace tilewright::measure
