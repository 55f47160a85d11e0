// Where the chains that `tilewright fuse` found in a model are kept, and how a session comes to use them.
#pragma once

#include <filesystem>
#include <string>

#include "engine/session.h"
#include "opgraph/chain_file.h"

namespace tilewright::engine {

// Model, dtype, device and switches of a session's chains, no chains yet.
opgraph::ChainFile chain_identity(const SessionOptions& options, const models::ModelInfo& info,
                                  const std::string& kernel_family);

// chains/<key>-<dtype>-<family>.json in the user's cache folder. Throws Error if there is none.
std::filesystem::path found_chains_path(const opgraph::ChainFile& identity);

// The chains of options.fuse_file (empty: the place above), which must be of the same configuration, dtype and family.
// Throws Error that names the command to run.
opgraph::ChainFile load_found_chains(const SessionOptions& options, const opgraph::ChainFile& identity,
                                     const ops::Registry& registry);

}  // namespace tilewright::engine
