// --copy DEST=SRC: where a copied file may go and what may be copied.
#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace tilewright::hub {

// DEST without "." and "..", with single slashes: "a/./b" is "a/b". Throws Error if it is empty, absolute, leaves the
// model, lies under .tilewright, is called like a backup, or cannot be a file's name.
std::string copy_destination(const std::string& text);

// Destination → the file to copy, checked against the model as it is. Throws Error, besides the above, for a DEST that
// is a folder, goes through a link or a file, is given twice or as a folder of another; for a SRC that is no regular
// file that can be read.
std::map<std::string, std::filesystem::path> checked_copies(const std::filesystem::path& model,
                                                            const std::map<std::string, std::string>& copy,
                                                            const std::filesystem::path& source_root);

}  // namespace tilewright::hub
