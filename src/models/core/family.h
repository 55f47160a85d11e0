// A family of models: how its published files are read. Registered by each folder of models/ under its model_type.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "nn/decoder_config.h"
#include "nn/decoder_weights.h"

namespace tilewright::models {

// A published tensor name; "{}" stands for the layer's number.
struct WeightName {
  nn::Slot slot;
  std::string pattern;
};

// A published size: the fields of its config.json that matter, as JSON text (model_type may be left out).
struct PublishedShape {
  std::string name;  // "Qwen3-1.7B"
  std::string config;
};

struct Family {
  std::string model_type;  // the registry's key
  std::string summary;     // one line
  std::function<nn::DecoderConfig(const Json& config, const std::string& where)> read_config;
  std::vector<WeightName> weight_names;
  std::vector<PublishedShape> shapes;
  bool block_diffusion = false;  // generates by denoising blocks instead of token by token
};

class FamilyRegistry {
 public:
  // A second family of one model_type aborts.
  void add(Family family);
  const std::vector<Family>& families() const { return families_; }
  // By model_type, or by the name of one of its sizes in any spelling ("qwen3_1_7b"). Null if unknown.
  const Family* find(std::string_view name) const;
  // The family of a config.json. Throws Error if model_type is missing, or unknown: it names the nearest family.
  const Family& of_config(const Json& config, const std::string& where) const;
  struct Sized {
    const Family* family;
    const PublishedShape* shape;
  };
  // By name, letter case and separators not counted. Throws Error naming the nearest shapes.
  Sized shape(std::string_view name) const;

 private:
  std::vector<Family> families_;
};

// Reads and checks a config with its family.
nn::DecoderConfig read_config(const Family& family, const Json& config, const std::string& where);

}  // namespace tilewright::models
