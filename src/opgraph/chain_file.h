// The file in which `tilewright fuse` keeps the chains of a model, for later runs.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "opgraph/chain_template.h"

namespace tilewright::opgraph {

struct SavedChain {
  ChainTemplate shape;
  bool use = true;                // false: it was measured slower, or gave other results
  std::int64_t elements = 0;      // of the first call's result, in the pass that was traced
  Json figures = Json::object();  // what was found about it, for readers
};

struct ChainFile {
  std::string model;                                       // for readers: folder or shape
  std::string key;                                         // the configuration's hash
  std::string dtype;                                       // compute dtype
  std::string family;                                      // kernel family of the device
  std::string fuse;                                        // switches that were on
  std::map<std::string, std::vector<SavedChain>> regimes;  // "prefill", "decode"
  // Those to be used, each once. A chain that is used in one regime and not in another with smaller tensors is used for
  // larger tensors than those. Chains whose calls are the beginning of another's are left out.
  std::vector<ChainTemplate> to_use() const;
};

// Throws Error for a file that `write_chain_file` did not write.
ChainFile read_chain_file(const std::filesystem::path& path, const ops::Registry& registry);
void write_chain_file(const std::filesystem::path& path, const ChainFile& file);

}  // namespace tilewright::opgraph
