// Repositories for benchmarks and for other programs' clients.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "hub_server/hub_server.h"

namespace tilewright::test {

// "org/name:8x256MiB": config.json and so many LFS files of that size (B, KiB, MiB, GiB). Throws Error.
HubRepository made_repository(const std::string& text);
// "org/name:40000": so many small files in folders.
HubRepository made_tree(const std::string& text);
// DIR/ORG/NAME/files…, each as a repository. Files of 1 MiB and more, and weights, are LFS files.
std::vector<HubRepository> repositories_in(const std::filesystem::path& folder);

}  // namespace tilewright::test
